"""Errors of one stream kept together: what several ranks, or one again and again, say is one error with a count.

A log may hold several attempts at the same job. An error keeps the place where the last attempt that met it said it
first; one that only earlier attempts met is marked as survived.
"""

import re
from dataclasses import dataclass, field

from jobmeter.formats.errorlines.sign import ERROR, LONGEST_MESSAGE, WARNING, Sign
from jobmeter.model.report import LogError
from jobmeter.model.run import Value

Key = tuple[str | None, str]
"""By which errors are the same: the signature, and the message without its numbers."""
MOST_KEPT = 400
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_COMPARED = 200
_RESTART_BYTES = 1_024
_AFTERMATH_BYTES = 4_096
_AFTERMATH = frozenset(("child_failed", "cancelled", "time_limit", "oom_killed", None))
"""What may follow an end with other text in between, such as the upload of a tracker, and still belong to it."""
_ORDER = {WARNING: 0, ERROR: 1, "CRITICAL": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Where, when and by whom."""

    start: int
    end: int
    timestamp: float | None
    rank: int | None
    traceback: str | None = None
    more: tuple[str, ...] = ()
    """Further lines of the message: they are told, not compared."""


@dataclass(slots=True)
class _Kept:
    signature: str | None
    sign: Sign
    said: Said
    attempt: int
    count: int = 0
    ranks: set[int] = field(default_factory=set)
    fields: dict[str, Value] = field(default_factory=dict)
    level: str = WARNING
    survived: bool = False


class Fold:
    """The errors of one stream."""

    def __init__(self) -> None:
        self._kept: dict[Key, _Kept] = {}
        self._attempt = 0
        self._ended_at: int | None = None

    def again(self, key: Key) -> bool:
        """Count a warning that was said before; False where it has to be looked at anew."""
        kept = self._kept.get(key)
        if kept is None or kept.attempt != self._attempt or self._ended_at is not None:
            return False
        kept.count += 1
        kept.survived = False
        return True

    def add(self, signature: str | None, sign: Sign, said: Said) -> Key:
        """Take one error in."""
        self._look_for_restart(signature, sign, said)
        key = (signature, _key(sign))
        kept = self._kept.get(key)
        if kept is None:
            if not self._has_room(signature):
                return key
            kept = self._kept[key] = _Kept(signature, sign, said, self._attempt)
        elif kept.attempt != self._attempt:
            kept.sign, kept.said, kept.attempt, kept.fields = sign, said, self._attempt, {}
        elif kept.said.traceback is None and said.traceback is not None:
            kept.sign = sign
            kept.said = Said(
                start=kept.said.start,
                end=said.end,
                timestamp=kept.said.timestamp,
                rank=kept.said.rank,
                traceback=said.traceback,
                more=said.more,
            )
        _merge(kept, sign, said)
        return key

    def _look_for_restart(self, signature: str | None, sign: Sign, said: Said) -> None:
        """Tell a new attempt: a launcher gave up, other text came, and now something fails again."""
        if self._ended_at is not None:
            enough = _AFTERMATH_BYTES if signature in _AFTERMATH else _RESTART_BYTES
            if said.start - self._ended_at > enough:
                self._attempt += 1
                self.survive()
                self._ended_at = None
            else:
                self._ended_at = max(said.end, self._ended_at)
        if sign.ends_attempt:
            self._ended_at = said.end

    def _has_room(self, signature: str | None) -> bool:
        if len(self._kept) < MOST_KEPT:
            return True
        if signature is None:
            return False
        # what began is worth as much as what came last
        unknown = next((key for key, kept in self._kept.items() if kept.signature is None), None)
        del self._kept[unknown or list(self._kept)[MOST_KEPT // 2]]
        return True

    def survive(self, only: str | None = None) -> None:
        """The job went on: what was said so far did not end it."""
        for kept in self._kept.values():
            if only is None or kept.signature == only:
                kept.survived = kept.survived or kept.level != "CRITICAL" or kept.attempt != self._attempt

    def errors(self) -> list[LogError]:
        """Give them in the order they were said."""
        return [_error(kept) for kept in sorted(self._kept.values(), key=lambda kept: kept.said.start)]


def _merge(kept: _Kept, sign: Sign, said: Said) -> None:
    kept.count += not sign.is_more or not kept.count
    kept.survived = False
    kept.level = max(kept.level, sign.level, key=lambda level: _ORDER.get(level, 0))
    kept.fields = {**sign.fields, **kept.fields}
    if said.rank is not None:
        kept.ranks.add(said.rank)


def _key(sign: Sign) -> str:
    return _NUMBERS.sub("#", sign.message[:_COMPARED]) if sign.same is None else sign.same


def _error(kept: _Kept) -> LogError:
    return LogError(
        level=kept.level,
        type=kept.sign.type,
        message="\n".join((kept.sign.message[:LONGEST_MESSAGE].strip(), *kept.said.more)),
        signature=kept.signature,
        fields=kept.fields,
        timestamp=kept.said.timestamp,
        traceback=kept.said.traceback,
        count=kept.count,
        ranks=tuple(sorted(kept.ranks)),
        offset=kept.said.start,
        survived=kept.survived,
    )

"""What waits to be told: grouped by channel, held back where a channel had enough, tried again, given up in the end.

Pure but for what the caller does with it: clocks and chances are parameters, and nothing is sent here. A message that
was never tried takes in what comes later; one that was is left as it is, because a receiver may have seen it: its
id stands for exactly these changes.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from jobmeter.delivery.channels import Channel
from jobmeter.delivery.webhooks import Outcome
from jobmeter.model.alert import Notice
from jobmeter.model.moments import iso_time

HOUR_SECONDS = 3600.0
MOST_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 600.0
_MOST_DEAD = 200
"""Messages that could not be delivered are kept for people to see, the oldest let go."""


class Fate(Enum):
    """What became of a message; those that were delivered are not kept."""

    WAITING = "waiting"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Some changes on their way through one channel."""

    channel: str
    notices: tuple[Notice, ...]
    created_at: float
    due_at: float
    attempts: int = 0
    fate: Fate = Fate.WAITING
    error: str | None = None

    @property
    def id(self) -> str:
        """Name the message: the same changes through the same channel are the same message."""
        made = hashlib.sha256(self.channel.encode())
        for notice in self.notices:
            made.update(notice.id.encode())
        return made.hexdigest()[:32]

    def as_record(self) -> dict[str, object]:
        """Render for JSON."""
        return {
            "id": self.id,
            "channel": self.channel,
            "state": self.fate.value,
            "created_at": iso_time(self.created_at),
            "next_attempt_at": iso_time(self.due_at) if self.fate is Fate.WAITING else None,
            "attempts": self.attempts,
            "error": self.error,
            "alerts": [notice.as_record() for notice in self.notices],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """All that must be remembered of an outbox."""

    messages: tuple[Message, ...] = ()
    sent: dict[str, tuple[float, ...]] | None = None
    """By channel: when it was last used, within the hour."""


class Outbox:
    """The messages of all channels."""

    def __init__(self, channels: Mapping[str, Channel], kept: Waiting | None = None) -> None:
        known = kept or Waiting()
        self._channels = channels
        self._messages = list(known.messages)
        self._sent = {name: list(times) for name, times in (known.sent or {}).items()}

    @property
    def messages(self) -> tuple[Message, ...]:
        """What waits and what was given up, oldest first."""
        return tuple(self._messages)

    def kept(self) -> Waiting:
        """Give what must be stored."""
        return Waiting(
            messages=tuple(self._messages), sent={name: tuple(times) for name, times in self._sent.items()}
        )

    def add(self, notice: Notice, names: Iterable[str], now: float) -> None:
        """Put a change on its way through the channels that want it."""
        for name in names:
            channel = self._channels.get(name)
            if channel is None or not channel.wants(notice):
                continue
            place = next((at for at, one in enumerate(self._messages) if _is_open(one, name)), None)
            if place is None:
                due_at = now + channel.group_seconds
                self._messages.append(Message(channel=name, notices=(notice,), created_at=now, due_at=due_at))
                continue
            known = self._messages[place]
            if notice.id not in {one.id for one in known.notices}:
                self._messages[place] = replace(known, notices=(*known.notices, notice))

    def hasten(self, now: float) -> None:
        """Wait for nothing more: the run is over, or the program ends."""
        self._messages = [
            replace(one, due_at=min(one.due_at, now))
            if one.fate is Fate.WAITING and not one.attempts
            else one
            for one in self._messages
        ]

    def take_due(self, now: float, *, busy: Collection[str] = ()) -> list[Message]:
        """Take what is to be sent now, each counted as one attempt; a channel that had enough this hour waits."""
        taken = []
        for place, message in enumerate(self._messages):
            if message.fate is not Fate.WAITING or message.channel in busy:
                continue
            # nothing ever waits longer than an hour: it seems so where the clock was set back
            due_at = min(message.due_at, now + HOUR_SECONDS)
            if due_at <= now:
                due_at = self._free_at(message.channel, now)
            if due_at > now:
                self._messages[place] = replace(message, due_at=due_at)
                continue
            self._sent.setdefault(message.channel, []).append(now)
            # whoever dies while it is under way tries again after the pause, under the same id
            pause = pause_seconds(message.attempts + 1, 0.0)
            under_way = replace(message, attempts=message.attempts + 1, due_at=now + pause)
            self._messages[place] = under_way
            taken.append(under_way)
        return taken

    def settle(self, message: Message, outcome: Outcome, now: float, *, chance: float) -> None:
        """Note what became of an attempt; `chance` between 0 and 1 keeps many from trying at the same moment."""
        place = self._messages.index(message)
        if outcome.is_delivered:
            del self._messages[place]
            return
        again = outcome.may_retry and message.attempts < MOST_ATTEMPTS
        pause = outcome.retry_after_seconds or pause_seconds(message.attempts, chance)
        self._messages[place] = replace(
            message,
            error=outcome.sentence,
            fate=Fate.WAITING if again else Fate.DEAD,
            due_at=now + min(pause, HOUR_SECONDS),
        )
        self._forget_dead()

    def give_up(self, reason: str) -> None:
        """Count everything that still waits as not delivered."""
        self._messages = [
            replace(one, fate=Fate.DEAD, error=one.error or reason) if one.fate is Fate.WAITING else one
            for one in self._messages
        ]
        self._forget_dead()

    def is_empty(self) -> bool:
        """Say whether nothing waits."""
        return not any(one.fate is Fate.WAITING for one in self._messages)

    def _free_at(self, name: str, now: float) -> float:
        """Say when a channel may be used again."""
        channel = self._channels.get(name)
        if channel is None:
            return now  # it was taken out of the config: the attempt says so
        # a time after now is from before the clock was set
        recent = [at for at in self._sent.get(name, ()) if now - HOUR_SECONDS < at <= now]
        self._sent[name] = recent
        return now if len(recent) < channel.per_hour else recent[-channel.per_hour] + HOUR_SECONDS

    def _forget_dead(self) -> None:
        dead = [one for one in self._messages if one.fate is Fate.DEAD]
        for one in dead[: max(0, len(dead) - _MOST_DEAD)]:
            self._messages.remove(one)


def pause_seconds(attempts: int, chance: float) -> float:
    """Say how long to wait after so many failed attempts: twice as long each time, less up to half by chance."""
    whole: float = min(_FIRST_PAUSE_SECONDS * 2 ** (attempts - 1), _LONGEST_PAUSE_SECONDS)
    return whole * (1 - chance / 2)


def _is_open(message: Message, channel: str) -> bool:
    """A message that nobody can have seen yet takes in more."""
    return message.channel == channel and message.fate is Fate.WAITING and not message.attempts


def dead(messages: Sequence[Message]) -> list[Message]:
    """List what was given up."""
    return [one for one in messages if one.fate is Fate.DEAD]

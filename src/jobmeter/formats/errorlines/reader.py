"""One stream of a job's text in, its errors out: fed in any portions, in bounded memory, whatever the bytes are."""

from collections.abc import Callable, Iterable, Mapping

from jobmeter.formats.errorlines import head as heads
from jobmeter.formats.errorlines.familiar import Familiar
from jobmeter.formats.errorlines.folding import Fold, Key, Said
from jobmeter.formats.errorlines.head import Head
from jobmeter.formats.errorlines.lines import Line, Lines
from jobmeter.formats.errorlines.progress import Progress
from jobmeter.formats.errorlines.sign import CRITICAL, ERROR, WARNING, Passage, Sign, Signature
from jobmeter.formats.errorlines.tracebacks import HEADER, Link, Traceback
from jobmeter.formats.steplines import clocks, text
from jobmeter.model.report import LogError
from jobmeter.model.run import Value

ArrivedAt = Callable[[int], float | None]
"""Say when the byte at an offset arrived."""
_FORGOTTEN_BYTES = 65_536
_NEXT_LINES = 24
_LONGEST_BYTES, _HEAD_BYTES, _TAIL_BYTES = 8_000, 5_000, 2_000
_LEVELS = (WARNING, ERROR, CRITICAL)
_IGNORED = ("Exception ignored in", "--- Logging error ---", "Exception ignored while")
_NAN = "nan_loss"


class Reader:
    """Reads one stream."""

    def __init__(self, signatures: Mapping[str, Signature]) -> None:
        self._signatures = tuple(signatures.items())
        self._words = _by_word(signatures.values())
        self._lines = Lines()
        self._fold = Fold()
        self._familiar = Familiar()
        self._progress = Progress()
        self._open: dict[int | None, Traceback] = {}
        self._memory: dict[str, Value] = {}
        self._zone_seconds: float | None = None
        self._arrived_at: ArrivedAt = _unknown
        self._ignoring = False

    def feed(self, data: bytes, arrived_at: ArrivedAt, offset: int, *, final: bool = False) -> None:
        """Take the bytes that begin at `offset` of the stream."""
        self._arrived_at = arrived_at
        end = offset + len(data)
        for line in self._lines.feed(data, offset, self._wants_all, final=final):
            self._line(line)
        self._look(self._lines.end)
        if final:
            for rank in tuple(self._open):
                self._close(rank, end)

    def take(self) -> list[LogError]:
        """Give all errors so far, in the order they were said."""
        return self._fold.errors()

    def _wants_all(self) -> bool:
        return bool(self._open)

    def _line(self, line: Line) -> None:
        if self._open:
            self._read(line)
            return
        shape, meaning, is_known = self._familiar.look_up(line.raw)
        if is_known and (meaning is None or self._again(meaning, line)):
            self._ignoring = False
            return
        key, level = self._read(line)
        if not self._open and not self._ignoring and level in (None, WARNING):
            self._familiar.remember(shape, key)

    def _again(self, key: Key, line: Line) -> bool:
        """Take in a warning that was said before."""
        if key[0] == _NAN:
            self._look(line.start)
        if not self._fold.again(key):
            return False
        if key[0] == _NAN:
            self._progress.restart(line.end)
        return True

    def _read(self, line: Line) -> tuple[Key | None, str | None]:
        """Read a line; returns what it is the same as, and how bad it is."""
        shown, _ = text.tamed(text.clean(_shortened(line.raw)))
        head = heads.split(shown)
        if self._open:
            self._forget(line.start)
        if self._belongs_to_open(head, line):
            return None, None
        if HEADER in head.text:
            self._open[head.rank] = Traceback(line.start, self._ignoring, last_seen=line.start)
            self._ignoring = False
            return None, None
        self._ignoring = head.text.startswith(_IGNORED)
        return self._message(head, line)

    def _belongs_to_open(self, head: Head, line: Line) -> bool:
        traceback = self._open.get(head.rank)
        if traceback is None:
            return False
        if traceback.take(
            head.text,
            line.start,
            lambda: _following(line),
            is_record=lambda: head.level is not None or clocks.read(head.text) is not None,
        ):
            return True
        self._close(head.rank, line.start)
        return False

    def _forget(self, at: int) -> None:
        """End what nobody writes on: its process was killed in the middle of it."""
        for rank, traceback in tuple(self._open.items()):
            if at - traceback.last_seen > _FORGOTTEN_BYTES:
                self._close(rank, at)

    def _message(self, head: Head, line: Line) -> tuple[Key | None, str | None]:
        if not head.text.strip():
            return None, None
        passage = Passage(
            text=head.text.strip(), following=lambda: _following(line), level=head.level, memory=self._memory
        )
        name, sign = self._recognise(passage)
        if sign is None and head.level in _LEVELS:
            sign = Sign(type="log", message=passage.text, level=head.level)
        if sign is None:
            return None, None
        said = Said(start=line.start, end=line.end, timestamp=self._time(line), rank=head.rank)
        return self._add(name, sign, said), sign.level

    def _recognise(self, passage: Passage) -> tuple[str | None, Sign | None]:
        lower = passage.text.lower()
        fitting = 0
        for word, signatures in self._words:
            if word in lower:
                fitting |= signatures
        while fitting:
            place = (fitting & -fitting).bit_length() - 1
            name, signature = self._signatures[place]
            sign = signature.read(passage)
            if sign is not None:
                return name, sign
            fitting &= fitting - 1
        return None, None

    def _close(self, rank: int | None, end: int) -> None:
        traceback = self._open.pop(rank)
        if not traceback.links:
            return  # cut off before it said what happened
        found = [(*self._exception(link, traceback), link) for link in traceback.ordered]
        name, sign, link = next((one for one in found if one[0] not in (None, "exception")), found[0])
        if sign is None:
            return
        said = Said(
            start=traceback.start,
            end=end,
            timestamp=self._arrived_at(traceback.start),
            rank=rank,
            traceback=traceback.text,
            # a reader that wants more of the message than its first line has put it together itself
            more=link.told if sign.message == link.text else (),
        )
        self._add(name, sign, said)

    def _exception(self, link: Link, traceback: Traceback) -> tuple[str | None, Sign | None]:
        return self._recognise(
            Passage(
                text=link.text,
                following=lambda: link.following,
                exception=link.type,
                trace=traceback.text,
                level=WARNING if traceback.is_ignored else None,
                memory=self._memory,
            )
        )

    def _add(self, name: str | None, sign: Sign, said: Said) -> Key:
        is_nan = name == _NAN
        matters = name is not None and (sign.level != WARNING or is_nan)
        if matters:
            self._look(said.start)
        key = self._fold.add(name, sign, said)
        if matters:
            self._progress.restart(said.end)
        return key

    def _look(self, until: int) -> None:
        """See whether the job went on since the last error."""
        self._progress.see(self._lines.block, self._lines.base, until)
        if not self._progress.active:
            return
        if self._progress.has_rows:
            self._fold.survive(_NAN)
        if self._progress.went_on:
            self._fold.survive()
            self._progress.active = False

    def _time(self, line: Line) -> float | None:
        arrived_at = self._arrived_at(line.start)
        read = clocks.read(text.clean(line.raw[:400]))
        if read is None:
            return arrived_at
        moment, has_zone = read
        if has_zone or arrived_at is None:
            return moment
        self._zone_seconds = clocks.zone_seconds(moment, arrived_at, self._zone_seconds)
        return moment - self._zone_seconds


def _by_word(signatures: Iterable[Signature]) -> tuple[tuple[str, int], ...]:
    """Turn the words of signatures round, as hundreds are asked for: by word, a bit for each signature."""
    found: dict[str, int] = {}
    for place, signature in enumerate(signatures):
        for word in signature.words:
            found[word] = found.get(word, 0) | 1 << place
    return tuple(found.items())


def _shortened(raw: bytes) -> bytes:
    """Look at the ends of a line that is no line: no message is that long."""
    return raw if len(raw) <= _LONGEST_BYTES else raw[:_HEAD_BYTES] + b" ... " + raw[-_TAIL_BYTES:]


def _following(line: Line) -> str:
    """Show the next lines without their prefixes."""
    ahead = text.clean(line.ahead).split("\n")[:_NEXT_LINES]
    return "\n".join(heads.split(one).text for one in ahead)


def _unknown(_offset: int) -> None:
    """Say that nobody knows when a byte arrived."""

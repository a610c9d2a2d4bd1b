"""The hot path: metrics of a step into a line of `steps.jsonl`, 3 to 10 microseconds of the caller's time.

The metrics are encoded, a stamp is put in front, and the line is copied into the page cache: no thread, no queue,
nothing to lose. What cannot be encoded at once (tensors, NaN, nested dicts) goes the slow way round.

While one thread logs there is no lock, which would cost as much as the copy: under the interpreter's own lock
nothing here is interrupted between taking a step or a place in the file and having it. A second thread turns the
lock on for good. A signal handler that logs in the middle of a write has its step written right after it.
"""

import sys
import time
from _thread import RLock, get_ident

import msgspec

from jobmeter.hooks import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmeter.hooks.complaints import Complaints
    from jobmeter.hooks.files import Files

encode = msgspec.json.Encoder().encode

_NEEDS_CARE = b"null"
"""What the encoder writes for NaN and infinities; a metric whose name holds it is slow, and right."""

_NOBODY, _EVERYBODY = -1, -2
"""Which thread logs, where it is not one and the same."""

_OWNER_SECONDS = 1.0
"""How long a second thread waits for the first to finish its line: one that died in it never will."""

_LONG = 308
"""What is no longer holds no whole number beyond all floats."""

_MILLIS = tuple(b"%03d" % millis for millis in range(1000))
_STEP, _END = b'Z","step":', b"}\n"
_PLAIN = values.PLAIN
_LARGEST_STEP = values.LARGEST_STEP
_LARGEST = values.LARGEST
_now = time.time


def _has_huge(metrics: "Mapping[str, object]") -> bool:
    return any(type(value) is int and not -_LARGEST <= value <= _LARGEST for value in metrics.values())


class StepLog:
    """Takes the metrics of steps."""

    __slots__ = (
        "_busy",
        "_complaints",
        "_files",
        "_late",
        "_lock",
        "_middle",
        "_pending",
        "_pending_step",
        "_put",
        "_second",
        "_stamp",
        "_step",
        "_thread",
        "finished",
    )

    def __init__(self, files: "Files", complaints: "Complaints", *, rank: int, first_step: int) -> None:
        self.finished = False
        self._files = files
        self._complaints = complaints
        self._step = first_step
        self._second = -1
        self._stamp = b""
        self._middle = b',"rank":%d,"source":"sdk","metrics":' % rank
        self._begin_afresh()

    def _begin_afresh(self) -> None:
        """Hold nothing of anybody else's: at the start, and after a fork."""
        self._lock = RLock()
        # without the interpreter's own lock every thread needs ours
        has_gil = getattr(sys, "_is_gil_enabled", None)
        self._thread = _NOBODY if has_gil is None or has_gil() else _EVERYBODY
        self._busy = False
        self._late: list[tuple[bytes, int | None]] = []
        self._pending: dict[str, values.Number] = {}
        self._pending_step: int | None = None
        self._put: Callable[[bytes], None] = self._put_first

    @property
    def step(self) -> int:
        """The step that the next `log` without one gets."""
        return self._step

    def log(self, metrics: "Mapping[str, object]", step: int | None = None, commit: bool = True) -> None:
        """Keep the metrics of one step; `commit=False` waits for the rest of them."""
        try:
            plain = commit and _PLAIN.issuperset(map(type, metrics.values()))
            body = encode(metrics) if plain else _NEEDS_CARE
        except (TypeError, ValueError, AttributeError, RuntimeError):
            body = _NEEDS_CARE  # a RuntimeError: another thread changes the dict meanwhile
        if (
            _NEEDS_CARE in body
            or self._pending
            or (len(body) > _LONG and _has_huge(metrics))
            or (step is not None and (type(step) is not int or not -_LARGEST_STEP <= step <= _LARGEST_STEP))
        ):
            taken = self._complaints.attempt("logging a step", self._take_care, metrics, step, commit)
            if taken is None:
                return
            body, step = taken
        if self._busy or get_ident() != self._thread:
            self._write_shared(body, step)
            return
        self._busy = True
        try:
            self._write(body, step)
        finally:
            self._busy = False
        if self._late:
            self._write_late()

    def _write(self, body: bytes, step: int | None) -> None:
        if step is None:
            step = self._step
        self._step = step + 1
        now = _now()
        second = int(now)
        if second != self._second:
            self._begin_second(second)
        millis = _MILLIS[int((now - second) * 1000)]
        self._put(b"".join((self._stamp, millis, _STEP, b"%d" % step, self._middle, body, _END)))

    def _write_shared(self, body: bytes, step: int | None) -> None:
        """Write where somebody else may be writing: another thread, or what this handler interrupted."""
        with self._lock:
            if self._thread == _NOBODY:
                self._thread = get_ident()
            elif self._thread not in (_EVERYBODY, get_ident()):
                self._thread = _EVERYBODY
                self._await_owner()
            if self._busy:
                self._late.append((body, step))
                return
            self._busy = True
            try:
                self._write(body, step)
            finally:
                self._busy = False
            self._write_late()

    def _await_owner(self) -> None:
        """Let the thread that needed no lock so far finish its line."""
        deadline = time.monotonic() + _OWNER_SECONDS
        while self._busy and time.monotonic() < deadline:
            time.sleep(0)
        self._busy = False

    def _write_late(self) -> None:
        late, self._late = self._late, []
        for body, step in late:
            self._write_shared(body, step)

    def _begin_second(self, second: int) -> None:
        self._stamp = time.strftime('{"timestamp":"%Y-%m-%dT%H:%M:%S.', time.gmtime(second)).encode("ascii")
        self._second = second

    def _put_first(self, line: bytes) -> None:
        """Make the file with its first line; every later one goes straight to it."""
        try:
            put = self._files.open("steps").put
        except OSError as error:
            self._files.lose("steps")
            self._complaints.not_kept(error)
            return
        self._put = put
        put(line)

    def _put_late(self, _line: bytes) -> None:
        self._complaints.say("the run is finished: what is logged now is not kept", about="finished")

    def _take_care(
        self, metrics: "Mapping[str, object]", step: object, commit: bool
    ) -> tuple[bytes, int | None] | None:
        """Make what must be looked at closely into a line; None where there is nothing to write now."""
        if self.finished:
            self._put_late(b"")
            return None
        if not values.is_mapping(metrics):
            self._complaints.say(f"log takes a dict of metrics, not a {type(metrics).__name__}", about="log")
            return None
        at = self._step_of(step)
        found = values.metrics(metrics, self._refuse)  # type: ignore[arg-type]  # names are checked there
        with self._lock:
            if at is not None and self._pending and at != self._pending_step:
                self._commit()
            self._pending.update(found)
            self._pending_step = at if at is not None else self._pending_step
            if not commit or not self._pending:
                return None
            found, at = self._pending, self._pending_step
            self._pending, self._pending_step = {}, None
        return encode({name: values.for_json(value) for name, value in found.items()}), at

    def _step_of(self, given: object) -> int | None:
        if given is None:
            return None
        try:
            return values.step(given)
        except values.RefusedError as refusal:
            self._complaints.say(f"step refused, the next one is taken: {refusal}", about="step")
            return None

    def _commit(self) -> None:
        """Write what waited for the rest of its step."""
        found, step = self._pending, self._pending_step
        self._pending, self._pending_step = {}, None
        if found:
            self.log(found, step)

    def _refuse(self, name: str, refusal: values.RefusedError) -> None:
        self._complaints.say(f"metric {name} refused: {refusal}", about=f"metric {name}")

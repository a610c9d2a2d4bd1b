"""The hot path: metrics of a step into a line of `steps.jsonl`, 3 to 10 microseconds of the caller's time.

The metrics are encoded, a stamp is put in front, and the line is copied into the page cache: no thread, no queue,
nothing to lose. What cannot be encoded at once (tensors, NaN, nested dicts) goes the slow way round.

After the step of a training caches hold none of this, so what counts is how much of everything `log` touches, not
how long it takes in a loop. Formatting with `%`, searching bytes and turning floats into ints by `int` cost as much
there as encoding five numbers: the encoder and a join do all of it.

While one thread logs there is no lock, which would cost as much as the copy: under the interpreter's own lock
nothing here is interrupted between taking a step or a place in the file and having it. A second thread turns the
lock on for good. A signal handler that logs in the middle of a write has its step written right after it.
"""

import sys
import time
from _thread import RLock, get_ident
from math import floor

import msgspec

from jobmeter.hooks import linefiles, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmeter.hooks.complaints import Complaints
    from jobmeter.hooks.files import Files, OneFile

encode = msgspec.json.Encoder().encode

_NOBODY, _EVERYBODY, _BUSY = -1, -2, -3
"""Whose turn it is, where it is not one thread's."""

_OWNER_SECONDS = 1.0
"""How long a second thread waits for the first to finish its line: one that died in it never will."""

_MILLIS = tuple(b"%03d" % millis for millis in range(1000))
_LARGEST, _SMALLEST = values.LARGEST, -values.LARGEST
_now = time.time


class StepLog:
    """Takes the metrics of steps."""

    __slots__ = (
        "_complaints",
        "_files",
        "_late",
        "_lines",
        "_lock",
        "_middle",
        "_next_second",
        "_pending",
        "_pending_step",
        "_put",
        "_second",
        "_stamp",
        "_step",
        "_thread",
        "_turn",
        "finished",
    )

    def __init__(self, files: "Files", complaints: "Complaints", *, rank: int, first_step: int) -> None:
        self.finished = False
        self._files = files
        self._complaints = complaints
        self._step = first_step
        self._second = self._next_second = -1.0
        self._stamp = b""
        self._middle = b',"rank":%d,"source":"sdk","metrics":' % rank
        self._begin_afresh()

    def _begin_afresh(self) -> None:
        """Hold nothing of anybody else's: at the start, and after a fork."""
        self._lock = RLock()
        # without the interpreter's own lock every thread needs ours
        has_gil = getattr(sys, "_is_gil_enabled", None)
        self._thread = _NOBODY if has_gil is None or has_gil() else _EVERYBODY
        self._turn = self._thread
        self._late: list[tuple[bytes, int | None]] | None = None
        self._pending: dict[str, values.Number] | None = None
        self._pending_step: int | None = None
        self._lines: OneFile | None = None
        self._put: Callable[[bytes], object] = self._put_first

    @property
    def step(self) -> int:
        """The step that the next `log` without one gets."""
        return self._step

    def log(self, metrics: "Mapping[str, object]", step: int | None = None, commit: bool = True) -> None:
        """Keep the metrics of one step; `commit=False` waits for the rest of them."""
        body = None
        try:
            for value in metrics.values():
                if type(value) is float:
                    if value - value != 0.0:  # NaN and infinities
                        break
                elif type(value) is not int or not _SMALLEST <= value <= _LARGEST:
                    break
            else:
                body = encode(metrics)
        except (TypeError, ValueError, AttributeError, RuntimeError):
            body = None  # a RuntimeError: another thread changes the dict meanwhile
        if (
            body is None
            or self._pending is not None
            or not commit
            or (step is not None and (type(step) is not int or not 0 <= step <= 0x7FFF_FFFF_FFFF_FFFF))
        ):
            self._log_with_care(metrics, step, commit)
            return
        if get_ident() != self._turn:
            self._write_shared(body, step)
            return
        self._turn = _BUSY  # no call since it was looked at: nobody else can have taken it
        try:
            self._write(body, step)
        finally:
            self._turn = self._thread
        if self._late is not None:
            self._write_late()

    def _write(self, body: bytes, step: int | None) -> None:
        if step is None:
            step = self._step
        self._step = step + 1
        now = _now()
        while not self._second <= now < self._next_second:
            self._begin_second(now)
        # both before the next call, in which a handler may begin a second
        stamp, millis = self._stamp, (now - self._second) * 1000.0
        parts = (stamp, _MILLIS[floor(millis)], b'Z","step":', encode(step), self._middle, body, b"}\n")
        line = b"".join(parts)
        put = self._put
        try:
            put(line)
        except ValueError as error:
            if not linefiles.says_full(error):
                raise
            self._put_on(line)

    def _log_with_care(self, metrics: "Mapping[str, object]", step: object, commit: bool) -> None:
        taken = self._complaints.attempt("logging a step", self._take_care, metrics, step, commit)
        if taken is not None:
            self._write_shared(*taken)

    def _write_shared(self, body: bytes, step: int | None) -> None:
        """Write where somebody else may be writing: another thread, or what this handler interrupted."""
        with self._lock:
            if self._thread == _NOBODY:
                self._thread = get_ident()
            elif self._thread not in (_EVERYBODY, get_ident()):
                self._thread = _EVERYBODY
                self._await_owner()
            if self._turn == _BUSY:
                if self._late is None:
                    self._late = [(body, step)]
                else:
                    self._late.append((body, step))
                return
            self._turn = _BUSY
            try:
                self._write(body, step)
            finally:
                self._turn = self._thread
            self._write_late()

    def _await_owner(self) -> None:
        """Let the thread that needed no lock so far finish its line."""
        deadline = time.monotonic() + _OWNER_SECONDS
        while self._turn == _BUSY and time.monotonic() < deadline:
            time.sleep(0)
        self._turn = _EVERYBODY

    def _write_late(self) -> None:
        late, self._late = self._late, None
        for body, step in late or ():
            self._write_shared(body, step)

    def _begin_second(self, now: float) -> None:
        second = now // 1.0
        stamp = time.strftime('{"timestamp":"%Y-%m-%dT%H:%M:%S.', time.gmtime(second)).encode("ascii")
        # no call between these: whoever reads one has the others too
        self._stamp, self._second, self._next_second = stamp, second, second + 1.0

    def _put_first(self, line: bytes) -> None:
        """Make the file with its first line; every later one goes straight to it."""
        try:
            self._lines = self._files.open("steps")
        except OSError as error:
            self._files.lose("steps")
            self._complaints.not_kept(error)
            return
        self._put_on(line)

    def _put_on(self, line: bytes) -> None:
        """Let the file take a line that found no room in what is mapped of it."""
        if self._lines is not None:
            self._lines.put(line)
            self._put = self._lines.straight()

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
            if at is not None and self._pending is not None and at != self._pending_step:
                self._commit()
            waiting = self._pending or {}
            waiting.update(found)
            at = at if at is not None else self._pending_step
            if not commit or not waiting:
                self._pending, self._pending_step = waiting or None, at
                return None
            self._pending, self._pending_step = None, None
        return encode({name: values.for_json(value) for name, value in waiting.items()}), at

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
        self._pending, self._pending_step = None, None
        if found:
            self.log(found, step)

    def _refuse(self, name: str, refusal: values.RefusedError) -> None:
        self._complaints.say(f"metric {name} refused: {refusal}", about=f"metric {name}")

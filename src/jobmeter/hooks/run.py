"""A training run as its script sees it: `log` is the hot path, everything else may take its time.

`log` encodes the metrics, puts a stamp in front and copies the line into the page cache: 3 to 10 microseconds,
no thread, no queue. What it cannot encode at once (tensors, NaN, nested dicts) goes the slow way round.
"""

import os
import time
from _thread import RLock

import msgspec

from jobmeter.config import redaction
from jobmeter.hooks import records, values
from jobmeter.hooks.complaints import Complaints
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from jobmeter.hooks.files import Files
    from jobmeter.hooks.identity import Identity
    from jobmeter.hooks.standalone import Recorder

_encode = msgspec.json.Encoder().encode
_NEEDS_CARE = b"null"
"""What the encoder writes for NaN and infinities; a metric whose name holds it is slow, and right."""

_PLAIN = values.PLAIN
_now = time.time
_LARGEST_STEP = values.LARGEST_STEP
_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")


class Run:
    """One process's part of a run."""

    __slots__ = (
        "_complaints",
        "_dirty",
        "_event_config",
        "_files",
        "_lock",
        "_middle",
        "_owner",
        "_pending",
        "_pending_step",
        "_put",
        "_recorder",
        "_second",
        "_stamp",
        "_step",
        "config",
        "finished",
        "identity",
        "summary",
    )

    def __init__(
        self, identity: "Identity", files: "Files", complaints: Complaints, recorder: "Recorder | None" = None
    ) -> None:
        self.identity = identity
        self.finished = False
        self.config = records.Told(self._config_changed)
        self.summary = records.Told(self._summary_changed)
        self._files = files
        self._complaints = complaints
        self._recorder = recorder
        self._owner = os.getpid()
        self._lock = RLock()
        self._step = identity.first_step
        self._pending: dict[str, values.Number] = {}
        self._pending_step: int | None = None
        self._dirty: dict[str, object] = {}
        self._event_config = False
        self._second = -1
        self._stamp = b""
        self._middle = b',"rank":%d,"source":"sdk","metrics":' % identity.rank
        self._put: Callable[[bytes], None] = self._put_first

    # ------------------------------------------------------------------ who it is

    @property
    def id(self) -> str:
        """The id of the run folder."""
        return self.identity.run_id

    @property
    def job_id(self) -> str:
        """What the recorders of one job share."""
        return self.identity.job_id

    @property
    def name(self) -> str | None:
        """The name it was given."""
        return self.identity.name

    @property
    def project(self) -> str | None:
        """The project it belongs to."""
        return self.identity.project

    @property
    def group(self) -> str | None:
        """The group it belongs to."""
        return self.identity.group

    @property
    def rank(self) -> int:
        """Which process of a distributed job this is; 0 for a job of one."""
        return self.identity.rank

    @property
    def world_size(self) -> int:
        """How many processes the job has."""
        return self.identity.world_size

    @property
    def folder(self) -> "Path | None":
        """Where it is kept; None for a run that is not."""
        from pathlib import Path

        return Path(self._files.folder)

    @property
    def step(self) -> int:
        """The step that the next `log` without one gets."""
        return self._step

    # ------------------------------------------------------------------ steps

    def log(self, metrics: "Mapping[str, object]", step: int | None = None, commit: bool = True) -> None:
        """Keep the metrics of one step; `commit=False` waits for the rest of them."""
        try:
            plain = commit and _PLAIN.issuperset(map(type, metrics.values()))
            body = _encode(metrics) if plain else _NEEDS_CARE
        except (TypeError, ValueError, AttributeError):
            body = _NEEDS_CARE
        if (
            _NEEDS_CARE in body
            or self._pending
            or (step is not None and (type(step) is not int or not -_LARGEST_STEP <= step <= _LARGEST_STEP))
        ):
            taken = self._complaints.attempt("logging a step", self._take_care, metrics, step, commit)
            if taken is None:
                return
            body, step = taken
        # whatever runs between here and the copy runs thousands of times: no helper functions
        with self._lock:
            if step is None:
                step = self._step
            self._step = step + 1
            now = _now()
            second = int(now)
            if second != self._second:
                self._begin_second(second)
            self._put(
                b'%b%03dZ","step":%d%b%b}\n'
                % (self._stamp, int((now - second) * 1000), step, self._middle, body)
            )

    def _begin_second(self, second: int) -> None:
        self._stamp = time.strftime('{"timestamp":"%Y-%m-%dT%H:%M:%S.', time.gmtime(second)).encode("ascii")
        self._second = second
        if self._dirty:
            self._write_summary()

    def _put_first(self, line: bytes) -> None:
        """Make the file with its first line; every later one goes straight to it."""
        try:
            put = self._files.open("steps").put
        except OSError as error:
            self._disk_failed(error)
            return
        self._put = put
        put(line)

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
        return _encode({name: values.for_json(value) for name, value in found.items()}), at

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

    def _disk_failed(self, error: OSError) -> None:
        reason = (error.strerror or "it cannot be written").lower()
        self._complaints.say(f"what is logged is not kept for now: {reason}", about="disk")

    def _put_late(self, _line: bytes) -> None:
        self._complaints.say("the run is finished: what is logged now is not kept", about="finished")

    # ------------------------------------------------------------------ events, config, summary

    def event(
        self,
        type: str,  # noqa: A002  # the word of the record
        details: "Mapping[str, object] | None" = None,
        config: "Mapping[str, object] | None" = None,
    ) -> None:
        """Keep that something happened; what the job used at that moment is added when it is read."""
        self._complaints.attempt("an event", self._write_event, type, details, config)

    def alert(self, title: str, text: str = "", level: str = "WARN") -> None:
        """Keep something a person should see: an event of type `alert`."""
        name = str(getattr(level, "name", level)).upper()
        known = {"WARNING": "WARN"}.get(name, name)
        if known not in _LEVELS:
            self._complaints.say(f"alert level {level} is none of {', '.join(_LEVELS)}", about="level")
            known = "WARN"
        self.event("alert", {"title": str(title), "text": str(text), "level": known})

    def _write_event(
        self, kind: str, details: "Mapping[str, object] | None", config: "Mapping[str, object] | None"
    ) -> None:
        record: dict[str, object] = {
            "timestamp": writer.timestamp(time.time()),
            "type": str(kind),
            "details": records.document(details or {}),
            "rank": self.identity.rank,
        }
        if config is not None:
            record["config"] = records.document(config)
        elif self._event_config:
            record["config"] = records.document(self.config)
            self._event_config = False
        self._record("events", record)

    def adopt_config(self, given: object) -> dict[str, object] | None:
        """Take over the config the run begins with, and give it as it may be written down."""
        if given is None:
            return None
        self.config.adopt(given)
        self._event_config = True
        return records.document(self.config)

    def introduce(self, record: dict[str, object]) -> None:
        """Write who this process is: the first record of its `sdk.jsonl`, which descendants find the run by."""
        self._record("sdk", record)

    def _config_changed(self, changes: dict[str, object]) -> None:
        self._event_config = True
        self._complaints.attempt("the config", self._write_changes, "config", changes)

    def _write_changes(self, kind: str, changes: dict[str, object]) -> None:
        self._record("sdk", {"type": kind, kind: records.document(changes)})

    def _summary_changed(self, changes: dict[str, object]) -> None:
        # a loop that keeps its best loss here sets it every step: once a second is enough for the disk
        with self._lock:
            self._dirty.update(changes)
            second = int(time.time())
            if second != self._second:
                self._begin_second(second)

    def _write_summary(self) -> None:
        changes, self._dirty = self._dirty, {}
        self._complaints.attempt("the summary", self._write_changes, "summary", changes)

    def _record(self, what: str, record: dict[str, object]) -> None:
        if self.finished:
            self._put_late(b"")
            return
        line = _encode(record) + b"\n"
        with self._lock:
            try:
                self._files.put(what, line)
            except OSError as error:
                self._disk_failed(error)

    # ------------------------------------------------------------------ the end

    def finish(self, exit_code: int = 0) -> None:
        """End the run: everything is on disk, and the recorder of a run of its own has written the end."""
        self.leave(exit_code, "completed" if exit_code == 0 else "failed", wait=True)

    def _end(self, exit_code: int | None, status: str, wait: bool) -> None:
        if self.finished:
            return
        self._flush()
        record: dict[str, object] = {"type": "finish", "timestamp": writer.timestamp(time.time())}
        if exit_code is not None:
            record["exit_code"] = exit_code
        record["status"] = status
        dropped = self._files.dropped()
        if dropped:
            record["dropped"] = dropped
        if self._owner == os.getpid():
            self._record("sdk", record)
        self.finished = True
        self._put = self._put_late
        self._files.close()
        if self._recorder is not None:
            told = self._recorder.finish if wait else self._recorder.exit
            told(exit_code, status)
            self._recorder.close()
            self._recorder = None

    def leave(self, exit_code: int | None, status: str, *, wait: bool) -> None:
        """Write the end; `wait` until the recorder has ended too, else it goes on until the process is gone."""
        self._complaints.attempt("the end of the run", self._end, exit_code, status, wait)

    def _flush(self) -> None:
        # a thread that died at the end of the interpreter may hold the lock for ever
        held = self._lock.acquire(timeout=1.0)
        if self._pending:
            self._commit()
        if self._dirty:
            self._write_summary()
        if held:
            self._lock.release()

    def exception(self, error: BaseException) -> None:
        """Keep what ended the training as an event."""
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        details = {"type": type(error).__name__, "text": redaction.redact_text(str(error))[:4096]}
        if frame is not None:
            code = frame.tb_frame.f_code
            details["where"] = f"{code.co_filename}:{frame.tb_lineno} in {code.co_name}"
        self.event("exception", details)

    def after_fork(self) -> None:
        """Become the run of a forked child: files of its own, no recorder to tell, nothing of the parent's."""
        self._lock = RLock()
        self._pending, self._pending_step, self._dirty = {}, None, {}
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        if not self.finished:
            self._files.after_fork()
            self._put = self._put_first

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: BaseException | None, _trace: "TracebackType | None"
    ) -> None:
        from jobmeter.hooks import endings

        if error is None:
            self.finish()
            return
        exit_code, status = endings.meaning(error)
        if status == "failed" and not isinstance(error, SystemExit):
            self.exception(error)
        self.leave(exit_code, status, wait=True)

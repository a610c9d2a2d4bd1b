"""A training run as its script sees it: steps, events, config, summary, and its end."""

import os
import time
from _thread import RLock

from jobmeter.config import redaction
from jobmeter.hooks import records
from jobmeter.hooks.complaints import Complaints
from jobmeter.hooks.steplog import StepLog, encode
from jobmeter.recording import guard
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from jobmeter.hooks.files import Files
    from jobmeter.hooks.identity import Identity
    from jobmeter.hooks.standalone import Recorder

_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
_LONGEST_TEXT = 4096


class Run(StepLog):
    """One process's part of a run."""

    __slots__ = ("_dirty", "_event_config", "_owner", "_recorder", "config", "identity", "summary")

    def __init__(
        self, identity: "Identity", files: "Files", complaints: Complaints, recorder: "Recorder | None" = None
    ) -> None:
        super().__init__(files, complaints, rank=identity.rank, first_step=identity.first_step)
        self.identity = identity
        self.config = records.Told(self._config_changed, self._named)
        self.summary = records.Told(self._summary_changed, self._named)
        self._recorder = recorder
        self._owner = os.getpid()
        self._dirty: dict[str, object] = {}
        self._event_config = False

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
        return self._complaints.attempt("the config", records.document, self.config)

    def _named(self, given: object) -> dict[str, object]:
        """Read the names of a config; asking an object of the script's for itself may fail in any way."""
        return self._complaints.attempt("the config", records.named, given) or {}

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
            now = time.time()
            if not self._second <= now < self._next_second:
                self._begin_second(now)

    def _begin_second(self, now: float) -> None:
        super()._begin_second(now)
        if self._dirty:
            self._write_summary()

    def _write_summary(self) -> None:
        changes, self._dirty = self._dirty, {}
        self._complaints.attempt("the summary", self._write_changes, "summary", changes)

    def _record(self, what: str, record: dict[str, object]) -> None:
        if self.finished:
            self._put_late(b"")
            return
        line = encode(record) + b"\n"
        with self._lock:
            try:
                self._files.put(what, line)
            except OSError as error:
                self._files.lose(what)
                self._complaints.not_kept(error)

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
        if not self._lock.acquire(timeout=1.0):
            # a thread that died at the end of the interpreter holds it for ever
            self._lock = RLock()
            self._lock.acquire()
        if self._pending is not None:
            self._commit()
        self._write_late()
        if self._dirty:
            self._write_summary()
        self._lock.release()

    def exception(self, error: BaseException) -> None:
        """Keep what ended the training as an event; one that cannot say what it is, by its type and place."""
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        text = guard.attempt(lambda: str(error), lambda _: None) or ""
        details = {"type": type(error).__name__, "text": redaction.redact_text(text)[:_LONGEST_TEXT]}
        if frame is not None:
            code = frame.tb_frame.f_code
            details["where"] = f"{code.co_filename}:{frame.tb_lineno} in {code.co_name}"
        self.event("exception", details)

    def after_fork(self) -> None:
        """Become the run of a forked child: files of its own, no recorder to tell, nothing of the parent's."""
        put = self._put
        self._begin_afresh()
        self._dirty = {}
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        if self.finished:
            self._put = put
        else:
            self._files.after_fork()

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

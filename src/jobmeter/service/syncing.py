"""Take in runs that others record: new bytes of their files, appended to this home's copy of the folder.

A request says for every file at which offset its bytes belong and what the CRC of all before them is. What is there
already is skipped, what fits is appended, anything else is answered with what is there, so that the sender goes on
from that: repeats, crashes and outages cost nothing, and nothing comes twice. Answered means written (a kill of the
server loses nothing of it; of a power loss the sender learns by the sizes and sends again).

An id becomes a path only through `index.folder_of`, a file name only through the closed list of `model/sync.py`.
"""

import fcntl
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from jobmeter.errors import JobmeterError, UsageError, reason_of
from jobmeter.model import sync
from jobmeter.model.sync import Carried, Header, Held, Part
from jobmeter.service import index, lifecycle, received

_STRIPES = 256
_LOCK_SECONDS = 10.0
_KNOWN_RUNS = 20_000
_OLD_SECONDS = 5.0
"""A file that grew longer ago than this keeps its age here."""
FULL_RETRY_SECONDS = 60.0
BUSY_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much one run may bring."""

    file_bytes: int = 8 << 30
    run_bytes: int = 32 << 30
    files: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who sends: runs belong to who began them."""

    name: str
    may_send_any: bool = False


class RefusedError(JobmeterError):
    """The run was not taken, and the status of the answer says what the sender should do."""

    def __init__(
        self, status: int, message: str, *, hint: str = "", retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class GapError(RefusedError):
    """What was sent does not follow what is there."""

    def __init__(self, files: Mapping[str, Held]) -> None:
        super().__init__(
            409, "the bytes do not follow what is here", hint="send again from the sizes in `files`"
        )
        self.files = dict(files)


class _Marker(msgspec.Struct, omit_defaults=True):
    """`synced.json`: whose run this copy is."""

    agent: str = ""
    final: bool = False


@dataclass(slots=True)
class _Run:
    """What is remembered of a run between requests."""

    files: dict[str, received.Known] = field(default_factory=dict)


_DECODER = msgspec.json.Decoder(Header)


class Receiver:
    """Takes in runs for one home; safe from many threads, and beside other servers of the same home."""

    def __init__(self, home: str, caps: Caps | None = None) -> None:
        self._home = Path(home)
        self._caps = caps or Caps()
        self._locks = [threading.Lock() for _ in range(_STRIPES)]
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._runs_lock = threading.Lock()

    def receive(self, run_id: str, body: bytes, sender: Sender) -> dict[str, int]:
        """Take the parts of one request; gives the size of each file after it."""
        header, parts = parse(body)
        folder = self._folder(run_id)
        if not any(map(len, parts)) and not folder.exists():
            return self._nothing(header)
        with self._locks[hash(run_id) % _STRIPES], self._opened(folder, sender) as (fd, marker):
            run = self._remembered(run_id)
            before = {part.name: run.files.get(part.name) for part in header.files}
            sizes = self._append(folder, run, header, parts, was_final=marker.final)
            if header.final and not marker.final:
                marker.final = True
                _write_marker(fd, marker)
            elif marker.final and any(run.files[name] != known for name, known in before.items()):
                # an ended run is not looked at again unless somebody says that it changed
                lifecycle.touch(str(self._home), [run_id])
            return sizes

    def _nothing(self, header: Header) -> dict[str, int]:
        """Say of a run that nobody began, or that is gone, that nothing of it is here."""
        if any(part.offset for part in header.files):
            raise GapError({part.name: Held(size=0, crc32=0) for part in header.files})
        return {part.name: 0 for part in header.files}

    def _folder(self, run_id: str) -> Path:
        if not index.is_run_id(run_id) or not (run_id[:6].isdecimal() and "01" <= run_id[4:6] <= "12"):
            raise UsageError(f"not a run id: {run_id[:80]!r}", hint="as in 20261115T095001Z-7f3a9c")
        folder = index.folder_of(self._home, run_id)
        if os.path.lexists(Path(self._home, lifecycle.BIN, folder.parent.name, run_id)):
            raise RefusedError(
                410, f"run {run_id} was thrown away here", hint="restore it from the bin first"
            )
        return folder

    @contextmanager
    def _opened(self, folder: Path, sender: Sender) -> Iterator[tuple[int, _Marker]]:
        """Hold the folder alone, as far as it is this sender's."""
        try:
            fd = _open_marker(folder)
        except OSError as error:
            raise _full_or_forbidden(error) from None
        try:
            _lock(fd)
            marker = _read_marker(fd)
            if marker.agent and marker.agent != sender.name and not sender.may_send_any:
                raise RefusedError(
                    403, "the run belongs to another agent", hint="push with the token it was begun with"
                )
            if not marker.agent:
                marker.agent = sender.name
                _write_marker(fd, marker)
            yield fd, marker
        finally:
            os.close(fd)

    def _remembered(self, run_id: str) -> _Run:
        with self._runs_lock:
            run = self._runs.setdefault(run_id, _Run())
            self._runs.move_to_end(run_id)
            if len(self._runs) > _KNOWN_RUNS:
                self._runs.popitem(last=False)
            return run

    def _append(
        self, folder: Path, run: _Run, header: Header, parts: list[memoryview], *, was_final: bool
    ) -> dict[str, int]:
        new: dict[str, memoryview] = {}
        gaps: dict[str, Held] = {}
        for part, data in zip(header.files, parts, strict=True):
            known = self._look(folder, run, part, closed=was_final)
            fresh = received.fits(folder / sync.kept_as(part.name), known.held, part, data)
            if fresh is None:
                gaps[part.name] = known.held
            else:
                new[part.name] = fresh
        if gaps:
            raise GapError(gaps)
        self._require_modest(folder, run, new)
        ages = {part.name: part.age_seconds for part in header.files}
        # what says that a run ended comes last: from then on every other file counts as whole
        for name in sorted(new, key=lambda name: name == sync.RUN):
            self._write(folder, run, name, new[name], final=header.final, age_seconds=ages[name])
        return {name: run.files[name].held.size for name in new}

    def _look(self, folder: Path, run: _Run, part: Part, *, closed: bool) -> received.Known:
        path = folder / sync.kept_as(part.name)
        kind = sync.carried(part.name) or Carried.LINES
        known = received.look(path, run.files.get(part.name), carried=kind, closed=closed)
        run.files[part.name] = known
        return known

    def _require_modest(self, folder: Path, run: _Run, new: Mapping[str, memoryview]) -> None:
        for name, data in new.items():
            if run.files[name].held.size + len(data) > self._caps.file_bytes:
                raise RefusedError(413, f"{name} grows beyond {self._caps.file_bytes} bytes")
        sizes = {entry.name: entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder)}
        if sum(sizes.values()) + sum(map(len, new.values())) > self._caps.run_bytes:
            raise RefusedError(413, f"the run grows beyond {self._caps.run_bytes} bytes")
        if len(sizes.keys() | set(map(sync.kept_as, new))) > self._caps.files:
            raise RefusedError(413, f"the run has more than {self._caps.files} files")

    def _write(
        self, folder: Path, run: _Run, name: str, data: memoryview, *, final: bool, age_seconds: float
    ) -> None:
        if not len(data):
            return
        path = folder / sync.kept_as(name)
        try:
            # what tells that a run began and how it ended outlives a power loss too
            run.files[name] = received.append(path, run.files[name], data, durable=final or name == sync.RUN)
            if age_seconds > _OLD_SECONDS:
                grown_at = max(0.0, time.time() - age_seconds)
                os.utime(path, (grown_at, grown_at))
        except OSError as error:
            run.files.pop(name, None)
            raise _full_or_forbidden(error) from None


def parse(body: bytes) -> tuple[Header, list[memoryview]]:
    """Take a body apart into its header and the bytes of each part; nothing of it is trusted."""
    end = body.find(b"\n", 0, sync.MAX_HEADER_BYTES)
    if end < 0:
        raise UsageError("the body has no header line", hint="one line of JSON, then the bytes of its files")
    try:
        header = _DECODER.decode(body[:end])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"cannot read the header of the body: {error}"[:300]) from None
    view, at, parts = memoryview(body), end + 1, []
    for part in header.files:
        if part.length < 0 or part.length > len(body) - at:
            raise UsageError(f"the body is shorter than its header says of {part.name[:80]!r}")
        parts.append(view[at : at + part.length])
        _require_sound(part, parts[-1], final=header.final)
        at += part.length
    if at != len(body):
        raise UsageError("the body is longer than its header says")
    if len({part.name for part in header.files}) != len(header.files):
        raise UsageError("a file is named twice")
    return header, parts


def _require_sound(part: Part, data: memoryview, *, final: bool) -> None:
    kind = sync.carried(part.name)
    if kind is None:
        raise UsageError(f"not a file of a run: {part.name[:80]!r}")
    if not (0 <= part.offset < 1 << 53 and 0 <= part.crc32 < 1 << 32 and 0 <= part.age_seconds < 1e10):
        raise UsageError(f"the header says impossible things of {part.name}")
    if kind is not Carried.OUTPUT and len(data) and data[-1] != 0x0A and not final:
        raise UsageError(f"{part.name} does not end with a whole line")


def _open_marker(folder: Path) -> int:
    """Open the file that makes a folder a received one; a folder that was recorded here has none."""
    path = folder / sync.MARKER
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        lifecycle.make_private(folder)
    # asked in this order: another server that made the folder just now made the marker before anything else
    if os.listdir(folder) and not path.exists():
        raise RefusedError(
            403, "the run was recorded on the server itself", hint="it need not be pushed: the server has it"
        )
    return os.open(path, flags | os.O_CREAT, 0o600)


def _lock(fd: int) -> None:
    """Wait for other servers of the same home, but not for ever."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise RefusedError(
                    503, "the run is being written by another server", retry_after_seconds=BUSY_RETRY_SECONDS
                ) from None
            time.sleep(0.005)
        else:
            return


def _read_marker(fd: int) -> _Marker:
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=_Marker)
    except msgspec.MsgspecError:
        return _Marker()  # just made, or cut off by a full disk


def _write_marker(fd: int, marker: _Marker) -> None:
    text = msgspec.json.encode(marker)
    try:
        os.pwrite(fd, text, 0)
        os.ftruncate(fd, len(text))
    except OSError as error:
        raise _full_or_forbidden(error) from None


def _full_or_forbidden(error: OSError) -> RefusedError:
    return RefusedError(
        507, f"the server cannot keep it: {reason_of(error)}", retry_after_seconds=FULL_RETRY_SECONDS
    )

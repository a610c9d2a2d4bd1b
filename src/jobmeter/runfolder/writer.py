"""Append whole records to the files of one run folder; a full disk costs records, never the job.

After a short or failed write the file is cut back to its last whole record, so that the next record
that fits is not glued to half of the one that did not.
"""

import os
import time

from jobmeter.errors import RecordError
from jobmeter.runfolder import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1
_ROOM, _ROOM_BYTES = ".room", 32768
_ENOSPC, _EDQUOT = 28, 122 if os.uname().sysname == "Linux" else 69


class WholeLines:
    """Appends to a descriptor so that every line is there whole or not at all."""

    __slots__ = ("_fd", "_size", "_torn")

    def __init__(self, fd: int) -> None:
        """Go on at the end of what is there, which may be somebody else's."""
        self._fd = fd
        self._size = os.fstat(fd).st_size
        self._torn = False

    def write(self, line: bytes) -> bool:
        """Append a line, its line end included; False when it did not fit, OSError when nothing of it did."""
        # half a line that could not be cut off again is ended, so that readers lose that one only
        data = b"\n" + line if self._torn else line
        written = os.write(self._fd, data)
        if written == len(data):
            self._size += written
            self._torn = False
            return True
        self._cut_back(written)
        return False

    def _cut_back(self, written: int) -> None:
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self._size += written
            self._torn = True


class LineFile:
    """An append-only file of whole lines, created with its first line."""

    __slots__ = ("_fd", "_lines", "_path", "dropped")

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._fd = -1
        self._lines: WholeLines | None = None
        self.dropped = 0

    def append(self, record: "Mapping[str, object]") -> bool:
        """Write one record; False when it had to be dropped."""
        return self.append_line(jsontext.mapping(record))

    def append_line(self, text: str) -> bool:
        """Write one line that is already encoded."""
        try:
            kept = (self._lines or self._open()).write(text.encode("ascii") + b"\n")
        except OSError:
            kept = False
        self.dropped += not kept
        return kept

    def _open(self) -> WholeLines:
        if self._path is None:
            raise OSError(_ENOSPC, "no run folder")
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._lines = WholeLines(self._fd)
        return self._lines

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd >= 0:
            _close(self._fd)
            self._fd, self._lines = -1, None


class RunFolder:
    """The files one recorder writes."""

    __slots__ = ("events", "index", "path", "run", "run_id", "usage")

    def __init__(self, path: str | None, run_id: str) -> None:
        self.path = path
        self.run_id = run_id
        self.run = LineFile(self.file("run.jsonl"))
        self.usage = LineFile(self.file("usage.jsonl"))
        self.events = LineFile(self.file("events.jsonl"))
        self.index = LineFile(self.file("output.index"))

    def file(self, name: str) -> str | None:
        """Name a file of this folder; None where the folder could not be made."""
        return None if self.path is None else os.path.join(self.path, name)

    def dropped(self) -> dict[str, int]:
        """Count the records that did not reach the disk, by file."""
        files = {"run": self.run, "usage": self.usage, "events": self.events, "output.index": self.index}
        return {name: file.dropped for name, file in files.items() if file.dropped}

    def hold_room(self) -> None:
        """Set room aside for the end, so that output which fills the disk does not cost the run its outcome."""
        path = self.file(_ROOM)
        if path is None:
            return
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return  # no descriptor, no room: the end takes its chance
        try:
            os.posix_fallocate(fd, 0, _ROOM_BYTES)
        except (OSError, AttributeError):
            self.release_room()  # the disk is full already, or cannot set room aside
        os.close(fd)

    def release_room(self) -> None:
        """Give the room set aside back, right before it is needed."""
        path = self.file(_ROOM)
        try:
            if path is not None:
                os.unlink(path)
        except OSError:
            return  # there was none

    def write_info(self, text: str) -> None:
        """Render `info.json` whole or not at all: a reader never sees half of it."""
        target = self.file("info.json")
        if target is None:
            return
        partial = f"{target}.part"
        try:
            fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError:
            self.run.dropped += 1
            return
        if not _place(fd, text.encode("ascii"), partial, target):
            self.run.dropped += 1
            _unlink(partial)

    def close(self) -> None:
        """Give the descriptors back."""
        for file in (self.run, self.usage, self.events, self.index):
            file.close()


def _place(fd: int, data: bytes, partial: str, target: str) -> bool:
    """Write a file whole and give it its name; False when the disk refused any of it."""
    try:
        whole = os.write(fd, data) == len(data)
    except OSError:
        whole = False
    if not _close(fd) or not whole:
        return False
    try:
        os.rename(partial, target)
    except OSError:
        return False
    return True


def _close(fd: int) -> bool:
    try:
        os.close(fd)
    except OSError:
        return False  # a network file system tells here that it lost what was written
    return True


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # a `.part` that stays is never read


def new_run_id(wall: float) -> str:
    """Make a sortable id: UTC time and six random digits."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime(wall)) + os.urandom(3).hex()


def timestamp(wall: float) -> str:
    """Render a wall-clock time as ISO 8601 UTC with milliseconds."""
    millis = int(wall * 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000)) + f".{millis % 1000:03d}Z"


class Stamps:
    """The same for one who asks often: what stays the same for a minute is rendered once."""

    __slots__ = ("_minute", "_text")

    def __init__(self) -> None:
        self._minute = -1
        self._text = ""

    def at(self, wall: float) -> str:
        """Render a wall-clock time like `timestamp`."""
        millis = int(wall * 1000)
        minute = millis // 60_000
        if minute != self._minute:
            self._minute = minute
            self._text = time.strftime("%Y-%m-%dT%H:%M:", time.gmtime(minute * 60))
        # five digits, of which the first is there to keep the zeros behind it
        digits = str(100_000 + millis % 60_000)
        return f"{self._text}{digits[1:3]}.{digits[3:]}Z"


def create(home: str, wall: float) -> RunFolder:
    """Make a new run folder; on a full disk one that counts what it cannot keep."""
    run_id = new_run_id(wall)
    month = os.path.join(home, "runs", time.strftime("%Y-%m", time.gmtime(wall)))
    path = os.path.join(month, run_id)
    try:
        _make_private(month)
        os.mkdir(path, 0o700)
    except OSError as error:
        if error.errno in (_ENOSPC, _EDQUOT):
            return RunFolder(None, run_id)
        reason = error.strerror or "cannot be created"
        shown = home.encode("utf-8", "backslashreplace").decode()
        raise RecordError(
            f"cannot keep runs in {shown}: {reason.lower()}",
            hint="choose a writable folder with --home or JOBMETER_HOME",
        ) from None
    return RunFolder(path, run_id)


def _make_private(path: str) -> None:
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        _make_private(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        # another recorder made it between the look and the call; a plain file here fails in the next mkdir
        return

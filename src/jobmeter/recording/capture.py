"""The job's output: inherited where it already is a file, relayed where it is a pipe, a terminal where it is one.

Bytes are never changed. A relayed output has back-pressure: when our reader is slow, the job is slowed as by
a plain pipe; when our reader is gone, the job's next write fails as in a plain pipe.
"""

import os
import select
import stat

from jobmeter.model.words import Enum
from jobmeter.recording import terminal as terminals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.terminal import Terminal

STREAMS = {1: "stdout", 2: "stderr"}
_CHUNK = 65536
_ATOMIC = 4096
PROOF_BYTES = 4096
"""Of what a job wrote last, so much proves later that a file still holds it."""
_DRAIN_MOST = 1 << 20
"""A pipe holds no more than this, unless root said so."""
_EAGAIN, _EIO = 11, 5


class Way(Enum):
    """What becomes of one output of the job."""

    INHERIT = "inherit"
    PIPE = "pipe"
    PTY = "pty"


class Channel:
    """One relayed output: the job writes to `job_end`, we pass it on to `sink` and keep a copy."""

    __slots__ = (
        "_copy",
        "_nonblocking",
        "_pending",
        "arrived",
        "captured",
        "indexed",
        "is_pty",
        "job_end",
        "lost",
        "open",
        "seen",
        "sink",
        "source",
        "stream",
    )

    def __init__(
        self, stream: str, source: int, job_end: int, sink: int, *, copy: int | None, is_pty: bool
    ) -> None:
        self.stream = stream
        self.source = source
        os.set_blocking(source, False)
        self.job_end = job_end
        self.is_pty = is_pty
        self.sink, self._nonblocking = _reopen(sink)
        self._copy = copy
        self._pending = b""
        self.captured = 0
        self.seen = 0
        """How many of them came by `arrived`, on the wall clock."""
        self.arrived = 0.0
        self.indexed = 0
        self.lost = 0
        self.open = True

    @property
    def blocked(self) -> bool:
        """Whether the reader of our output is behind: then nothing more is taken from the job."""
        return bool(self._pending)

    def pull(self) -> bool:
        """Take what the job wrote and pass it on; False when there was nothing, or the job closed its side."""
        if not self._take():
            return False
        self.push()
        return True

    def drain(self) -> None:
        """Take all that the job left in its pipe, so that it is kept even if our reader never reads it."""
        while self.open and len(self._pending) < _DRAIN_MOST and self._take():
            continue
        if self._nonblocking:
            self.push()

    def _take(self) -> bool:
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != _EIO:
                raise
            data = b""  # a pseudo-terminal whose last writer left says EIO instead of end-of-file
        if not data:
            self.close_source()
            return False
        self._keep(data)
        self._pending += data
        return True

    def push(self) -> None:
        """Pass on what is pending, as much as the reader takes."""
        while self._pending:
            try:
                sent = os.write(self.sink, self._pending if self._nonblocking else self._pending[:_ATOMIC])
            except BlockingIOError:
                return
            except OSError:
                # our reader is gone: end the job's pipe too, so that its next write tells it
                self._pending = b""
                self.close_source()
                return
            self._pending = self._pending[sent:]
            if not self._nonblocking:
                return  # a write beyond what poll promised could block

    def _keep(self, data: bytes) -> None:
        written = 0
        if self._copy is not None:
            try:
                written = os.write(self._copy, data)
            except OSError:
                written = 0
        self.captured += written
        self.lost += len(data) - written
        if self._copy is not None and self.lost:
            # a hole would shift every later byte: the copy ends here and says so
            os.close(self._copy)
            self._copy = None

    def close_job_end(self) -> None:
        """Leave the job's side to the job."""
        if self.job_end >= 0:
            os.close(self.job_end)
            self.job_end = -1

    def close_source(self) -> None:
        """Stop listening to the job."""
        if self.open:
            os.close(self.source)
            self.open = False

    def finish(self) -> None:
        """Pass on what is already there, waiting for our reader but not for the job."""
        room = select.poll()
        room.register(self.sink, select.POLLOUT)
        while self.open or self._pending:
            if self._pending:
                room.poll()
                self.push()
            elif not self.pull():
                return

    def close_sink(self) -> None:
        """Let go of our reader: it shall see the end as soon as the job's writers are gone."""
        if self._nonblocking:
            os.close(self.sink)


class Inherited:
    """An output that already was a regular file: indexed by offset, never copied."""

    __slots__ = ("_appends", "_fd", "indexed", "offset", "path", "stream")

    def __init__(self, stream: str, fd: int) -> None:
        import fcntl

        self.stream = stream
        self._fd = fd
        self._appends = bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND)
        self.path = os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self/fd") else ""
        self.offset = self.position()
        self.indexed = self.offset

    def position(self) -> int:
        """Say how far the file is written."""
        try:
            # the position of a file opened for appending (>>) stands at 0 until the first write
            return os.fstat(self._fd).st_size if self._appends else os.lseek(self._fd, 0, os.SEEK_CUR)
        except OSError:
            return 0  # closed in the meantime

    def ending(self) -> dict[str, object]:
        """Say how far the job wrote, and what its last bytes were, for who reads the file later."""
        way = f"/proc/self/fd/{self._fd}"  # leads to the file itself, whatever bears its name by now
        return _ending(way if os.path.exists(way) else self.path, self.offset, self.indexed)


class Followed:
    """A file that the job writes itself, known by its name: it may not be there yet."""

    __slots__ = ("indexed", "offset", "path", "stream")

    def __init__(self, stream: str, path: str) -> None:
        self.stream = stream
        self.path = path
        self.indexed = 0
        self.offset = self.indexed = self.position()

    def position(self) -> int:
        """Say how far the file is written; one that was replaced by a shorter one stands where it stood."""
        try:
            return max(os.stat(self.path).st_size, self.indexed)
        except OSError:
            return self.indexed

    def ending(self) -> dict[str, object]:
        """Say how far the job wrote, and what its last bytes were, for who reads the file later."""
        return _ending(self.path, self.offset, self.indexed)


def _ending(path: str, begin: int, end: int) -> dict[str, object]:
    known: dict[str, object] = {"end": end}
    first = max(begin, end - PROOF_BYTES)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return known  # gone, or ours to write only
    try:
        proof = os.pread(fd, end - first, first) if end > first else b""
    except OSError:
        return known  # its file system broke
    finally:
        os.close(fd)
    if len(proof) == end - first:
        known["crc32"] = _crc32(proof)
    return known


def _crc32(proof: bytes) -> int:
    if not proof:
        return 0  # of nothing; a job that wrote nothing need not wait for a library to be loaded
    from binascii import crc32

    return crc32(proof)


class Plan:
    """What becomes of the job's outputs."""

    __slots__ = ("channels", "descriptors", "inherited", "uncaptured")

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.inherited: list[Inherited | Followed] = []
        self.descriptors: dict[int, int] = {}
        self.uncaptured: list[str] = []

    def records(self) -> list[dict[str, object]]:
        """Say where each stream went, for the run's context."""
        captured = [
            {"stream": c.stream, "mode": "captured", "path": c.stream, "offset": 0} for c in self.channels
        ]
        files = [
            {"stream": i.stream, "mode": "inherited", "path": i.path, "offset": i.offset}
            for i in self.inherited
        ]
        return [*captured, *files]

    def records_at_end(self) -> list[dict[str, object]]:
        """Say it once more with how far the job wrote; nothing where all that it wrote was captured."""
        if not self.inherited:
            return []
        endings = {file.stream: file.ending() for file in self.inherited}
        return [{**record, **endings.get(str(record["stream"]), {})} for record in self.records()]


def choose(fd: int, wanted: str, pty: str) -> Way:
    """Decide what becomes of one descriptor."""
    if not os.get_inheritable(fd):
        return Way.INHERIT  # the caller closed it, and we fill its place: the job shall find it closed too
    mode = os.fstat(fd).st_mode
    stream = STREAMS[fd]
    if wanted not in ("auto", "all", stream) or stat.S_ISREG(mode):
        return Way.INHERIT
    if os.isatty(fd):
        return Way.PIPE if pty == "never" else Way.PTY
    if stat.S_ISCHR(mode) and wanted == "auto":
        return Way.INHERIT  # /dev/null: thrown away on purpose
    return Way.PTY if pty == "always" else Way.PIPE


def is_piped() -> bool:
    """Say whether others of our own group read what the job writes: a pager among them needs the terminal."""
    mode = os.fstat(1).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def plan(wanted: str, pty: str, folder: str | None, terminal: "Terminal") -> Plan:
    """Open what the job's outputs need."""
    made = Plan()
    choices = {fd: choose(fd, wanted, pty) for fd in STREAMS}
    shared = choices[1] is choices[2] and _same(1, 2)
    for fd, choice in choices.items():
        if choice is Way.INHERIT:
            _inherit(made, fd, wanted, shared=fd == 2 and shared)
        elif fd == 2 and shared:
            made.descriptors[2] = made.descriptors[1]
        else:
            channel = _open(fd, choice, folder, terminal)
            made.channels.append(channel)
            made.descriptors[fd] = channel.job_end
    return made


def _inherit(made: Plan, fd: int, wanted: str, *, shared: bool) -> None:
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    if regular and wanted in ("auto", "all", STREAMS[fd]):
        if not shared:
            made.inherited.append(Inherited(STREAMS[fd], fd))
    elif os.get_inheritable(fd):
        made.uncaptured.append(STREAMS[fd])


def _same(one: int, other: int) -> bool:
    a, b = os.fstat(one), os.fstat(other)
    return (a.st_dev, a.st_ino, a.st_rdev) == (b.st_dev, b.st_ino, b.st_rdev)


def _open(fd: int, choice: Way, folder: str | None, terminal: "Terminal") -> Channel:
    stream = STREAMS[fd]
    copy = None if folder is None else _create(os.path.join(folder, stream))
    if choice is Way.PIPE:
        source, job_end = os.pipe2(os.O_CLOEXEC)
        return Channel(stream, source, job_end, fd, copy=copy, is_pty=False)
    source, job_end = os.openpty()
    _prepare(job_end, fd, terminal)
    return Channel(stream, source, job_end, fd, copy=copy, is_pty=True)


def _create(path: str) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # the disk is full; the output still flows


def _prepare(job_end: int, real: int, terminal: "Terminal") -> None:
    """Make the pseudo-terminal look like the real one, but leave the bytes alone."""
    import termios

    try:
        settings = termios.tcgetattr(real)
    except termios.error:
        settings = termios.tcgetattr(job_end)
    # the real terminal turns \n into \r\n; doing it here too would change what is kept
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(job_end, termios.TCSANOW, settings)
    terminal.mirrors(termios.tcgetattr(job_end))
    size = terminals.window_size(real)
    if size is not None:
        terminals.set_window_size(job_end, size)
    terminal.size_changed()


def _reopen(fd: int) -> tuple[int, bool]:
    """Get a non-blocking way to write to `fd`; its own flags are shared with other processes and stay."""
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), True
    except OSError:
        return fd, False

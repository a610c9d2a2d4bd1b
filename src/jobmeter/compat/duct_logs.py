"""con-duct's four log files: named by a prefix, reserved before the job starts, filled when it has ended.

An output that is kept but not printed goes straight into its file, so that it is there whatever happens to
the recorder. One that is printed too is relayed by the recorder and copied at the end.
"""

import os
import time

from jobmeter.errors import UsageError, reason_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmeter.compat.duct_options import DuctOptions
    from jobmeter.compat.duct_record import Recorded

STREAMS = {"stdout": 1, "stderr": 2}
INFO, USAGE = "info.json", "usage.jsonl"
_BLOCK_BYTES = 1 << 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC


class ConflictError(UsageError):
    """Files of an earlier run stand where ours would."""

    exit_code = 1


class Logs:
    """The files of one run, and which outputs are kept."""

    __slots__ = ("prefix", "streams")

    def __init__(self, prefix: str, streams: tuple[str, ...]) -> None:
        self.prefix = prefix
        self.streams = streams

    @property
    def paths(self) -> list[str]:
        return [self.path(name) for name in (*STREAMS, USAGE, INFO)]

    def path(self, name: str) -> str:
        """Name one of the files."""
        return self.prefix + name

    def reserve(self, *, clobber: bool) -> None:
        """Create the files empty, as con-duct does; find out now what could not be written later."""
        standing = [path for path in self.paths if os.path.lexists(path)]
        if standing and not clobber:
            listed = "\n".join(f"- {path}" for path in standing)
            raise ConflictError(
                f"Conflicting files:\n{listed}", hint="use --clobber to overwrite conflicting files"
            )
        folder = self.prefix if self.prefix.endswith(os.sep) else os.path.dirname(self.prefix)
        try:
            if folder:
                os.makedirs(folder, exist_ok=True)
            for name in (*self.streams, USAGE, INFO):
                os.close(os.open(self.path(name), _CREATE, 0o666))
        except OSError as error:
            raise ConflictError(
                f"cannot write {self.prefix}*: {reason_of(error)}", hint="choose another -p"
            ) from None

    def remove(self) -> None:
        """Take the files away again."""
        for path in self.paths:
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue  # this output was not kept

    def write(self, name: str, pieces: "Iterable[bytes]") -> None:
        """Fill one file."""
        with open(self.path(name), "wb") as file:
            for piece in pieces:
                file.write(piece)

    def copy_outputs(self, run: "Recorded") -> None:
        """Copy the outputs that were relayed, or that went to a file of the caller's."""
        for stream, path, offset in run.outputs:
            if stream not in self.streams or not os.path.isfile(path):
                continue
            if not _same_file(path, self.path(stream)):
                _copy_from(path, offset, self.path(stream))


def _same_file(one: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(one, other)


def _copy_from(source: str, offset: int, target: str) -> None:
    with open(source, "rb") as given, open(target, "wb") as kept:
        given.seek(offset)
        while block := given.read(_BLOCK_BYTES):
            kept.write(block)


def choose(options: "DuctOptions") -> Logs:
    """Name the files of this run."""
    moment = time.strftime("%Y.%m.%dT%H.%M.%S")
    try:
        prefix = options.output_prefix.format(datetime=moment, datetime_filesafe=moment, pid=os.getpid())
    except (KeyError, IndexError, AttributeError) as error:
        field = str(error).strip("'")
        raise UsageError(
            f"unknown field in --output-prefix: {{{field}}}", hint="use {datetime} and {pid}"
        ) from None
    except ValueError as error:
        raise UsageError(f"bad --output-prefix: {error}", hint="write {{ for a brace") from None
    streams = tuple(stream for stream in STREAMS if options.captures(stream))
    return Logs(os.path.expanduser(prefix), streams)


def redirect(options: "DuctOptions", logs: Logs) -> dict[int, int]:
    """Point our own outputs where the job's shall go; returns what they were, by descriptor."""
    before: dict[int, int] = {}
    for stream, fd in STREAMS.items():
        if options.prints(stream):
            continue
        target = logs.path(stream) if options.captures(stream) else os.devnull
        before[fd] = os.dup(fd)
        opened = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.dup2(opened, fd)
        os.close(opened)
    if not before and options.captures("stderr") and os.isatty(1) and os.isatty(2):
        _part_from_stdout(before)
    return before


def _part_from_stdout(before: dict[int, int]) -> None:
    """Name the terminal otherwise for stderr: two outputs that are one object would be kept as one."""
    try:
        opened = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return  # not our controlling terminal: both are kept in _stdout
    before[2] = os.dup(2)
    os.dup2(opened, 2)
    os.close(opened)


def restore(before: dict[int, int]) -> None:
    """Put our own outputs back."""
    for fd, kept in before.items():
        os.dup2(kept, fd)
        os.close(kept)

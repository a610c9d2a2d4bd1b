"""A log without a run: its steps and its errors are all there is, and often enough to say why the job ended."""

import codecs
import contextlib
import dataclasses
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.formats import log
from jobmeter.model.report import Report
from jobmeter.model.steps import Steps
from jobmeter.model.view import RunView
from jobmeter.service import endless, log_errors, references
from jobmeter.stores import stepcolumns

_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""A text whose lines do not end where the byte of a line's end stands."""
_EMPTY = "the job wrote nothing there: it may have printed to stderr, which 2>&1 adds"
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
"""Where a shell lays what `<(command)` prints."""


def analyze(path: Path) -> tuple[RunView, Report]:
    """Analyse the text of a log file, plain or compressed, or of standard input."""
    from jobmeter.analysis import engine

    shown = view(path)
    return shown, engine.examine(shown)


def view(
    path: Path, *, first_bytes: int = log_errors.FIRST_BYTES, last_bytes: int = log_errors.LAST_BYTES
) -> RunView:
    """Show a log as a run of which only the output is known, as far as its first and last bytes tell."""
    try:
        _require_end(path)
        with _readable(path) as plain:
            if not plain.stat().st_size:
                raise UsageError(f"{_shown(path)} is empty", hint=_EMPTY)
            return _view(path, plain, first_bytes, last_bytes)
    except OSError as error:
        raise UsageError(f"cannot read {_shown(path)}: {reason_of(error)}") from None


def _shown(path: Path) -> str:
    return "standard input" if _is_stdin(path) else str(path)


def _is_stdin(path: Path) -> bool:
    return str(path) in (references.STDIN, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def _require_end(path: Path) -> None:
    """Refuse what may never end or never begin: devices, sockets, pipes with a name, files of the kernel."""
    status = os.fstat(0) if _is_stdin(path) else path.stat()
    is_given = _is_stdin(path) or str(path.parent) in _DESCRIPTORS
    if (is_given and not stat.S_ISREG(status.st_mode)) or str(path) == os.devnull:
        return
    kind = endless.kind_of(status)
    if kind is not None:
        hint = (
            f"pipe it in: cat {path} | jobmeter analyze -"
            if kind == endless.PIPE
            else "copy what you mean into a file"
        )
        raise UsageError(f"{_shown(path)} is {kind}, and may never end", hint=hint)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """Give a plain file, which can be walked over more than once: what is piped or compressed is laid out beside."""
    if _is_stdin(path) or not path.is_file():
        with tempfile.NamedTemporaryFile(prefix="jobmeter-log-") as piped:
            with open(0 if _is_stdin(path) else path, "rb", closefd=not _is_stdin(path)) as source:
                shutil.copyfileobj(source, piped)
            piped.flush()
            with _readable(Path(piped.name)) as found:
                yield found
    elif _is_gzip(path):
        with tempfile.NamedTemporaryFile(prefix="jobmeter-log-") as plain:
            plain.writelines(block for _, block in log_errors.unpacked(path))
            plain.flush()
            yield Path(plain.name)
    else:
        yield path


@contextlib.contextmanager
def _ends(path: Path, first_bytes: int, last_bytes: int) -> Iterator[Path]:
    """Cut the middle out of a log of hundreds of megabytes, as the search for errors does, which tells of it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= first_bytes + last_bytes or file.read(2) in _UTF16:
            yield path
            return
        file.seek(0)
        with tempfile.NamedTemporaryFile(prefix="jobmeter-log-") as ends:
            ends.write(file.read(first_bytes).rpartition(b"\n")[0] + b"\n")
            file.seek(size - last_bytes)
            ends.write(file.read().partition(b"\n")[2])
            ends.flush()
            yield Path(ends.name)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _view(path: Path, readable: Path, first_bytes: int, last_bytes: int) -> RunView:
    with _ends(readable, first_bytes, last_bytes) as text:
        try:
            (found,) = log.parse_named(text)
        except UsageError:
            raise UsageError(
                f"{_shown(path)} is not a text", hint="analyze reads a run or a log, plain or gzip"
            ) from None
        streams = stepcolumns.streams({path.name: found.steps})
        events = tuple(found.events)
    errors = log_errors.read_file(readable, first_bytes=first_bytes, last_bytes=last_bytes)
    tables = [
        stepcolumns.table(stream, streams[stream]) for stream in sorted(streams, key=stepcolumns.placing)
    ]
    # nobody recorded it: it goes by the name of its file
    shown = _shown(path)
    run = dataclasses.replace(found.run, run_id=shown, job_id=shown, name=shown)
    return RunView(run=run, series={}, events=events, steps=Steps(tuple(tables)), log_errors=tuple(errors))

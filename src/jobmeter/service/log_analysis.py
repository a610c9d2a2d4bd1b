"""A log without a run: its steps and its errors are all there is, and often enough to say why the job ended."""

import contextlib
import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.formats import log
from jobmeter.model.report import Report
from jobmeter.model.steps import Steps
from jobmeter.model.view import RunView
from jobmeter.service import log_errors, runs
from jobmeter.stores import stepcolumns

_GZIP = b"\x1f\x8b"


def analyze(path: Path) -> tuple[RunView, Report]:
    """Analyse the text of a log file, plain or compressed, or of standard input."""
    from jobmeter.analysis import engine

    shown = view(path)
    return shown, engine.examine(shown)


def view(path: Path) -> RunView:
    """Show a log as a run of which only the output is known."""
    try:
        with _readable(path) as plain:
            return _view(path, plain)
    except OSError as error:
        raise UsageError(f"cannot read {_shown(path)}: {reason_of(error)}") from None


def _shown(path: Path) -> str:
    return "standard input" if str(path) == runs.STDIN else str(path)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """Give a plain file, which can be walked over more than once: what is piped or compressed is laid out beside."""
    if str(path) == runs.STDIN or not path.is_file():
        with tempfile.NamedTemporaryFile(prefix="jobmeter-log-") as piped:
            with open(
                0 if str(path) == runs.STDIN else path, "rb", closefd=str(path) != runs.STDIN
            ) as source:
                shutil.copyfileobj(source, piped)
            if not piped.tell():
                raise UsageError(
                    f"{_shown(path)} is empty", hint="a job may have printed to stderr: add 2>&1"
                )
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


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _view(path: Path, readable: Path) -> RunView:
    try:
        (found,) = log.parse_named(readable)
    except UsageError:
        raise UsageError(
            f"{_shown(path)} is not a text", hint="analyze reads a run or a log, plain or gzip"
        ) from None
    errors = log_errors.read_file(readable)
    streams = stepcolumns.streams({path.name: found.steps})
    events = tuple(found.events)
    tables = [
        stepcolumns.table(stream, streams[stream]) for stream in sorted(streams, key=stepcolumns.placing)
    ]
    # nobody recorded it: it goes by the name of its file
    name = _shown(path) if str(path) == runs.STDIN else path.name
    run = dataclasses.replace(found.run, run_id=_shown(path), job_id=_shown(path), name=name)
    return RunView(run=run, series={}, events=events, steps=Steps(tuple(tables)), log_errors=tuple(errors))

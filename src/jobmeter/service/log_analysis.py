"""A log without a run: its steps and its errors are all there is, and often enough to say why the job ended."""

import dataclasses
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.formats import log
from jobmeter.model.report import Report
from jobmeter.model.steps import Steps
from jobmeter.model.view import RunView
from jobmeter.service import log_errors
from jobmeter.stores import stepcolumns


def analyze(path: Path) -> tuple[RunView, Report]:
    """Analyse the text of a log file."""
    from jobmeter.analysis import engine

    shown = view(path)
    return shown, engine.examine(shown)


def view(path: Path) -> RunView:
    """Show a log as a run of which only the output is known."""
    try:
        (found,) = log.parse_named(path)
        errors = log_errors.read_file(path)
        streams = stepcolumns.streams({path.name: found.steps})
        events = tuple(found.events)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    tables = [
        stepcolumns.table(stream, streams[stream]) for stream in sorted(streams, key=stepcolumns.placing)
    ]
    # nobody recorded it: it goes by the name of its file
    run = dataclasses.replace(found.run, run_id=str(path), job_id=str(path), name=found.run.name or path.name)
    return RunView(run=run, series={}, events=events, steps=Steps(tuple(tables)), log_errors=tuple(errors))

"""A run in ai-toolkit's own database, where its UI and its scripts look."""

from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.exporters import aitk as rows
from jobmeter.model.run import Run
from jobmeter.service import analysis, runs
from jobmeter.service.windows import Windows
from jobmeter.stores import aitk as database


def ensure_monitoring_tables(path: str) -> None:
    """Add the four monitoring tables to a database that lacks them."""
    database.ensure_monitoring_tables(Path(path))


def fill(home: str, ref: str, path: str | None) -> Run:
    """Write a run's samples, events, steps and report into a database, made where it is not there."""
    if path is None:
        raise UsageError("aitk fills a database of ai-toolkit", hint="name it: -o aitk_db.db")
    view = runs.view(home, ref)
    if view.run.folder is None:
        raise UsageError(f"{view.run.run_id} has no folder here", hint="export it where it was recorded")
    analysed = analysis.analyze(home, view.run.folder)[1] if wants_analysis(view.run) else None
    database.write(Path(path), rows.tables(view, Windows(Path(view.run.folder)), analysed))
    return view.run


def wants_analysis(run: Run) -> bool:
    """Tell whether the job's config leaves its analysis on.

    It is made when it is first asked for, not when the job ends: that would hold up the job's exit, or leave a process
    behind where a scheduler is about to clean up. The run folder has all that it needs.
    """
    wishes = run.context.get("monitoring")
    return not isinstance(wishes, dict) or wishes.get("analyze_on_complete") is not False

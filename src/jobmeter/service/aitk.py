"""A run in ai-toolkit's own database, where its UI and its scripts look."""

from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.exporters import aitk as rows
from jobmeter.model.run import Run
from jobmeter.service import runs
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
    database.write(Path(path), rows.tables(view, Windows(Path(view.run.folder))))
    return view.run

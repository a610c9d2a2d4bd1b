"""MLflow's SQLite store, `mlflow.db`: every run of every experiment.

What misleads: NaN is stored as 0 with a flag, infinity as the largest double; runs that were deleted keep their
rows and are not imported.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import figures, mlflow_run, sqlite_file, training
from jobmeter.formats.mlflow_run import Point
from jobmeter.model.imported import Imported

FORMAT = "mlflow_db"
_RUNS = """
    SELECT r.run_uuid, r.name, e.name, r.status, r.user_id, r.start_time, r.end_time
    FROM runs AS r LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
    WHERE r.lifecycle_stage IS NOT 'deleted' ORDER BY r.start_time, r.run_uuid
"""
_METRICS = (
    "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step, key"
)
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ? ORDER BY key"
_TAGS = "SELECT key, value FROM tags WHERE run_uuid = ? ORDER BY key"
_MARKS = (b"lifecycle_stage", b"run_uuid", b"experiment")


def sniff(head: bytes, name: str) -> float:
    """Claim an SQLite file by MLflow's name for it, or by its tables where they show in the first page."""
    if not head.startswith(sqlite_file.MAGIC):
        return 0.0
    if name in ("mlflow.db", "mlruns.db"):
        return 0.9
    return 0.8 if all(mark in head for mark in _MARKS) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read every run of the database."""
    with sqlite_file.opened(path) as database:
        if not {"run_uuid", "start_time"} <= database.columns("runs"):
            raise UsageError(
                f"{path.name}: no runs table in it", hint="give the database of an MLflow server"
            )
        found = [_run(database, row, path) for row in database.rows(_RUNS)]
    if not found:
        raise training.nothing("no run in it")
    return found


def _run(database: sqlite_file.Database, row: sqlite_file.Row, path: Path) -> Imported:
    run_id = str(row[0])
    run = mlflow_run.Stored(
        run_id=run_id,
        name=str(row[1] or ""),
        experiment=str(row[2] or ""),
        status=str(row[3] or ""),
        user=str(row[4] or ""),
        started_at=figures.moment(row[5]),
        ended_at=figures.moment(row[6]),
        params={str(key): str(value) for key, value in database.rows(_PARAMS, run_id)},
        tags={str(key): str(value or "") for key, value in database.rows(_TAGS, run_id)},
    )
    reading = _Metrics(database.rows(_METRICS, run_id))
    return mlflow_run.imported(FORMAT, run, reading.points(), (path,), reading)


class _Metrics:
    """The rows of one run; one that is no number or has no time is counted."""

    def __init__(self, rows: list[sqlite_file.Row]) -> None:
        self._rows = rows
        self.bad_lines = 0

    def points(self) -> Iterator[Point]:
        for key, value, timestamp, step, is_nan in self._rows:
            number, moment = figures.figure(value), figures.moment(timestamp)
            if number is None or moment is None:
                self.bad_lines += 1
                continue
            yield Point(
                name=str(key),
                step=figures.whole(step) or 0,
                timestamp=moment,
                value=float("nan") if is_nan else _endless(number),
            )


def _endless(value: float) -> float:
    if abs(value) != sys.float_info.max:
        return value
    return float("inf") if value > 0 else float("-inf")

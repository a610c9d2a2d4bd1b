"""The monitoring tables in ai-toolkit's own database, `aitk_db.db`.

The database belongs to ai-toolkit and may be in use: tables are added when missing, no other table is
looked at, and the rows of a run replace the earlier ones of the same run in one transaction. A job that was
started again has the rows of all its runs: they are told apart by time.
"""

from collections.abc import Callable, Iterable
from dataclasses import astuple
from pathlib import Path

import apsw

from jobmeter.errors import StoreError
from jobmeter.model.aitk import EventRow, Report, Sample, StepRow, Tables

_BUSY_MS = 10_000

CREATE_MONITORING_TABLES_SQL = """
CREATE TABLE IF NOT EXISTS MetricsSample (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  timestamp REAL NOT NULL,
  total_memory_gb REAL,
  used_memory_gb REAL,
  available_memory_gb REAL,
  swap_used_gb REAL,
  main_process_memory_gb REAL,
  worker_memory_gb REAL,
  worker_count INTEGER,
  gpu_memory_used_gb REAL,
  gpu_utilization_percent REAL,
  cpu_utilization_percent REAL
);
CREATE TABLE IF NOT EXISTS TrainingEvent (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  timestamp REAL NOT NULL,
  event_type TEXT NOT NULL,
  details TEXT,
  memory_snapshot_id INTEGER,
  FOREIGN KEY (memory_snapshot_id) REFERENCES MetricsSample(id)
);
CREATE TABLE IF NOT EXISTS StepMetric (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  step INTEGER NOT NULL,
  timestamp REAL NOT NULL,
  loss REAL,
  batch_size INTEGER,
  gradient_norm REAL,
  learning_rate REAL,
  step_time_seconds REAL
);
CREATE TABLE IF NOT EXISTS AnalysisReport (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  created_at REAL NOT NULL,
  summary JSON NOT NULL,
  recommendations JSON NOT NULL,
  log_errors JSON,
  peak_memory_gb REAL,
  health_score TEXT
);
CREATE INDEX IF NOT EXISTS MetricsSample_job ON MetricsSample (job_id, timestamp);
CREATE INDEX IF NOT EXISTS TrainingEvent_job ON TrainingEvent (job_id, timestamp);
CREATE INDEX IF NOT EXISTS StepMetric_job ON StepMetric (job_id, step);
CREATE INDEX IF NOT EXISTS AnalysisReport_job ON AnalysisReport (job_id);
"""

_FORGET = (
    "DELETE FROM TrainingEvent WHERE job_id = ? AND timestamp BETWEEN ? AND ?",
    "DELETE FROM StepMetric WHERE job_id = ? AND timestamp BETWEEN ? AND ?",
    "DELETE FROM AnalysisReport WHERE job_id = ? AND created_at BETWEEN ? AND ?",
    "DELETE FROM MetricsSample WHERE job_id = ? AND timestamp BETWEEN ? AND ?",
)
_SAMPLE_ADD = """INSERT INTO MetricsSample
        (job_id, timestamp, total_memory_gb, used_memory_gb, available_memory_gb, swap_used_gb,
         main_process_memory_gb, worker_memory_gb, worker_count, gpu_memory_used_gb,
         gpu_utilization_percent, cpu_utilization_percent)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_EVENT_ADD = """INSERT INTO TrainingEvent (job_id, timestamp, event_type, details, memory_snapshot_id)
    VALUES (?, ?, ?, ?, ?)"""
_STEP_ADD = """INSERT INTO StepMetric
        (job_id, step, timestamp, loss, batch_size, gradient_norm, learning_rate, step_time_seconds)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_REPORT_ADD = """INSERT INTO AnalysisReport
        (job_id, created_at, summary, recommendations, log_errors, peak_memory_gb, health_score)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""


def ensure_monitoring_tables(path: Path) -> None:
    """Add the four tables to a database that lacks them."""
    _within(path, lambda _: None)


def write(path: Path, tables: Tables) -> None:
    """Put the rows of a run in place of those that are there of it."""
    _within(path, lambda connection: _fill(connection, tables))


def _within(path: Path, work: Callable[[apsw.Connection], None]) -> None:
    try:
        connection = apsw.Connection(str(path))
        try:
            connection.set_busy_timeout(_BUSY_MS)
            with connection:
                connection.execute(CREATE_MONITORING_TABLES_SQL)
                work(connection)
        finally:
            connection.close()
    except (apsw.Error, UnicodeEncodeError) as error:  # SQLite's names of files are UTF-8
        raise StoreError(
            f"cannot write {path}: {error}", hint="name ai-toolkit's aitk_db.db, or a file that is not there"
        ) from None


def _fill(connection: apsw.Connection, tables: Tables) -> None:
    for statement in _FORGET:
        connection.execute(statement, (tables.job_id, tables.begin, tables.end))
    ids = [_add_sample(connection, tables.job_id, sample) for sample in tables.samples]
    connection.executemany(_EVENT_ADD, (_event(tables.job_id, row, ids) for row in tables.events))
    connection.executemany(_STEP_ADD, _rows(tables.job_id, tables.steps))
    connection.executemany(_REPORT_ADD, _rows(tables.job_id, [tables.report]))


def _add_sample(connection: apsw.Connection, job_id: str, sample: Sample) -> int:
    connection.execute(_SAMPLE_ADD, (job_id, *astuple(sample)))
    return int(connection.last_insert_rowid())


def _event(job_id: str, row: EventRow, ids: list[int]) -> tuple[object, ...]:
    taken = None if row.sample is None else ids[row.sample]
    return job_id, row.timestamp, row.event_type, row.details, taken


def _rows(job_id: str, found: Iterable[StepRow | Report]) -> Iterable[tuple[object, ...]]:
    return ((job_id, *astuple(row)) for row in found)

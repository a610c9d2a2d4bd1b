"""ai-toolkit's databases, made with its own statements, while a writer holds them and after it died."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import aitk_db, aitk_loss
from jobmeter.model.run import Status

LOSS_SCHEMA = """
CREATE TABLE IF NOT EXISTS steps (step INTEGER PRIMARY KEY, wall_time REAL NOT NULL);
CREATE TABLE IF NOT EXISTS metric_keys (key TEXT PRIMARY KEY, first_seen_step INTEGER, last_seen_step INTEGER);
CREATE TABLE IF NOT EXISTS metrics (step INTEGER NOT NULL, key TEXT NOT NULL, value_real REAL, value_text TEXT,
    PRIMARY KEY (step, key), FOREIGN KEY (step) REFERENCES steps(step) ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS idx_metrics_key_step ON metrics (key, step);
"""
JOB_SCHEMA = """
CREATE TABLE "Job" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "gpu_ids" TEXT NOT NULL,
    "job_config" TEXT NOT NULL, "created_at" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" DATETIME NOT NULL, "status" TEXT NOT NULL DEFAULT 'stopped', "stop" BOOLEAN NOT NULL DEFAULT false,
    "step" INTEGER NOT NULL DEFAULT 0, "total_steps" INTEGER, "info" TEXT NOT NULL DEFAULT '',
    "speed_string" TEXT NOT NULL DEFAULT '', "pid" INTEGER, "job_type" TEXT NOT NULL DEFAULT 'train');
CREATE TABLE "Queue" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, "gpu_ids" TEXT NOT NULL);
"""


def open_log(folder: Path) -> sqlite3.Connection:
    """Open the log as the trainer does: write-ahead, and nothing committed to the file itself yet."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / "loss_log.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(LOSS_SCHEMA)
    return connection


def log(connection: sqlite3.Connection, step: int, **values: float | str | None) -> None:
    connection.execute("INSERT OR REPLACE INTO steps VALUES (?, ?)", (step, 1700000000.5 + step))
    for key, value in values.items():
        real, text = (None, value) if isinstance(value, str) else (value, None)
        connection.execute("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?)", (step, key, real, text))


def write(folder: Path, steps: int) -> Path:
    connection = open_log(folder)
    for step in range(steps):
        log(connection, step, **{"loss/loss": 1 / (step + 1), "learning_rate": 1e-4})
    connection.close()
    return folder / "loss_log.db"


def test_the_log_gives_its_steps_with_their_times(tmp_path: Path) -> None:
    path = write(tmp_path / "my_lora", 3)
    (tmp_path / "my_lora" / ".job_config.json").write_text(
        '{"job": "extension", "config": {"name": "my lora"}}'
    )
    (tmp_path / "my_lora" / "my_lora_000000002.safetensors").write_bytes(b"x" * 5)
    (tmp_path / "my_lora" / "my_lora.safetensors").write_bytes(b"x" * 6)
    (tmp_path / "my_lora" / "optimizer.pt").write_bytes(b"x")
    assert formats.recognise(path) == "aitk_loss"
    (run,) = aitk_loss.parse(path)
    assert [(step.step, step.timestamp) for step in run.steps] == [
        (0, 1700000000.5),
        (1, 1700000001.5),
        (2, 1700000002.5),
    ]
    assert next(iter(run.steps)).metrics == {"learning_rate": 1e-4, "loss/loss": 1.0}
    assert run.run.name == "my lora"
    assert run.run.context["config"] == {"job": "extension", "config": {"name": "my lora"}}
    assert [(event.details.get("step"), event.details["bytes"]) for event in run.events] == [
        (2, 5),
        (None, 6),
    ]


def test_a_log_that_is_being_written_is_read_whole_and_left_as_it_is(tmp_path: Path) -> None:
    connection = open_log(tmp_path / "job")
    log(connection, 1, loss=0.5)
    before = {
        path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in (tmp_path / "job").iterdir()
    }
    assert {"loss_log.db", "loss_log.db-wal", "loss_log.db-shm"} == set(before)
    (run,) = aitk_loss.parse(tmp_path / "job" / "loss_log.db")
    assert [step.metrics for step in run.steps] == [{"loss": 0.5}]
    after = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in (tmp_path / "job").iterdir()}
    assert after == before
    log(connection, 2, loss=0.25)
    connection.close()
    (later,) = aitk_loss.parse(tmp_path / "job" / "loss_log.db")
    assert [step.step for step in later.steps] == [1, 2]


def test_a_log_whose_writer_was_killed_keeps_what_is_in_its_write_ahead_log(tmp_path: Path) -> None:
    connection = open_log(tmp_path / "job")
    log(connection, 1, loss=0.5)
    copied = tmp_path / "after"
    copied.mkdir()
    for name in ("loss_log.db", "loss_log.db-wal"):
        (copied / name).write_bytes((tmp_path / "job" / name).read_bytes())
    connection.close()
    (run,) = aitk_loss.parse(copied / "loss_log.db")
    assert [step.step for step in run.steps] == [1]
    assert sorted(os.listdir(copied)) == ["loss_log.db", "loss_log.db-wal"]


def test_a_log_in_a_folder_that_may_not_be_written_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "job", 2)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    (run,) = aitk_loss.parse(path)
    assert len(list(run.steps)) == 2
    assert os.listdir(path.parent) == ["loss_log.db"]


def test_a_nan_loss_is_absent_and_said_to_be(tmp_path: Path) -> None:
    connection = open_log(tmp_path / "job")
    log(connection, 1, loss=float("nan"), lr=0.1, note="warm-up")
    connection.close()
    (run,) = aitk_loss.parse(tmp_path / "job" / "loss_log.db")
    assert [step.metrics for step in run.steps] == [{"lr": 0.1}]
    assert run.run.provenance.missing == {"values": "1 values are NULL: SQLite keeps NaN as that"}


def test_the_same_steps_are_the_same_run_before_and_after_a_checkpoint(tmp_path: Path) -> None:
    connection = open_log(tmp_path / "job")
    log(connection, 1, loss=0.5)
    (during,) = aitk_loss.parse(tmp_path / "job" / "loss_log.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    (after,) = aitk_loss.parse(tmp_path / "job" / "loss_log.db")
    assert during.run.run_id == after.run.run_id


def test_an_empty_or_damaged_log_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no step was logged"):
        aitk_loss.parse(write(tmp_path / "job", 0))
    path = tmp_path / "loss_log.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(UsageError, match=r"loss_log\.db"):
        aitk_loss.parse(path)


def jobs(path: Path, *rows: tuple[object, ...]) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(JOB_SCHEMA)
    for row in rows:
        connection.execute(
            'INSERT INTO "Job" (id, name, gpu_ids, job_config, created_at, updated_at, status, step, total_steps,'
            " info, speed_string) VALUES (?, ?, '0', ?, ?, ?, ?, ?, 500, ?, '1.22 iter/sec')",
            row,
        )
    connection.commit()
    connection.close()
    return path


CONFIG = json.dumps({"job": "extension", "config": {"name": "a", "process": [{"training_folder": "out"}]}})


def test_jobs_that_began_are_runs_and_take_their_steps_from_their_output(tmp_path: Path) -> None:
    path = jobs(
        tmp_path / "aitk_db.db",
        ("1", "a", CONFIG, 1700000000000, 1700000060000, "completed", 500, "Training"),
        ("2", "b", "{}", "2023-11-14 22:13:20", "2023-11-14 22:14:20", "error", 7, "CUDA out of memory"),
        ("3", "c", "{}", 1700000000000, 1700000000000, "queued", 0, ""),
        ("4", "d", "{}", 1700000000000, 1700000000000, "running", 3, ""),
        ("5", "../e", "{}", 1700000000000, 1700000000000, "stopped", 3, ""),
    )
    loss_log = write(tmp_path / "out" / "a", 4)
    assert formats.recognise(path) == "aitk_db"
    runs = {run.run.name: run for run in aitk_db.parse(path)}
    assert sorted(runs, key=str) == ["../e", "a", "b", "d"]
    assert len(list(runs["a"].steps)) == 4
    assert runs["a"].sources == (path, loss_log)
    assert (runs["a"].run.status, runs["a"].run.wall_seconds) == (Status.COMPLETED, 60.0)
    assert runs["a"].run.results == {"step": 500, "total_steps": 500, "speed_string": "1.22 iter/sec"}
    assert runs["a"].run.context["config"] == json.loads(CONFIG)
    assert (runs["b"].run.status, runs["b"].run.started_at) == (Status.FAILED, 1700000000.0)
    assert "steps" in runs["b"].run.provenance.missing
    assert runs["d"].run.status is Status.LOST
    assert runs["../e"].run.status is Status.CANCELLED


def test_a_database_of_jobs_that_never_began_is_one_sentence(tmp_path: Path) -> None:
    path = jobs(tmp_path / "aitk_db.db", ("3", "c", "{}", 1700000000000, 1700000000000, "queued", 0, ""))
    with pytest.raises(UsageError, match="no job in it ever began"):
        aitk_db.parse(path)

"""MLflow's two stores as MLflow 3.17 lays them out; its SQLite schema is copied from a database it made."""

import math
import sqlite3
import sys
from pathlib import Path

import pytest

from jobmeter import formats
from jobmeter.errors import UsageError
from jobmeter.formats import mlflow, mlflow_db
from jobmeter.model.run import Status

RUN_ID = "dfbacf78760e48f28330666777f16b5d"
SCHEMA = """
CREATE TABLE "experiments" (experiment_id INTEGER NOT NULL, name VARCHAR(256) NOT NULL,
    artifact_location VARCHAR(256), lifecycle_stage VARCHAR(32), creation_time BIGINT, last_update_time BIGINT);
CREATE TABLE "runs" (run_uuid VARCHAR(32) NOT NULL, name VARCHAR(250), source_type VARCHAR(20),
    source_name VARCHAR(500), entry_point_name VARCHAR(50), user_id VARCHAR(256), status VARCHAR(9),
    start_time BIGINT, end_time BIGINT, source_version VARCHAR(50), lifecycle_stage VARCHAR(20),
    artifact_uri VARCHAR(200), experiment_id INTEGER, deleted_time BIGINT);
CREATE TABLE "metrics" ("key" VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
    run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL);
CREATE TABLE "params" ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL);
CREATE TABLE "tags" ("key" VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32) NOT NULL);
"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def meta(folder: Path, run_id: str = RUN_ID, status: int = 3, stage: str = "active") -> Path:
    return put(
        folder / run_id / "meta.yaml",
        f"artifact_uri: file:///x/artifacts\nend_time: 1794785642910\nexperiment_id: '1'\nlifecycle_stage: {stage}\n"
        f"run_id: {run_id}\nrun_name: run-a\nstart_time: 1794785642888\nstatus: {status}\nuser_id: root\n",
    )


def experiment(folder: Path) -> Path:
    return put(
        folder / "meta.yaml",
        "artifact_location: file:///x\nexperiment_id: '1'\nlifecycle_stage: active\nname: exp one\n",
    )


def test_a_run_folder_gives_metrics_params_tags_and_its_end(tmp_path: Path) -> None:
    experiment(tmp_path)
    path = meta(tmp_path)
    run_folder = path.parent
    put(run_folder / "metrics" / "train" / "loss", "1794785642899 1.0 0\n1794785642900 nan 10\nrubbish\n")
    put(run_folder / "metrics" / "acc", "1794785642899 0.25 0 data 1234\n1794785642900 inf 10")
    put(run_folder / "metrics" / "old", "1794785642905 3.5\n")
    put(run_folder / "params" / "model" / "layers", "4")
    put(run_folder / "params" / "note", "two\nlines")
    put(run_folder / "tags" / "mlflow.note.content", "why")
    put(run_folder / "tags" / "mlflow.source.git.commit", "abc")
    put(run_folder / "tags" / "team", "x")
    (found,) = mlflow.parse(path)
    run = found.run
    assert (run.name, run.project, run.message, run.tags, run.user) == (
        "run-a",
        "exp one",
        "why",
        {"team": "x"},
        "root",
    )
    assert (run.status, run.started_at, run.ended_at, run.wall_seconds) == (
        Status.COMPLETED,
        1794785642.888,
        1794785642.91,
        0.022,
    )
    assert run.context["config"] == {"model/layers": 4, "note": "two\nlines"}
    assert run.context["git"] == {"commit": "abc"}
    first, second, third = found.steps
    assert (first.step, first.timestamp, first.metrics) == (
        0,
        1794785642.899,
        {"train/loss": 1.0, "acc": 0.25},
    )
    assert math.isnan(second.metrics["train/loss"])
    assert second.metrics["acc"] == math.inf
    assert (third.step, third.metrics) == (0, {"old": 3.5})
    assert run.provenance.dropped == {"lines": 1}


def test_system_metrics_are_windows_because_their_steps_count_samples(tmp_path: Path) -> None:
    path = meta(tmp_path)
    system = path.parent / "metrics" / "system"
    put(system / "gpu_0_utilization_percentage", "1794785642899 91.0 0\n")
    put(system / "system_memory_usage_megabytes", "1794785642899 2.5 0\n")
    put(system / "cpu_utilization_percentage", "1794785642899 50.0 0\n1794785643899 70.0 1\n")
    (found,) = mlflow.parse(path)
    assert list(found.steps) == []
    first, second = found.windows
    assert first.values == {
        ("mlflow_gpu_utilization_percentage", "0"): 91.0,
        ("mlflow_system_memory_usage", ""): 2500000,
        ("mlflow_cpu_utilization_percentage", ""): 50.0,
    }
    assert second.timestamp == 1794785643.899
    assert found.run.summary["mlflow_mean_cpu_utilization_percentage"] == 60.0


@pytest.mark.parametrize(
    ("status", "expected"),
    [(1, Status.LOST), (3, Status.COMPLETED), (4, Status.FAILED), (5, Status.KILLED), (9, Status.LOST)],
)
def test_a_status_is_taken_over_and_running_is_not_believed(
    tmp_path: Path, status: int, expected: Status
) -> None:
    (found,) = mlflow.parse(meta(tmp_path, status=status))
    assert found.run.status is expected


def test_an_experiment_gives_all_its_runs_but_deleted_ones(tmp_path: Path) -> None:
    path = experiment(tmp_path)
    for run_id, stage in (("a" * 32, "active"), ("b" * 32, "deleted"), ("c" * 32, "active")):
        meta(tmp_path, run_id, stage=stage)
        put(tmp_path / run_id / "metrics" / "loss", "1794785642899 1.0 0\n")
    assert [found.run.context["mlflow"] for found in mlflow.parse(path)] == [
        {"run_id": "a" * 32},
        {"run_id": "c" * 32},
    ]


def test_an_experiment_without_runs_and_a_damaged_run_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run in experiment exp one"):
        mlflow.parse(experiment(tmp_path))
    with pytest.raises(UsageError, match="damaged"):
        mlflow.parse(put(tmp_path / "x" / "meta.yaml", "run_id: [\nartifact_uri: x\n"))


def test_a_metric_file_on_its_own_is_a_run_of_one_metric(tmp_path: Path) -> None:
    path = put(tmp_path / "loss", "1633448439785 2.5 10\r\n1633448453571 2.25 20\r\n")
    assert formats.recognise(path) == "mlflow"
    (found,) = mlflow.parse(path)
    assert [(step.step, step.metrics) for step in found.steps] == [(10, {"loss": 2.5}), (20, {"loss": 2.25})]


def database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO experiments (experiment_id, name) VALUES (1, 'exp one')")
    runs = [
        ("r1", "good", "FINISHED", "active"),
        ("r2", "bad", "FAILED", "active"),
        ("r3", "gone", "FINISHED", "deleted"),
    ]
    for place, (run_id, name, status, stage) in enumerate(runs):
        connection.execute(
            "INSERT INTO runs (run_uuid, name, user_id, status, start_time, end_time, lifecycle_stage, experiment_id)"
            " VALUES (?, ?, 'root', ?, ?, ?, ?, 1)",
            (run_id, name, status, 1794785644000 + place, 1794785645500 + place, stage),
        )
    largest = sys.float_info.max
    points = [("loss", 0.1, 10, 0), ("loss", 0.0, 20, 1), ("up", largest, 20, 0), ("down", -largest, 20, 0)]
    for key, value, step, is_nan in points:
        connection.execute(
            "INSERT INTO metrics (key, value, timestamp, run_uuid, step, is_nan) VALUES (?, ?, ?, 'r1', ?, ?)",
            (key, value, 1794785644100 + step, step, is_nan),
        )
    connection.execute("INSERT INTO params VALUES ('lr', '0.001', 'r1')")
    connection.execute("INSERT INTO tags VALUES ('mlflow.runName', 'good', 'r1'), ('team', 'x', 'r1')")
    connection.commit()
    connection.close()
    return path


def test_a_database_gives_every_run_with_nan_and_infinity_restored(tmp_path: Path) -> None:
    path = database(tmp_path / "mlflow.db")
    assert formats.recognise(path) == "mlflow_db"
    good, bad = mlflow_db.parse(path)
    first, second = good.steps
    assert (first.step, first.timestamp, first.metrics) == (10, 1794785644.11, {"loss": 0.1})
    assert math.isnan(second.metrics.pop("loss"))
    assert second.metrics == {"up": math.inf, "down": -math.inf}
    assert (good.run.name, good.run.project, good.run.wall_seconds) == ("good", "exp one", 1.5)
    assert good.run.context["config"] == {"lr": 0.001}
    assert good.run.tags == {"team": "x"}
    assert (bad.run.status, list(bad.steps)) == (Status.FAILED, [])
    assert good.run.run_id != bad.run.run_id


def test_a_database_that_is_no_mlflow_or_is_damaged_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match="no runs table"):
        mlflow_db.parse(path)
    whole = database(tmp_path / "whole.db").read_bytes()
    for size in (100, 5000, 9000):
        path.write_bytes(whole[:size])
        with pytest.raises(UsageError, match=r"mlflow\.db"):
            mlflow_db.parse(path)

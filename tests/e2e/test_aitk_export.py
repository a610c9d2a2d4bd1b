"""An ai-toolkit job from its start to the rows in its own database: real forks, its real progress lines."""

import json
import sqlite3
import sys
from pathlib import Path

import pytest

from jobmeter.compat.aitk import ensure_monitoring_tables
from support.commands import Answer, jobmeter
from support.recorder import Finished, Home

HELD_BYTES = 200 << 20
STEPS = 24
SCRIPT = """
import multiprocessing, os, sys, time

STEPS, HELD_BYTES = 24, 200 << 20

def load(trainer):
    held = bytearray(HELD_BYTES)
    for at in range(0, HELD_BYTES, 4096):
        held[at] = 1
    while os.getppid() == trainer:
        sum(range(20_000))
        time.sleep(0.01)

def draw(step):
    done = 10 * step // STEPS
    clock = f"00:{step:02}<00:09,  6.12it/s" if step else "00:10<?, ?it/s"
    said = f"lr: {1e-4:.1e} loss: {0.5 / (step + 1):.3e}"
    bar = f"{'#' * done}{' ' * (10 - done)}"
    sys.stderr.write(f"\\rlora: {100 * step // STEPS:3}%|{bar}| {step}/{STEPS} [{clock}, {said}]")
    sys.stderr.flush()

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=load, args=(os.getpid(),), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    for step in range(STEPS + 1):
        time.sleep(0.15)
        if str(step) == os.environ.get("KILLED_AT"):
            os.kill(os.getpid(), 9)
        draw(step)
        if step == 8:
            for image in range(3):
                sys.stderr.write(f"\\rGenerating Images:  50%|#####     | {image}/2 [00:01<00:01,  9.00it/s]")
                time.sleep(0.05)
            sys.stderr.write("\\r" + " " * 60 + "\\r")
        if step == 12:
            print("\\nSaving at step 12\\nSaved checkpoint to out/lora/lora_000000012.safetensors", flush=True)
        if step == 16:
            print("\\n# OOM during training step, skipping batch 1/3 #", flush=True)
    print(flush=True)
    for worker in workers:
        worker.terminate()
"""
CONFIG = """
job: extension
config:
  name: lora
  process:
    - type: sd_trainer
      training_folder: out
      monitoring: {sample_interval_seconds: 0.25}
      train: {batch_size: 4}
"""
JOB = "5d3f-77"
TABLES = {
    "MetricsSample": "SELECT * FROM MetricsSample ORDER BY id",
    "TrainingEvent": "SELECT * FROM TrainingEvent ORDER BY id",
    "StepMetric": "SELECT * FROM StepMetric ORDER BY id",
    "AnalysisReport": "SELECT * FROM AnalysisReport ORDER BY id",
}


def train(home: Home, folder: Path, **environ: str) -> Finished:
    (folder / "run.py").write_text(SCRIPT)
    (folder / "cfg.yml").write_text(CONFIG)
    command = ("-q", sys.executable, "run.py", "cfg.yml")
    return home.run(*command, cwd=folder, env=home.environ(AITK_JOB_ID=JOB, **environ))


def export(home: Home, database: Path) -> Answer:
    return jobmeter(home.path, "export", "last", "--format", "aitk", "-o", str(database))


def rows(database: Path, table: str) -> list[sqlite3.Row]:
    connection = sqlite3.connect(database)
    connection.row_factory = sqlite3.Row
    try:
        return connection.execute(TABLES[table]).fetchall()
    finally:
        connection.close()


def of_ai_toolkit(path: Path) -> Path:
    """Make the database as ai-toolkit has it before anybody watches."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE Job (id TEXT PRIMARY KEY, name TEXT, status TEXT)")
        connection.execute("INSERT INTO Job VALUES (?, 'lora', 'running')", (JOB,))
    connection.close()
    return path


def test_a_training_is_in_all_four_tables(home: Home, tmp_path: Path) -> None:
    assert train(home, tmp_path).code == 0
    database = of_ai_toolkit(tmp_path / "aitk_db.db")
    done = export(home, database)
    assert (done.code, done.text) == (0, f"{database}\n")
    connection = sqlite3.connect(database)
    assert connection.execute("SELECT * FROM Job").fetchall() == [(JOB, "lora", "running")]
    connection.close()

    samples = rows(database, "MetricsSample")
    assert {row["job_id"] for row in samples} == {JOB}
    # while both hold all they allocate, in the middle of the run
    middle = samples[len(samples) // 2]
    assert middle["worker_count"] == 2
    assert middle["worker_memory_gb"] * 2**30 == pytest.approx(2 * HELD_BYTES, rel=0.15)
    assert 0 < middle["main_process_memory_gb"] < 0.1
    assert 0 < middle["used_memory_gb"] < middle["total_memory_gb"]
    assert middle["used_memory_gb"] + middle["available_memory_gb"] == pytest.approx(
        middle["total_memory_gb"]
    )
    assert 0 < middle["cpu_utilization_percent"] <= 100
    assert (middle["gpu_memory_used_gb"], middle["gpu_utilization_percent"]) == (None, None)

    steps = rows(database, "StepMetric")
    printed = [(step, float(f"{0.5 / (step + 1):.3e}"), 1e-4) for step in range(STEPS + 1)]
    assert [(row["step"], row["loss"], row["learning_rate"]) for row in steps] == printed
    assert {row["batch_size"] for row in steps} == {4}
    assert steps[5]["step_time_seconds"] == pytest.approx(1 / 6.12)
    assert {row["gradient_norm"] for row in steps} == {None}
    assert (
        samples[0]["timestamp"]
        <= steps[0]["timestamp"]
        < steps[-1]["timestamp"]
        <= samples[-1]["timestamp"] + 1
    )

    events = rows(database, "TrainingEvent")
    told = {row["event_type"]: json.loads(row["details"]) for row in events}
    assert list(told) == [
        "training_start",
        "sampling_start",
        "sampling_end",
        "checkpoint_saved",
        "oom",
        "training_end",
    ]
    assert (told["sampling_start"]["step"], told["sampling_start"]["images"]) == (8, 2)
    assert told["checkpoint_saved"]["step"] == 12
    assert told["oom"]["skipped_batches"] == 1
    by_id = {row["id"]: row["timestamp"] for row in samples}
    for row in events[1:]:
        assert by_id[row["memory_snapshot_id"]] <= row["timestamp"]
        assert json.loads(row["details"])["config"]["config"]["process"][0]["train"] == {"batch_size": 4}

    (report,) = rows(database, "AnalysisReport")
    assert (report["recommendations"], report["log_errors"]) == ("[]", None)
    summary = json.loads(report["summary"])
    assert (summary["training_completed"], summary["steps_completed"]) == (True, STEPS)
    assert report["health_score"] == "critical"  # a batch did not fit
    assert report["peak_memory_gb"] == max(row["used_memory_gb"] for row in samples)

    before = {
        table: [tuple(row)[1:] for row in rows(database, table)]
        for table in TABLES
        if table != "TrainingEvent"
    }
    assert export(home, database).code == 0
    again = {table: [tuple(row)[1:] for row in rows(database, table)] for table in before}
    assert again == before
    assert len(rows(database, "TrainingEvent")) == 6


def test_a_killed_training_is_an_error_and_its_steps_are_there(home: Home, tmp_path: Path) -> None:
    assert train(home, tmp_path, KILLED_AT="10").code == 128 + 9
    database = tmp_path / "new.db"
    assert export(home, database).code == 0
    events = rows(database, "TrainingEvent")
    told = {row["event_type"]: json.loads(row["details"]) for row in events}
    assert "training_end" not in told
    assert told["training_error"]["signal"] == "SIGKILL"
    assert [row["step"] for row in rows(database, "StepMetric")] == list(range(10))
    (report,) = rows(database, "AnalysisReport")
    assert json.loads(report["summary"])["training_completed"] is False


def test_a_job_that_was_started_again_keeps_the_rows_of_both_runs(home: Home, tmp_path: Path) -> None:
    database = tmp_path / "aitk_db.db"
    for killed_at in ("4", "6"):
        train(home, tmp_path, KILLED_AT=killed_at)
        assert export(home, database).code == 0
    assert [row["step"] for row in rows(database, "StepMetric")] == [*range(4), *range(6)]
    assert len(rows(database, "AnalysisReport")) == 2


def test_the_tables_can_be_made_beforehand(tmp_path: Path) -> None:
    database = of_ai_toolkit(tmp_path / "aitk_db.db")
    ensure_monitoring_tables(str(database))
    ensure_monitoring_tables(str(database))
    assert [rows(database, table) for table in TABLES] == [[], [], [], []]


def test_an_export_without_a_database_says_so(home: Home) -> None:
    assert home.run("-q", "true").code == 0
    done = jobmeter(home.path, "export", "last", "--format", "aitk")
    assert (done.code, done.complaint) == (
        2,
        "jobmeter: aitk fills a database of ai-toolkit\nhint: name it: -o aitk_db.db\n",
    )


def test_a_name_that_sqlite_cannot_hold_is_said_in_a_sentence(home: Home, tmp_path: Path) -> None:
    assert home.run("-q", "true").code == 0
    name = bytes(tmp_path) + b"/caf\xe9.db"
    done = jobmeter(home.path, "export", "last", "--format", "aitk", "-o", name)
    assert done.code == 2
    assert "cannot write" in done.complaint
    assert "Traceback" not in done.complaint


def test_a_file_that_is_no_database_is_left_alone(home: Home, tmp_path: Path) -> None:
    assert home.run("-q", "true").code == 0
    (tmp_path / "notes.txt").write_text(
        "not a database, by far, and longer than a header of one hundred bytes" * 3
    )
    before = (tmp_path / "notes.txt").read_bytes()
    done = export(home, tmp_path / "notes.txt")
    assert done.code != 0
    assert "cannot write" in done.complaint
    assert "Traceback" not in done.complaint
    assert (tmp_path / "notes.txt").read_bytes() == before

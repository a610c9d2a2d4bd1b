"""Any text that a job printed, as a run."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.formats import log
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status


def written(folder: Path, text: str | bytes, name: str = "train.log") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def imported(path: Path) -> Imported:
    (run,) = log.parse(path)
    return run


def test_a_summary_row_ends_the_run_and_gives_its_results(tmp_path: Path) -> None:
    row = "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 1.0}\n"
    text = row + "{'train_runtime': 2.5, 'train_loss': 0.4, 'epoch': 1.0}\n"
    run = imported(written(tmp_path, text)).run
    assert run.status is Status.COMPLETED
    assert run.results == {"train_runtime": 2.5, "train_loss": 0.4, "epoch": 1.0}
    assert run.provenance.inexact["steps"].startswith("rows are counted")


def test_an_error_after_the_last_step_is_how_the_run_ended(tmp_path: Path) -> None:
    text = "step: 1/2 loss: 0.5\nTraceback (most recent call last):\nValueError: x\n"
    assert imported(written(tmp_path, text)).run.status is Status.FAILED


def test_an_error_before_the_last_step_was_survived(tmp_path: Path) -> None:
    text = "Traceback (most recent call last):\nValueError: x\nstep: 1/2 loss: 0.5\nstep: 2/2 loss: 0.4\n"
    assert imported(written(tmp_path, text)).run.status is Status.COMPLETED


def test_an_error_that_much_text_follows_was_survived(tmp_path: Path) -> None:
    text = "Traceback (most recent call last):\nValueError: x\n" + "GET /index.html 200\n" * 5_000
    assert imported(written(tmp_path, text)).run.status is Status.LOST


def test_a_log_that_just_stops_is_lost(tmp_path: Path) -> None:
    assert imported(written(tmp_path, "step: 1/9 loss: 0.5\n")).run.status is Status.LOST


def test_the_text_is_the_output_of_the_run(tmp_path: Path) -> None:
    path = written(tmp_path, "step: 1/9 loss: 0.5\n")
    assert imported(path).outputs == {"stdout": path}
    assert imported(path).run.name == "train.log"


def test_the_same_text_is_the_same_run_under_any_name(tmp_path: Path) -> None:
    text = "2025-01-04 17:18:04 step: 1/9 loss: 0.5\n"
    one, other = (imported(written(tmp_path, text, name)) for name in ("a.log", "b.log"))
    assert one.run.run_id == other.run.run_id
    assert one.run.run_id.startswith("20250104T171804Z-")


def test_windows_redirections_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "step: 1/9 loss: 0.5\r\nstep: 2/9 loss: 0.4 größer\r\n".encode("utf-16"))
    assert log.sniff(path.read_bytes()[:4096], path.name) == 0.25
    assert [step.step for step in imported(path).steps] == [1, 2]


def test_text_without_steps_is_refused_unless_named(tmp_path: Path) -> None:
    path = written(tmp_path, "hello\n")
    with pytest.raises(UsageError, match="no steps of a training") as refused:
        log.parse(path)
    assert refused.value.hint == f"jobmeter import log {path} keeps its text"
    (run,) = log.parse_named(path)
    assert list(run.steps) == []


def test_bytes_of_a_program_are_refused_even_when_named(tmp_path: Path) -> None:
    path = written(tmp_path, bytes(range(256)) * 20)
    assert log.sniff(path.read_bytes(), path.name) == 0
    with pytest.raises(UsageError, match="not a text"):
        log.parse_named(path)


def test_an_empty_file_is_no_log(tmp_path: Path) -> None:
    path = written(tmp_path, b"")
    assert log.sniff(b"", path.name) == 0
    (run,) = log.parse_named(path)
    assert run.outputs == {}


@pytest.mark.parametrize("name", ["train.py", "README.md", "config.yaml", "state.json", "table.csv"])
def test_files_that_only_quote_a_log_are_left_alone(name: str) -> None:
    assert log.sniff(b"step: 1/9 loss: 0.5\n", name) == 0


@pytest.mark.parametrize(
    ("name", "claim"),
    [("slurm-17.out", 0.05), ("job.e123", 0.05), ("log.txt", 0.05), ("notes", 0.0), ("nohup.out", 0.05)],
)
def test_a_file_called_a_log_is_looked_into(name: str, claim: float) -> None:
    assert log.sniff(b"hello\n", name) == claim


def test_a_known_error_makes_any_text_a_log() -> None:
    assert log.sniff(b"slurmstepd: error: *** JOB 1 ON n CANCELLED ***\n", "job") == 0.15


def test_an_error_across_two_blocks_is_found(tmp_path: Path) -> None:
    padding = b"x" * ((1 << 20) - 10) + b"\n"
    path = written(tmp_path, padding + b"Traceback (most recent call last):\n")
    assert imported(path).run.status is Status.FAILED


def test_holes_left_by_a_second_writer_do_not_hide_the_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"step: 1/9 loss: 0.5\n" + bytes(3000) + b"step: 2/9 loss: 0.4\n")
    assert log.sniff(path.read_bytes()[:4096], path.name) == 0.25
    assert [step.step for step in imported(path).steps] == [1, 2]


@pytest.mark.parametrize("name", ["setup.ps1", "main.rb", "server.conf"])
def test_source_and_settings_are_no_logs_even_where_they_quote_an_error(name: str) -> None:
    assert log.sniff(b"if ($x) { 'CUDA error' }\nstep: 1 loss: 0.5\n", name) == 0.0


def test_a_script_without_an_ending_is_no_log() -> None:
    assert log.sniff(b"#!/bin/bash\n# Segmentation fault\nstep: 1 loss: 0.5\n", ".command.run") == 0.0

"""Errors in the outputs of runs: with arrival times, in order over streams, bounded, plain or compressed."""

import gzip
import json
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.run import Output, Run, Status
from jobmeter.service import log_errors
from support.failing_logs import traceback


def run_in(folder: Path, status: Status = Status.FAILED, **streams: bytes) -> Run:
    outputs = []
    for name, data in streams.items():
        (folder / name).write_bytes(data)
        outputs.append(Output(stream=name, mode="captured", path=name))
    return Run(
        run_id="r", job_id="r", status=status, command=("x",), folder=str(folder), outputs=tuple(outputs)
    )


def index(folder: Path, *marks: tuple[str, int, str]) -> None:
    (folder / "output.index").write_text("".join(json.dumps(mark) + "\n" for mark in marks))


def test_errors_of_two_streams_come_in_the_order_they_arrived(tmp_path: Path) -> None:
    late, early = b"Killed\n", traceback("ValueError: x").encode()
    run = run_in(tmp_path, stdout=late, stderr=early)
    index(
        tmp_path,
        ("stderr", len(early), "2025-01-01T10:00:01Z"),
        ("stdout", len(late), "2025-01-01T10:00:09Z"),
    )
    found = log_errors.read(run)
    assert [(error.stream, error.type, error.timestamp) for error in found] == [
        ("stderr", "ValueError", 1735725601.0),
        ("stdout", "killed", 1735725609.0),
    ]


def test_a_run_that_goes_on_is_read_as_far_as_it_was_seen_to_write(tmp_path: Path) -> None:
    run = run_in(tmp_path, Status.RUNNING, stderr=b"Killed\nSegmentation fault (core dumped)\n")
    index(tmp_path, ("stderr", len(b"Killed\n"), "2025-01-01T10:00:01Z"))
    assert [error.type for error in log_errors.read(run)] == ["killed"]


def test_a_compressed_output_is_read_as_the_plain_one(tmp_path: Path) -> None:
    run = run_in(tmp_path, stderr=b"Killed\n")
    (tmp_path / "stderr.gz").write_bytes(gzip.compress(b"Killed\n"))
    (tmp_path / "stderr").unlink()
    assert [error.type for error in log_errors.read(run)] == ["killed"]


def test_an_inherited_file_that_is_gone_was_not_searched(tmp_path: Path) -> None:
    gone = Output(stream="stdout", mode="inherited", path=str(tmp_path / "slurm.out"))
    run = Run(
        run_id="r", job_id="r", status=Status.FAILED, command=("x",), folder=str(tmp_path), outputs=(gone,)
    )
    (told,) = log_errors.read(run)
    assert (told.level, told.signature) == ("WARNING", None)
    assert told.message == (
        f"stdout went to {tmp_path}/slurm.out, which is gone or cannot be read: it was not searched for errors"
    )


def test_the_middle_of_a_huge_output_is_passed_over_and_said_so(tmp_path: Path) -> None:
    words = b"nothing to see here\n" * (1 << 16)
    path = tmp_path / "job.log"
    path.write_bytes(
        b"MemoryError\n" + words + b"bus: Too many open files\n" + words + b"x: command not found\n"
    )
    found = log_errors.read_file(path, first_bytes=1 << 18, last_bytes=1 << 18)
    assert [error.signature for error in found] == ["cpu_oom", None, "import_error"]
    assert found[1].message.endswith("in the middle of this output were not searched for errors and steps")
    assert found[1].fields["not_searched_bytes"] == 2_097_152


def test_a_log_file_may_be_compressed_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "job.log.gz"
    packed = gzip.compress(b"Killed\n" + bytes(range(256)) * 4000)
    path.write_bytes(packed)
    assert [error.type for error in log_errors.read_file(path)] == ["killed"]
    path.write_bytes(packed[:-20])
    log_errors.read_file(path)


def test_a_log_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        log_errors.read_file(tmp_path / "gone.log")

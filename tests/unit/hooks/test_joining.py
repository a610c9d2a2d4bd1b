"""A process finds the run it is part of by what its ancestors write to."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.hooks import joining

HOLDER = """
import sys, os, subprocess
held = [open(path, mode) for path, mode in zip(sys.argv[2::2], sys.argv[3::2])]
child = subprocess.Popen(['sleep', '60'])
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a run folder as recorders make them."""
    place = tmp_path / "home" / "runs" / "2026-11" / "20261115T095001Z-7f3a9c"
    place.mkdir(parents=True)
    (place / "run.jsonl").write_text("{}\n")
    return place


@pytest.fixture
def holders() -> Iterator[list["subprocess.Popen[str]"]]:
    """End every ancestor that a test started."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.communicate("")


def child_of_holder(holders: list["subprocess.Popen[str]"], *held: str) -> int:
    """Start a process that holds files open and has a child; give the child's pid."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", HOLDER, "x", *held],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    holders.append(process)
    assert process.stdout is not None
    return int(process.stdout.readline())


@pytest.mark.parametrize("name", ["run.jsonl", "sdk.jsonl", "sdk.3.jsonl", "sdk.pid7.jsonl"])
def test_an_ancestor_that_writes_a_run_is_joined(
    name: str, folder: Path, holders: list["subprocess.Popen[str]"]
) -> None:
    pid = child_of_holder(holders, str(folder / name), "a")
    assert joining.find({}, pid) == str(folder)


def test_an_ancestor_that_only_reads_a_run_is_not_joined(
    folder: Path, holders: list["subprocess.Popen[str]"]
) -> None:
    pid = child_of_holder(holders, str(folder / "run.jsonl"), "r")
    assert joining.find({}, pid) is None


def test_files_that_merely_look_alike_are_no_run(
    folder: Path, tmp_path: Path, holders: list["subprocess.Popen[str]"]
) -> None:
    pid = child_of_holder(
        holders,
        str(tmp_path / "run.jsonl"),
        "a",
        str(folder / "run.txt"),
        "a",
        str(folder / "runner.jsonl"),
        "a",
    )
    assert joining.find({}, pid) is None


def test_a_run_that_was_deleted_is_not_joined(folder: Path, holders: list["subprocess.Popen[str]"]) -> None:
    pid = child_of_holder(holders, str(folder / "run.jsonl"), "a")
    (folder / "run.jsonl").unlink()
    assert joining.find({}, pid) is None


def test_the_run_that_is_named_wins(folder: Path, tmp_path: Path) -> None:
    assert joining.find({"JOBMETER_RUN": str(folder)}, os.getpid()) == str(folder)
    assert joining.find({"JOBMETER_RUN": str(tmp_path)}, os.getpid()) is None


def test_without_a_process_table_nothing_is_joined(tmp_path: Path) -> None:
    assert joining.find({}, os.getpid(), str(tmp_path)) is None

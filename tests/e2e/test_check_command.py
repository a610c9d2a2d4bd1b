"""`jobmeter check` over jobs that were really recorded: exit codes, reasons, Markdown, and what it refuses."""

import json
import sys
from pathlib import Path

import pytest

from support.commands import jobmeter, jobmeter_on_terminal
from support.recorder import Home

JOB = """
import sys
held = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(held), 4096):
    held[at] = 1
"""


def record(home: Home, tmp_path: Path, *mebibytes: int) -> list[str]:
    script = tmp_path / "hold.py"
    script.write_text(JOB)
    for size in mebibytes:
        assert home.run("-q", "--", sys.executable, str(script), str(size)).code == 0
    found = json.loads(jobmeter(home.path, "ls", "--json").text)
    return [run["run_id"] for run in reversed(found)]


@pytest.fixture
def grown(home: Home, tmp_path: Path) -> tuple[Home, list[str]]:
    """Record a job of 40 MiB that grows to 80."""
    return home, record(home, tmp_path, 40, 80)


def test_more_memory_than_allowed_fails_with_its_reason(grown: tuple[Home, list[str]]) -> None:
    home, (before, after) = grown
    answer = jobmeter(home.path, "check", after, "--against", before, "--max", "memory_peak=+5%")
    assert answer.code == 1
    assert answer.text.startswith("worse: memory_peak is ")
    assert answer.text.count("\n") == 1


def test_a_run_within_its_limits_is_passed_in_silence(grown: tuple[Home, list[str]]) -> None:
    home, (before, after) = grown
    answer = jobmeter(home.path, "check", after, "--against", before, "--max", "memory_peak=+500%")
    assert (answer.code, answer.out, answer.err) == (0, b"", b"")
    loud = jobmeter(home.path, "check", after, "--against", before, "--max", "memory_peak=+500%", "-v")
    assert (loud.code, loud.text.startswith("ok: memory_peak is ")) == (0, True)


def test_json_names_every_number(grown: tuple[Home, list[str]]) -> None:
    home, (before, after) = grown
    answer = jobmeter(home.path, "check", after, "--against", before, "--max", "memory_peak=+5%", "--json")
    found = json.loads(answer.text)
    assert (answer.code, found["ok"], found["run_id"], found["against"]) == (1, False, after, before)
    (one,) = found["checks"]
    assert one["told"] == "exceeded"
    assert one["value"] > 80 << 20 > one["baseline"]


def test_markdown_goes_to_a_file_and_to_the_step_summary(
    grown: tuple[Home, list[str]], tmp_path: Path
) -> None:
    home, (before, after) = grown
    comment, summary = tmp_path / "comment.md", tmp_path / "summary.md"
    summary.write_text("earlier step\n")
    limits = ("--max", "memory_peak=+5%", "--markdown", str(comment), "--github")
    answer = jobmeter(
        home.path, "check", after, "--against", before, *limits, env={"GITHUB_STEP_SUMMARY": str(summary)}
    )
    assert answer.code == 1
    lines = comment.read_text().splitlines()
    assert lines[0] == "### jobmeter: 1 of 1 checks failed"
    assert any(line.startswith("| ❌ | `memory_peak` | ") for line in lines)
    assert summary.read_text() == "earlier step\n" + comment.read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("--against", "nothing"),
        ("--against", "last", "--max", "memory_peak=5%"),
        ("--against", "last", "--max", "wrong=+5%"),
        ("--against", "last", "--max", "loss=+5%"),
        ("--against", "last", "--github"),
        ("--against", "last", "--markdown", "/nowhere/at/all"),
    ],
)
def test_a_check_that_cannot_be_made_is_bad_input(
    grown: tuple[Home, list[str]], words: tuple[str, ...]
) -> None:
    home, _ = grown
    answer = jobmeter(home.path, "check", "last", *words, env={"GITHUB_STEP_SUMMARY": ""})
    assert answer.code == 2
    assert b"Traceback" not in answer.err
    assert answer.out == b""


def test_history_needs_nine_runs_and_then_sees_a_step_of_memory(home: Home, tmp_path: Path) -> None:
    record(home, tmp_path, *[30] * 3)
    early = jobmeter(home.path, "check", "last")
    assert (early.code, early.out) == (0, b"")
    assert "not enough history of python hold.py: 2 earlier runs completed" in early.complaint
    ids = record(home, tmp_path, *[30] * 6, 45, 45, 45)
    limit = ("--max", "memory_peak=+5%")
    steady = jobmeter(home.path, "check", ids[8], "--against", "history", *limit)
    assert (steady.code, steady.out, steady.err) == (0, b"", b"")
    worse = jobmeter_on_terminal(home.path, "check", ids[11], "--against", "history", *limit)
    assert worse.code == 1
    assert ids[9] in worse.text.replace("\n", " ")
    assert max(map(len, worse.text.splitlines())) <= 80 + len("\x1b[31m\x1b[0m")

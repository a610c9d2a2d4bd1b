"""The steps of a training in the summary: both ends of what the SDK wrote, however it ended."""

import json
from pathlib import Path

import pytest

from jobmeter.recording import stepstold


def line(step: int, **metrics: object) -> bytes:
    told = {
        "timestamp": "2026-11-15T09:50:03.120Z",
        "step": step,
        "rank": 0,
        "source": "sdk",
        "metrics": metrics,
    }
    return json.dumps(told).encode() + b"\n"


def said(folder: Path, *lines: bytes, name: str = "steps.jsonl", after: bytes = b"") -> dict[str, str]:
    (folder / name).write_bytes(b"".join(lines) + after)
    return stepstold.sentences(str(folder))


def test_a_job_that_logged_nothing_has_nothing_to_say(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_text("{}\n")
    assert stepstold.sentences(str(tmp_path)) == {}


def test_the_first_and_the_last_loss_are_said(tmp_path: Path) -> None:
    lines = [line(n, loss=2.5 - n / 1000, lr=1e-4) for n in range(2000)]
    assert said(tmp_path, *lines) == {"steps": "to step 1,999, loss 2.5 -> 0.501"}


def test_an_evaluation_at_the_end_does_not_hide_the_loss(tmp_path: Path) -> None:
    found = said(tmp_path, line(1, loss=2.0), line(2, loss=1.0), line(2, eval_loss=1.5))
    assert found == {"steps": "to step 2, loss 2 -> 1"}


@pytest.mark.parametrize("nuls", [1, 4096, 1 << 22])
def test_a_file_whose_writer_was_killed_ends_before_its_nuls(tmp_path: Path, nuls: int) -> None:
    found = said(tmp_path, line(1, loss=2.0), line(2, loss=1.0), after=b"\0" * nuls)
    assert found == {"steps": "to step 2, loss 2 -> 1"}


def test_a_loss_that_is_nan_is_said_as_it_is(tmp_path: Path) -> None:
    assert said(tmp_path, line(1, loss=2.0), line(2, loss="NaN")) == {"steps": "to step 2, loss 2 -> NaN"}


def test_a_training_without_a_loss_says_how_far_it_came(tmp_path: Path) -> None:
    assert said(tmp_path, line(1, reward=2.0), line(9, reward=3.0)) == {"steps": "to step 9"}


def test_the_lowest_rank_speaks_and_all_are_counted(tmp_path: Path) -> None:
    said(tmp_path, line(1, loss=9.0), line(5, loss=8.0), name="steps.10.jsonl")
    said(tmp_path, line(1, loss=9.0), name="steps.2.pid4711.jsonl")
    found = said(tmp_path, line(1, loss=2.0), line(5, loss=1.0), name="steps.2.jsonl")
    assert found == {"steps": "to step 5, loss 2 -> 1", "ranks": "2 logged steps"}


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"garbage\n", b"[1]\n", b'{"step": "x"}\n'])
def test_a_damaged_file_costs_its_row_only(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "steps.jsonl").write_bytes(content)
    assert stepstold.sentences(str(tmp_path)) in ({}, {"steps": "to step 0"})

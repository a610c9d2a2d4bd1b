"""The rows that `jobmeter steps` prints."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import steps
from support import folders


@pytest.fixture
def home(tmp_path: Path) -> str:
    folder = folders.write_run(tmp_path, seconds=2)
    for rank in (0, 1):
        rows = [
            {"step": n, "rank": rank, "source": "sdk", "metrics": {"loss": n + rank, "learning_rate": 0.1}}
            for n in range(3)
        ]
        folders.append(folder / f"steps.{rank}.jsonl", *rows)
    log = {"step": 1, "rank": 0, "source": "log:hf", "metrics": {"loss": 9, "extra": 1}}
    folders.append(folder / "steps.0.jsonl", log)
    return str(tmp_path)


def rows(found: steps.Listing) -> list[tuple[int, int, str, dict[str, int | float]]]:
    return [(row.rank, row.step, row.source, row.metrics) for row in found.rows()]


def test_every_rank_is_told_by_its_best_source(home: str) -> None:
    found = steps.of_run(home, "last")
    assert found.metrics == ("learning_rate", "loss")
    assert [row[:3] for row in rows(found)] == [
        (0, 0, "sdk"), (0, 1, "sdk"), (0, 2, "sdk"), (1, 0, "sdk"), (1, 1, "sdk"), (1, 2, "sdk"),
    ]  # fmt: skip
    assert len(found) == 6


def test_one_rank_one_source_and_some_metrics_can_be_asked_for(home: str) -> None:
    assert rows(steps.of_run(home, "last", metrics=["lr"], rank=1)) == [
        (1, n, "sdk", {"learning_rate": 0.1}) for n in range(3)
    ]
    assert rows(steps.of_run(home, "last", source="log:hf")) == [(0, 1, "log:hf", {"loss": 9, "extra": 1})]


@pytest.mark.parametrize("limit", [1, 3, 4, 6, 7])
def test_the_last_rows_are_the_end_of_all_rows(home: str, limit: int) -> None:
    found = steps.of_run(home, "last")
    assert found.last(limit) == list(found.rows())[-limit:]


def test_the_last_rows_are_those_that_have_a_metric(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=2)
    told = [
        {
            "step": n,
            "rank": 0,
            "source": "sdk",
            "metrics": {"loss": n} | ({"eval": 10 * n} if n % 4 == 2 else {}),
        }
        for n in range(8)
    ]
    folders.append(folder / "steps.0.jsonl", *told)
    found = steps.of_run(str(tmp_path), "last", metrics=["eval"])
    assert [(row.step, row.metrics) for row in found.last(1)] == [(6, {"eval": 60})]
    assert [row.step for row in found.last(9)] == [2, 6]
    everything = steps.of_run(str(tmp_path), "last").last(2)
    assert [(row.step, row.metrics) for row in everything] == [(6, {"eval": 60, "loss": 6}), (7, {"loss": 7})]


@pytest.mark.parametrize(
    ("asked", "sentence", "hint"),
    [
        ({"metrics": ["nope"]}, "has no metric nope", "it has learning_rate, loss"),
        ({"rank": 7}, "has no steps of rank 7", "it has rank 0, 1"),
        ({"source": "log:x"}, "has no steps from log:x", "use one of log:hf, sdk"),
    ],
)
def test_what_is_not_there_is_named(home: str, asked: dict[str, object], sentence: str, hint: str) -> None:
    with pytest.raises(UsageError, match=sentence) as error:
        steps.of_run(home, "last", **asked)  # type: ignore[arg-type]
    assert error.value.hint == hint


def test_a_run_without_steps_says_how_to_get_some(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=2)
    with pytest.raises(UsageError, match="has no steps"):
        steps.of_run(str(tmp_path), "last")

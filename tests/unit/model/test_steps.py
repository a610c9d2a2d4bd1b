"""Steps as values."""

import dataclasses
import math
from array import array

import pytest

from jobmeter.model import steps
from jobmeter.model.steps import Column, Step, Steps, StepTable

TABLE = StepTable(
    writer="steps.jsonl",
    source="sdk",
    rank=2,
    steps=[5, 6],
    timestamps=[1.5, math.nan],
    columns={"loss": Column(None, [0.5, 0.25]), "eval": Column([1], [9])},
)


def test_a_table_is_walked_row_by_row() -> None:
    rows = [
        Step(timestamp=1.5, step=5, rank=2, source="sdk", metrics={"loss": 0.5}),
        Step(timestamp=None, step=6, rank=2, source="sdk", metrics={"loss": 0.25, "eval": 9}),
    ]
    assert list(TABLE.rows()) == rows
    assert list(Steps((TABLE, TABLE))) == rows * 2
    assert (len(Steps((TABLE, TABLE))), len(Steps())) == (4, 0)


def test_rows_of_full_columns_are_the_same_as_of_sparse_ones() -> None:
    full = StepTable(
        writer="a",
        source="sdk",
        rank=0,
        steps=[5, 6],
        timestamps=None,
        columns={"loss": Column(None, [0.5, 0.25]), "lr": Column(None, [1, 2])},
    )
    sparse = dataclasses.replace(full, columns=full.columns | {"lr": Column([0, 1], [1, 2])})
    assert list(full.rows()) == list(sparse.rows())
    assert [row.metrics for row in full.rows()] == [{"loss": 0.5, "lr": 1}, {"loss": 0.25, "lr": 2}]
    assert [row.metrics for row in dataclasses.replace(full, columns={}).rows()] == [{}, {}]


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([], []),
        ([1, 2, 3], [0, 1, 2]),
        ([1, 2, 3, 2, 3, 4], [0, 3, 4, 5]),
        ([1, 1, 1], [2]),
        ([9, 1, 2], [1, 2]),
    ],
)
def test_a_step_that_goes_back_replaces_what_came_after_it(numbers: list[int], kept: list[int]) -> None:
    assert list(steps.latest(numbers)) == kept


@pytest.mark.parametrize(
    ("value", "word"),
    [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (0.5, 0.5), (2**70, 2**70)],
)
def test_json_has_words_for_what_is_not_finite(value: float, word: object) -> None:
    assert steps.as_json(value) == word
    back = steps.from_json(word)
    assert back is not None
    assert repr(back) == repr(value)


@pytest.mark.parametrize("raw", ["0.5", "nan", None, True, [1]])
def test_what_is_no_number_is_no_metric(raw: object) -> None:
    assert steps.from_json(raw) is None


def test_numbers_are_held_as_words_where_these_are_exact() -> None:
    assert steps.packed([1, 2]) == array("q", [1, 2])
    assert steps.packed([1, 2.5]) == array("d", [1.0, 2.5])
    assert steps.packed([2**63]) == [2**63]
    assert steps.packed([2**53 + 1, 0.5]) == [2**53 + 1, 0.5]


def test_a_job_s_own_word_is_believed_before_files_and_those_before_logs() -> None:
    assert sorted(["log:hf", "wandb", "sdk"], key=steps.trust) == ["sdk", "wandb", "log:hf"]


def test_a_summary_is_rendered_without_what_nobody_told() -> None:
    loss = steps.MetricSummary(first=2.5, last="NaN", low=0.5, high=2.5, not_finite=1, source="log:hf")
    told = steps.StepSummary(count=3, last_step=9, source="sdk", steps_per_second=1.5, metrics={"loss": loss})
    assert told.as_record() == {
        "count": 3,
        "last_step": 9,
        "source": "sdk",
        "steps_per_second": 1.5,
        "metrics": {
            "loss": {"first": 2.5, "last": "NaN", "min": 0.5, "max": 2.5, "not_finite": 1, "source": "log:hf"}
        },
    }
    untimed = steps.StepSummary(count=1, last_step=0, metrics={"lr": steps.MetricSummary(first=1, last=1)})
    assert untimed.as_record() == {
        "count": 1,
        "last_step": 0,
        "source": "",
        "metrics": {"lr": {"first": 1, "last": 1}},
    }

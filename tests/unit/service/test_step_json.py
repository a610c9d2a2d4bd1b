"""Steps written as JSON straight out of their columns."""

import json
from array import array

from jobmeter.model.steps import Column, StepTable
from jobmeter.service import step_json


def table(columns: dict[str, Column], moments: list[float] | None = None) -> StepTable:
    return StepTable(
        writer="steps.jsonl",
        source="sdk",
        rank=1,
        steps=array("q", [1, 2, 3]),
        timestamps=moments,
        columns=columns,
    )


def test_a_step_is_one_object_with_its_metrics_in_order():
    full = table({"loss": Column(None, array("d", [0.5, 1e-05, 2.0])), "tokens": Column(None, [7, 8, 9])})
    lines = list(step_json.lines([full]))
    assert lines[0] == '{"step": 1, "rank": 1, "source": "sdk", "metrics": {"loss": 0.5, "tokens": 7}}'
    assert [json.loads(line)["metrics"]["loss"] for line in lines] == [0.5, 1e-05, 2.0]


def test_a_metric_that_a_step_lacks_is_left_out_and_so_is_a_step_without_any():
    sparse = table({"a": Column([0], [1.5]), 'b"': Column([0, 2], [2, 3])})
    assert [json.loads(line) for line in step_json.lines([sparse])] == [
        {"step": 1, "rank": 1, "source": "sdk", "metrics": {"a": 1.5, 'b"': 2}},
        {"step": 3, "rank": 1, "source": "sdk", "metrics": {'b"': 3}},
    ]


def test_what_is_not_finite_is_written_as_its_name():
    odd = table({"loss": Column(None, array("d", [float("nan"), float("inf"), float("-inf")]))})
    values = [json.loads(line)["metrics"]["loss"] for line in step_json.lines([odd])]
    assert values == ["NaN", "Infinity", "-Infinity"]


def test_moments_have_milliseconds_and_an_unknown_one_is_left_out():
    timed = table({"loss": Column(None, [1, 2, 3])}, [1777000000.3704, float("nan"), -0.5])
    assert [json.loads(line).get("timestamp") for line in step_json.lines([timed])] == [
        "2026-04-24T03:06:40.370Z",
        None,
        "1969-12-31T23:59:59.500Z",
    ]


def test_a_table_without_metrics_has_no_lines():
    assert list(step_json.lines([table({})])) == []

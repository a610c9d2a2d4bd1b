"""What a terminal reads of the API's answers is in them: a name that is only here would always be absent."""

import dataclasses
from typing import Any, get_type_hints

import pytest

from jobmeter.model import alert_answers, answers, board, list_answers, live_answers

READ: list[tuple[type, Any]] = [
    (board.Alert, alert_answers.AlertNow),
    (board.Alerts, alert_answers.AlertsTold),
    (board.Glance, list_answers.Glance),
    (board.Glances, list_answers.Glances),
    (board.Limits, answers.RunLimits),
    (board.Line, list_answers.SmallLine),
    (board.LiveJob, live_answers.JobLiving),
    (board.LiveRun, answers.RunShown),
    (board.Living, live_answers.Living),
    (board.Progress, live_answers.ProgressTold),
    (board.Steps, answers.StepFacts),
    (board.Verdict, answers.VerdictTold),
]


@pytest.mark.parametrize(("part", "answer"), READ, ids=lambda kind: kind.__name__)
def test_every_field_is_one_of_the_answer(part: Any, answer: Any) -> None:
    assert {field.name for field in dataclasses.fields(part)} <= get_type_hints(answer).keys()


def test_all_that_is_read_is_held_against_its_answer() -> None:
    made_here = {board.Board, board.Close}
    kinds = {kind for kind in vars(board).values() if dataclasses.is_dataclass(kind)}
    assert kinds - made_here == {part for part, _ in READ}


@pytest.mark.parametrize(
    ("last", "now"), [(2.5, 2.5), ("Infinity", float("inf")), ("a word", None)], ids=["number", "inf", "word"]
)
def test_the_newest_value_is_a_number_or_the_word_for_one(last: float | str, now: float | None) -> None:
    assert board.Line(key="k", unit="", values=(), last=last).now == now

"""What rules, standings and notices say of themselves."""

import math
from dataclasses import replace

import pytest

from jobmeter.model import alert_answers
from jobmeter.model.alert import Change, Level, Notice, Op, Silence, Standing, State, Turn
from jobmeter.model.report import Severity

STANDING = Standing(
    rule="memory-high",
    run_id="r1",
    instance="",
    state=State.FIRING,
    severity=Severity.WARNING,
    sentence="too much",
    since=1_000.0,
    updated_at=1_060.0,
    clock=60.0,
    value=95.0,
    fired_at=1_060.0,
)


def notice(turn: Turn = Turn.FIRED, value: float | None = 95.0, job: str = "train") -> Notice:
    return Notice(
        id="abc",
        turn=turn,
        rule="memory-high",
        run_id="r1",
        instance="",
        severity=Severity.CRITICAL,
        sentence="too much",
        at=1_060.0,
        value=value,
        job=job,
    )


@pytest.mark.parametrize(
    ("op", "below", "equal", "above", "word"),
    [
        (Op.ABOVE, False, False, True, "above"),
        (Op.AT_LEAST, False, True, True, "at least"),
        (Op.BELOW, True, False, False, "below"),
        (Op.AT_MOST, True, True, False, "at most"),
    ],
)
def test_values_are_compared_as_written(op: Op, below: bool, equal: bool, above: bool, word: str) -> None:
    assert (op.holds(1, 2), op.holds(2, 2), op.holds(3, 2)) == (below, equal, above)
    assert op.word == word


@pytest.mark.parametrize("op", Op)
def test_what_is_no_number_is_beyond_nothing(op: Op) -> None:
    assert not op.holds(math.nan, 2)


def test_levels_are_ordered_from_quiet_to_loud() -> None:
    assert [level.order for level in (Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR)] == [0, 1, 2, 3]


def test_a_standing_shows_only_what_is_known() -> None:
    assert STANDING.as_record(2_000.0) == {
        "rule": "memory-high",
        "run_id": "r1",
        "state": "firing",
        "severity": "warning",
        "sentence": "too much",
        "value": 95.0,
        "since": "1970-01-01T00:16:40.000Z",
        "fired_at": "1970-01-01T00:17:40.000Z",
    }


def test_a_turn_is_known_by_its_alert_and_when_it_fired() -> None:
    fired, resolved = (Change(turn=turn, standing=STANDING, at=5.0) for turn in (Turn.FIRED, Turn.RESOLVED))
    first, second = (Change(turn=Turn.REPEATED, standing=STANDING, at=at) for at in (5.0, 6.0))
    assert len({fired.id, resolved.id, first.id, second.id}) == 4
    assert fired.id == Change(turn=Turn.FIRED, standing=STANDING, at=9.0).id


def test_a_notice_says_in_one_line_what_happened() -> None:
    assert notice().title == "firing: memory-high (train)"
    assert notice(Turn.RESOLVED, job="").title == "resolved: memory-high (r1)"


def test_a_notice_is_strict_json() -> None:
    assert notice(Turn.REPEATED, value=math.inf).as_record() == {
        "id": "abc",
        "state": "firing",
        "repeated": True,
        "rule": "memory-high",
        "severity": "critical",
        "sentence": "too much",
        "timestamp": "1970-01-01T00:17:40.000Z",
        "run_id": "r1",
        "job": "train",
    }
    assert notice(Turn.RESOLVED, value=None).as_record()["state"] == "resolved"


def test_a_silence_holds_from_its_beginning_until_its_end() -> None:
    silence = Silence(id="s1", where="project=llm", begin=10.0, until=20.0, comment="moving disks", by="ann")
    assert [silence.is_active(now) for now in (9.9, 10.0, 19.9, 20.0)] == [False, True, True, False]
    assert silence.as_record(15.0) == {
        "id": "s1",
        "where": "project=llm",
        "rules": [],
        "from": "1970-01-01T00:00:10.000Z",
        "until": "1970-01-01T00:00:20.000Z",
        "active": True,
        "comment": "moving disks",
        "by": "ann",
    }


def test_what_is_shown_is_what_the_types_say() -> None:
    known = replace(STANDING, instance="GPU-0", resolved_at=1_100.0, count=2, silenced_by="s1")
    assert set(known.as_record(0.0)) == set(alert_answers.AlertNow.__annotations__)
    silence = Silence(id="s1", where="", begin=10.0, until=20.0)
    # `from` is a word of the language: a TypedDict made as a class cannot name it
    assert set(silence.as_record(0.0)) - {"from"} == set(alert_answers.SilenceTold.__annotations__)

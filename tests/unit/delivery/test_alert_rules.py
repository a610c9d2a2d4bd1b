"""How an alert turns, whatever the clocks do and however often the program is started again."""

from dataclasses import replace

import msgspec
import pytest

from jobmeter.delivery import alert_rules
from jobmeter.model.alert import Change, Holds, Op, Rule, Sign, Standing, State, Threshold, Turn

RULE = Rule(
    name="memory-high",
    condition=Threshold(key="memory", op=Op.ABOVE, value=90.0, clear=80.0),
    for_seconds=60.0,
    clear_for_seconds=30.0,
)


def sign(clock: float, holds: Holds = Holds.YES, *, at: float | None = None, happened: bool = False) -> Sign:
    return Sign(
        instance="",
        holds=holds,
        sentence="too much",
        at=clock if at is None else at,
        clock=clock,
        value=1.0,
        happened=happened,
    )


def play(rule: Rule, *signs: Sign, known: Standing | None = None) -> tuple[Standing | None, list[Change]]:
    changes = []
    for one in signs:
        known, change = alert_rules.advance(rule, known, "r1", one)
        changes += [] if change is None else [change]
    return known, changes


def turns(changes: list[Change]) -> list[tuple[Turn, float]]:
    return [(change.turn, change.at) for change in changes]


def firing() -> Standing:
    standing, _ = play(RULE, sign(0), sign(60))
    assert standing is not None
    return standing


def test_what_holds_for_long_enough_fires_once() -> None:
    standing, changes = play(RULE, *(sign(second) for second in range(0, 200, 10)))
    assert turns(changes) == [(Turn.FIRED, 60)]
    assert standing is not None
    assert (standing.state, standing.since, standing.fired_at) == (State.FIRING, 0, 60)


def test_what_holds_shortly_is_forgotten() -> None:
    assert play(RULE, sign(0), sign(59), sign(60, Holds.NO), sign(70), sign(120)) == (
        play(RULE, sign(70), sign(120))[0],
        [],
    )


def test_pending_ends_in_the_band_between_the_two_values() -> None:
    assert play(RULE, sign(0), sign(30, Holds.BETWEEN)) == (None, [])


def test_a_rule_without_a_duration_fires_at_the_first_sign() -> None:
    _, changes = play(replace(RULE, for_seconds=0.0), sign(5))
    assert turns(changes) == [(Turn.FIRED, 5)]


def test_what_is_well_begins_nothing() -> None:
    assert play(RULE, sign(0, Holds.NO), sign(1, Holds.BETWEEN)) == (None, [])


def test_it_resolves_once_after_it_was_well_for_long_enough() -> None:
    signs = [sign(second, Holds.NO) for second in (70, 80, 99, 100, 110, 200)]
    standing, changes = play(RULE, *signs, known=firing())
    assert turns(changes) == [(Turn.RESOLVED, 100)]
    assert standing is not None
    assert (standing.state, standing.resolved_at) == (State.RESOLVED, 100)


def test_the_band_between_the_two_values_resolves_nothing() -> None:
    standing, changes = play(
        RULE,
        sign(70, Holds.NO),
        sign(90, Holds.BETWEEN),
        sign(100, Holds.NO),
        sign(129, Holds.NO),
        known=firing(),
    )
    assert changes == []
    assert standing is not None
    assert (standing.state, standing.clear_seconds) == (State.FIRING, 29)


def test_it_fires_anew_after_it_resolved() -> None:
    resolved, _ = play(replace(RULE, clear_for_seconds=0.0), sign(70, Holds.NO), known=firing())
    _, changes = play(RULE, sign(100), sign(160), known=resolved)
    assert turns(changes) == [(Turn.FIRED, 160)]


@pytest.mark.parametrize("jump", [7200.0, -7200.0])
def test_a_wall_clock_that_jumps_changes_no_duration(jump: float) -> None:
    standing, changes = play(RULE, sign(0), sign(30), sign(40, at=40 + jump))
    assert changes == []
    assert standing is not None
    assert standing.held_seconds == 40


def test_a_clock_that_runs_backwards_takes_no_time_away() -> None:
    standing, _ = play(RULE, sign(100), sign(140), sign(10), sign(20))
    assert standing is not None
    assert standing.held_seconds == 50


def test_time_that_nobody_looked_counts_five_minutes_at_most() -> None:
    rule = replace(RULE, for_seconds=600.0)
    standing, changes = play(rule, sign(0), sign(86_400))
    assert changes == []
    assert standing is not None
    assert standing.held_seconds == 300


def test_a_standing_that_was_stored_goes_on_where_it_was() -> None:
    waiting, _ = play(RULE, sign(0), sign(50))
    read_again = msgspec.json.decode(msgspec.json.encode(waiting), type=Standing)
    assert read_again == waiting
    assert play(RULE, sign(60), known=read_again) == play(RULE, sign(0), sign(50), sign(60))


def test_the_same_turn_has_the_same_id_when_it_is_worked_out_again() -> None:
    first = play(RULE, sign(0), sign(60))[1][0]
    again = play(RULE, sign(0), sign(60))[1][0]
    later = play(RULE, sign(0), sign(61))[1][0]
    assert first.id == again.id
    assert first.id != later.id
    assert len(first.id) == 32


def test_it_is_told_again_while_it_fires_where_that_was_asked_for() -> None:
    rule = replace(RULE, repeat_seconds=100.0)
    _, changes = play(rule, *(sign(second) for second in range(70, 400, 10)), known=firing())
    assert turns(changes) == [(Turn.REPEATED, 160), (Turn.REPEATED, 260), (Turn.REPEATED, 360)]
    assert len({change.id for change in changes}) == 3


def test_a_wall_clock_set_back_starts_the_time_until_it_is_told_again() -> None:
    rule = replace(RULE, repeat_seconds=100.0)
    standing, changes = play(rule, sign(70, at=10), sign(109, at=109), known=firing())
    assert changes == []
    assert standing is not None
    assert standing.told_at == 10


def test_what_only_happened_is_told_once_and_resolves_by_itself() -> None:
    rule = replace(RULE, lasts_seconds=3600.0)
    standing, changes = play(rule, sign(10, happened=True), sign(20, happened=True), sign(30, happened=True))
    assert turns(changes) == [(Turn.FIRED, 10)]
    assert standing is not None
    assert standing.count == 3
    assert standing.state_at(3609) is State.FIRING
    assert standing.state_at(3610) is State.RESOLVED


def test_what_happens_again_much_later_is_told_again() -> None:
    rule = replace(RULE, lasts_seconds=60.0)
    _, changes = play(rule, sign(10, happened=True), sign(70, happened=True))
    assert turns(changes) == [(Turn.FIRED, 10), (Turn.FIRED, 70)]


def test_the_end_of_a_run_resolves_what_fires() -> None:
    standing, change = alert_rules.end(firing(), 90, "the run is over")
    assert standing is not None
    assert change is not None
    assert (change.turn, change.at, standing.state) == (Turn.RESOLVED, 90, State.RESOLVED)
    assert standing.sentence == "too much; the run is over"


def test_the_end_of_a_run_forgets_what_waited() -> None:
    waiting, _ = play(RULE, sign(0))
    assert waiting is not None
    assert alert_rules.end(waiting, 90, "over") == (None, None)


def test_the_end_of_a_run_leaves_what_is_resolved_or_only_happened() -> None:
    resolved, _ = play(replace(RULE, clear_for_seconds=0.0), sign(70, Holds.NO), known=firing())
    happened, _ = play(RULE, sign(10, happened=True))
    assert resolved is not None
    assert happened is not None
    assert alert_rules.end(resolved, 90, "over") == (resolved, None)
    assert alert_rules.end(happened, 90, "over") == (happened, None)

"""Ranks side by side: by step, whatever their clocks say."""

import math

from jobmeter.analysis import ranks
from jobmeter.analysis.ranks import Life


def steady(seconds: float, count: int = 20, begin: float = 0.0) -> list[Life]:
    return [Life(list(range(count)), [begin + seconds * step for step in range(count)])]


def test_a_slow_rank_stands_out_although_its_clock_is_an_hour_off() -> None:
    found = ranks.paces({0: steady(0.1), 1: steady(0.1, begin=3600.0), 2: steady(0.15, begin=-77.0)})
    assert [round(pace.relative or 0, 2) for pace in found] == [1.0, 1.0, 1.5]
    assert [pace.is_straggler for pace in found] == [False, False, True]
    assert [pace.slowest_share for pace in found] == [0.0, 0.0, 1.0]
    assert [round(pace.step_seconds or 0, 3) for pace in found] == [0.1, 0.1, 0.15]


def test_a_rank_that_stopped_is_behind() -> None:
    first, second = ranks.paces({0: steady(0.1), 3: steady(0.1, count=12)})
    assert (first.behind, second.behind, second.last_step) == (0, 8, 11)


def test_one_rank_is_compared_with_nobody() -> None:
    (pace,) = ranks.paces({0: steady(0.1)})
    assert (pace.relative, pace.slowest_share, pace.is_straggler) == (None, None, False)


def test_few_shared_steps_say_nothing() -> None:
    late = Life(list(range(16, 30)), [float(step) for step in range(14)])
    assert {pace.relative for pace in ranks.paces({0: steady(0.1), 1: [late]})} == {None}


def test_a_resumed_rank_counts_its_last_life() -> None:
    twice = Life([0, 1, 2, 1, 2, 3], [0.0, 1.0, 2.0, 10.0, 13.0, 16.0])
    (pace,) = ranks.paces({0: [twice]})
    assert (pace.step_seconds, pace.last_step) == (3.0, 3)


def test_the_pause_before_a_rank_was_started_again_is_no_step() -> None:
    lives = [Life([0, 1], [0.0, 1.0]), Life([], []), Life([2, 3], [9000.0, 9001.0])]
    (pace,) = ranks.paces({0: lives})
    assert (pace.step_seconds, pace.last_step, pace.behind) == (1.0, 3, 0)


def test_a_rank_that_went_back_is_where_it_is_now() -> None:
    first, second = ranks.paces({0: steady(0.1), 1: [*steady(0.1), Life([5, 6], [50.0, 50.1])]})
    assert (first.behind, second.last_step, second.behind) == (0, 6, 13)


def test_a_rank_without_a_clock_does_not_keep_others_from_being_compared() -> None:
    found = ranks.paces({0: steady(0.1), 1: steady(0.2), 2: [Life(list(range(20)), None)]})
    assert [round(pace.relative or 0, 2) for pace in found] == [0.67, 1.33, 0]


def test_steps_without_a_clock_have_a_place_but_no_pace() -> None:
    (first, second) = ranks.paces({0: [Life([1, 2], None)], 1: [Life([1, 2], [math.nan, 5.0])]})
    assert (first.step_seconds, second.step_seconds) == (None, None)
    assert (first.last_step, second.last_step) == (2, 2)


def test_steps_that_arrived_together_share_the_time_since_the_arrival_before() -> None:
    """An output that is looked at once a second shows ten steps at once, not one step that took a second."""
    looked = Life(list(range(40)), [float(1 + step // 10) for step in range(40)])
    first, second = ranks.paces({0: steady(0.1, count=40), 1: [looked]})
    assert second.step_seconds == 0.1
    assert (round(first.relative or 0, 6), round(second.relative or 0, 6)) == (1.0, 1.0)
    assert not second.is_straggler


def test_a_loop_that_went_back_within_one_arrival_begins_anew() -> None:
    (pace,) = ranks.paces({0: [Life([0, 1, 2, 1, 2, 3], [0.0, 1.0, 1.0, 1.0, 1.0, 2.0])]})
    assert (pace.step_seconds, pace.last_step) == (0.5, 3)


def test_a_rank_without_steps_is_not_there() -> None:
    assert ranks.paces({0: [Life([], [])], 1: []}) == ()


def test_uneven_sizes_have_a_measure() -> None:
    assert ranks.imbalance({0: 10.0, 1: 10.0, 2: 16.0}) == 16 * 3 / 36 - 1
    assert ranks.imbalance({0: 10.0}) is None
    assert ranks.imbalance({0: 0.0, 1: 0.0}) is None


def test_a_rank_that_never_appears_is_named() -> None:
    assert ranks.missing((0, 1, 3), 5) == (2, 4)
    assert ranks.missing((0, 7), 2) == (1,)
    assert ranks.missing((0, 7), None) == ()
    assert len(ranks.missing((), 10**9)) == 100_000

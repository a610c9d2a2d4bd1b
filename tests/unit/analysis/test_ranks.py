"""Ranks side by side: by step, whatever their clocks say."""

import math

from jobmeter.analysis import ranks
from jobmeter.analysis.ranks import Steps


def steady(seconds: float, count: int = 20, begin: float = 0.0) -> Steps:
    return Steps(list(range(count)), [begin + seconds * step for step in range(count)])


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
    late = Steps(list(range(16, 30)), [float(step) for step in range(14)])
    assert {pace.relative for pace in ranks.paces({0: steady(0.1), 1: late})} == {None}


def test_a_resumed_rank_counts_its_last_life() -> None:
    twice = Steps([0, 1, 2, 1, 2, 3], [0.0, 1.0, 2.0, 10.0, 13.0, 16.0])
    (pace,) = ranks.paces({0: twice})
    assert (pace.step_seconds, pace.last_step, pace.count) == (3.0, 3, 6)


def test_steps_without_a_clock_have_a_place_but_no_pace() -> None:
    (first, second) = ranks.paces({0: Steps([1, 2], None), 1: Steps([1, 2], [math.nan, 5.0])})
    assert (first.step_seconds, second.step_seconds) == (None, None)
    assert (first.last_step, second.count) == (2, 2)


def test_a_rank_without_steps_is_not_there() -> None:
    assert ranks.paces({0: Steps([], [])}) == ()


def test_uneven_sizes_have_a_measure() -> None:
    assert ranks.imbalance({0: 10.0, 1: 10.0, 2: 16.0}) == 16 * 3 / 36 - 1
    assert ranks.imbalance({0: 10.0}) is None
    assert ranks.imbalance({0: 0.0, 1: 0.0}) is None

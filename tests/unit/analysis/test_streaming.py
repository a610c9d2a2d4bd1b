"""A series watched live: what is worth an alarm, and what is not."""

import math
import random

from jobmeter.analysis.streaming import ALARM, Tuning, Watch


def noise(count: int, level: float = 50.0, deviation: float = 1.0, seed: int = 7) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(level, deviation) for _ in range(count)]


def alarms(values: list[float], watch: Watch | None = None) -> list[int]:
    watch = watch or Watch()
    return [place for place, value in enumerate(values) if watch.update(value) >= ALARM]


def test_nothing_is_said_while_it_learns() -> None:
    assert alarms([*noise(50), 5000.0, *noise(40)]) == []


def test_a_spike_in_quiet_noise_is_seen_at_its_first_value_and_not_at_each() -> None:
    values = [*noise(600), *([90.0] * 8), *noise(200, seed=8)]
    assert [place for place in alarms(values) if place >= 600] == [600, 602, 605]


def test_a_change_of_level_is_told_at_once_and_then_is_the_level() -> None:
    found = [place for place in alarms(noise(600) + noise(400, level=58.0, seed=9)) if place >= 600]
    assert found[0] == 600
    assert found[-1] <= 610


def test_a_rise_from_nothing_at_all_is_seen() -> None:
    watch = Watch()
    for _ in range(300):
        assert watch.update(0.0) == 0.0
    assert watch.update(40.0) == 10.0


def test_a_rhythm_it_learned_is_no_alarm() -> None:
    rhythm = ([0.0] * 9 + [80.0]) * 100
    assert [place for place in alarms(rhythm) if place > 200] == []


def test_movements_below_the_floor_are_nothing() -> None:
    idle = [0.0] * 300 + [0.3, 0.0, 0.2, 0.0, 0.3]
    assert alarms(idle) != []
    assert alarms(idle, Watch(floor=5.0)) == []


def test_what_is_no_number_is_passed_over() -> None:
    watch = Watch()
    values = noise(300)
    first = [watch.update(value) for value in values]
    again = Watch()
    second = []
    for value in values:
        assert again.update(math.nan) == 0.0
        second.append(again.update(value))
    assert first == second


def test_the_score_of_a_value_does_not_depend_on_what_comes_later() -> None:
    past = noise(400)
    one, other = Watch(), Watch()
    assert [one.update(value) for value in [*past, 500.0]][:400] == [
        other.update(value) for value in [*past, 0.0]
    ][:400]


def test_after_an_alarm_only_what_is_louder_is_told() -> None:
    quiet = noise(600)
    first = Watch()
    for value in [*quiet, 70.0]:
        first.update(value)
    again = [first.update(value) for value in noise(15, seed=3)]
    assert not [score for score in again if score >= ALARM]
    assert first.update(300.0) >= ALARM


def test_the_past_reaches_back_only_so_far() -> None:
    wild = noise(300, deviation=30.0)
    calm = noise(400, seed=5)
    spike = [*wild, *calm, 70.0]
    forgetful = Watch(tuning=Tuning(memory=200, silence=0, silence_share=0.0))
    assert 700 in alarms(spike, forgetful)
    assert 700 not in alarms(spike)


def test_a_number_too_large_to_square_does_not_end_the_watch() -> None:
    watch = Watch()
    assert all(math.isfinite(watch.update(1e200 if place % 2 else -1e200)) for place in range(400))
    assert watch.update(float("inf")) == 0.0

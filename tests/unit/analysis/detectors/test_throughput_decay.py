"""A training that slows down."""

from typing import Any

import numpy as np
import pytest

from jobmeter.analysis.detectors import throughput_decay
from jobmeter.model.report import Finding, Severity
from support import curves, views

STEPS = 400


def look(waits: curves.Values, *, events: Any = (), **metrics: curves.Values) -> list[Finding]:
    steps = curves.training(np.cumsum(waits), **metrics)
    return list(throughput_decay.detect(curves.run(steps=steps, events=events)))


def jitter(share: float = 0.05) -> curves.Values:
    return 1 + curves.noise(STEPS, share)


def test_steps_that_take_longer_and_longer_are_told() -> None:
    [found] = look(np.linspace(1.0, 2.0, STEPS) * jitter())
    assert found.severity is Severity.WARNING
    assert found.figures["decline_ratio"] == pytest.approx(0.38, abs=0.05)
    assert found.figures["slope_per_second"] < 0
    assert found.sentence.startswith("steps per second fell from 0.8")


def test_a_steady_training_is_silent_and_so_is_a_noisy_one() -> None:
    assert look(jitter()) == []
    assert look(np.abs(1 + curves.noise(STEPS, 0.5)) + 0.1) == []


def test_a_training_that_becomes_faster_is_fine() -> None:
    assert look(np.linspace(2.0, 1.0, STEPS)) == []


def test_a_slow_start_is_no_decay_and_neither_are_evaluations() -> None:
    waits = jitter()
    waits[:10] = 30.0
    assert look(waits) == []
    waits[50::50] = 60.0
    assert look(waits) == []


def test_a_little_is_weather_and_some_is_worth_a_word() -> None:
    assert look(np.linspace(1.0, 1.1, STEPS) * jitter(0.01)) == []
    [found] = look(np.linspace(1.0, 1.35, STEPS) * jitter(0.01))
    assert found.severity is Severity.INFO


def test_tokens_count_more_than_steps() -> None:
    slower = np.linspace(1.0, 2.0, STEPS)
    assert look(slower, tokens_per_second=np.full(STEPS, 5000.0)) == []
    [found] = look(np.ones(STEPS), tokens_per_second=np.linspace(5000.0, 2500.0, STEPS))
    assert found.key == "tokens_per_second"
    assert found.sentence == "tokens per second fell from 4471 to 2779 over the run, by 38 %"
    [samples] = look(np.ones(STEPS), samples_per_second=np.linspace(64.0, 32.0, STEPS))
    assert samples.key == "samples_per_second"


def test_a_metric_logged_a_few_times_is_passed_over() -> None:
    few = np.full(STEPS, np.nan)
    few[:5] = 1000.0
    assert len(look(np.linspace(1.0, 2.0, STEPS), tokens_per_second=few)) == 1


def test_a_larger_batch_makes_fewer_steps() -> None:
    changed = (views.event(100, "batch_size_changed", to=64),)
    assert look(np.linspace(1.0, 2.0, STEPS), events=changed) == []


def test_little_or_nothing_to_go_by_is_silent() -> None:
    assert look(np.linspace(1.0, 2.0, 20)) == []
    assert list(throughput_decay.detect(curves.run())) == []
    # all but a few in the first tenth of the time
    assert look([*([0.01] * 30), 50.0, 50.0, 50.0]) == []
    assert look(np.ones(STEPS), tokens_per_second=np.zeros(STEPS)) == []


def test_a_metric_that_falls_from_nothing_to_less_is_no_throughput() -> None:
    falling = np.concatenate([np.zeros(STEPS // 3), np.linspace(0.0, -5.0, STEPS - STEPS // 3)])
    assert look(np.ones(STEPS), tokens_per_second=falling) == []

"""Histories are bounded, statistics leave out what was not measured, alerts are told once."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from jobmeter.fleet import alerts, statistics
from jobmeter.fleet.alerts import Watcher
from jobmeter.fleet.history import RankHistory
from jobmeter.fleet.metrics import TrainingMetrics
from jobmeter.fleet.settings import MetricsCollectorConfig

START = datetime(2026, 1, 20, tzinfo=UTC)


def sample(second: float = 0, rank: int = 0, **fields: float) -> TrainingMetrics:
    return TrainingMetrics(START + timedelta(seconds=second), "j", rank, **fields)  # type: ignore[arg-type]


def test_a_history_keeps_the_newest_and_counts_all() -> None:
    history = RankHistory(3, 3600)
    for second in range(5):
        history.add(sample(second), float(second))
    assert [one.timestamp.second for one in history] == [2, 3, 4]
    assert (len(history), history.collected) == (3, 5)


def test_samples_after_a_clean_up_are_kept() -> None:
    history = RankHistory(10, 60)
    history.add(sample(0), 0.0)
    assert history.clean_up(1000.0) == 1
    assert (len(history), history.latest()) == (0, None)
    history.add(sample(1001), 1001.0)
    assert history.latest() == sample(1001)


def test_age_is_by_our_clock_because_a_hosts_own_may_be_wrong() -> None:
    history = RankHistory(10, 60)
    history.add(sample(-1e8), 0.0)
    assert history.clean_up(59.0) == 0


def test_history_by_time_includes_both_ends() -> None:
    history = RankHistory(10, 60)
    for second in range(4):
        history.add(sample(second), 0.0)
    since, until = START + timedelta(seconds=1), START + timedelta(seconds=2)
    assert [one.timestamp.second for one in history.between(since, until)] == [1, 2]
    assert len(history.between(None, until)) == 3
    assert len(history.between(since, None)) == 3


def test_statistics_of_a_job_have_every_field_over_all_and_per_rank() -> None:
    shape = statistics.of_job(
        {
            0: [
                sample(n, 0, training_loss=4.0 - n, throughput_tokens_sec=100, gpu_util=90) for n in range(4)
            ],
            1: [sample(n, 1, training_loss=2.0, throughput_tokens_sec=50, gpu_util=70) for n in range(4)],
        }
    )
    assert (shape["ranks"], shape["total_metrics"]) == (2, 8)
    assert (shape["avg_gpu_util"], shape["avg_throughput"], shape["avg_loss"]) == (80.0, 75.0, 2.25)
    # rank 0: (90 + 100) / 2, rank 1: (70 + 50) / 2
    assert shape["avg_efficiency"] == 77.5
    assert shape["latest_timestamp"] == "2026-01-20T00:00:03Z"
    per_rank = shape["per_rank"]
    assert isinstance(per_rank, dict)
    assert per_rank[0]["training_loss"] == {
        "count": 4,
        "average": 2.5,
        "min": 1.0,
        "max": 4.0,
        "last": 1.0,
        "change": -3.0,
        "trend": "falling",
    }
    assert per_rank[1]["training_loss"]["trend"] == "steady"
    assert "gradient_norm" not in per_rank[0]


def test_a_job_that_told_nothing_has_no_averages() -> None:
    shape = statistics.of_job({0: []})
    assert shape == {
        "ranks": 1,
        "total_metrics": 0,
        "overall": {"count": 0},
        "per_rank": {0: {"count": 0}},
    }


def test_numbers_that_are_not_finite_are_counted_and_not_averaged() -> None:
    assert statistics.of_values([1.0, math.nan, 3.0, math.inf]) == {
        "count": 4,
        "not_finite": 2,
        "average": 2.0,
        "min": 1.0,
        "max": 3.0,
        "last": 3.0,
    }
    assert statistics.of_values([math.nan]) == {"count": 1, "not_finite": 1}


def test_numbers_whose_sum_or_square_is_none_still_have_an_average() -> None:
    assert statistics.of_values([1.6e308, 1.6e308, 1.6e308, 1.6e308]) == {
        "count": 4,
        "average": 1.6e308,
        "min": 1.6e308,
        "max": 1.6e308,
        "last": 1.6e308,
    }
    assert statistics.of_values([3e200, 0.0, 0.0]) == {
        "count": 3,
        "average": 1e200,
        "min": 0.0,
        "max": 3e200,
        "last": 0.0,
    }


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([1, 2, 3, 4], "rising"),
        ([4, 3, 2, 1], "falling"),
        ([5, 5, 5, 5], "steady"),
        ([1, 9, 1, 9, 1, 9, 1, 9], "steady"),
        ([0.0, 0.0, 0.0], "steady"),
    ],
)
def test_a_trend_is_larger_than_the_scatter_around_it(values: list[float], word: str) -> None:
    assert statistics.trend(values)["trend"] == word


def test_thresholds_are_crossed_by_what_was_measured_only() -> None:
    config = MetricsCollectorConfig()
    assert alerts.crossed(sample(), config) == []
    assert alerts.crossed(sample(training_loss=math.nan), config) == []
    beyond = alerts.crossed(sample(training_loss=11, throughput_tokens_sec=49, gpu_util=29), config)
    assert [one.sentence for one in beyond] == [
        "rank 0: throughput 49 tokens/s is below 50",
        "rank 0: loss 11 is above 10",
        "rank 0: GPU utilisation 29 % is below 30 %",
    ]
    assert alerts.crossed(sample(training_loss=10, throughput_tokens_sec=50, gpu_util=30), config) == []


def test_an_alert_is_told_when_a_threshold_is_crossed_and_again_after_it_came_back() -> None:
    watcher = Watcher(MetricsCollectorConfig())
    losses = [12.0, 13.0, 9.0, 12.0]
    assert [len(watcher.look(sample(training_loss=loss))) for loss in losses] == [1, 0, 0, 1]
    assert watcher.look(sample(gpu_util=90)) == []
    assert watcher.look(sample(training_loss=12.0)) == []
    assert len(watcher.look(sample(rank=1, training_loss=12.0))) == 1

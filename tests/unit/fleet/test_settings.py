"""The nine keys and their defaults; a setting that cannot be is refused with a sentence."""

import dataclasses
import math

import pytest

from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig, SettingError


def test_the_nine_keys_have_the_documented_defaults() -> None:
    assert dataclasses.asdict(MetricsCollectorConfig()) == {
        "collection_interval": 5.0,
        "max_history_size": 1000,
        "cleanup_interval_hours": 24,
        "collection_timeout": 10,
        "metrics_file": "training_metrics.json",
        "log_file": "training.log",
        "low_throughput_threshold": 50.0,
        "high_loss_threshold": 10.0,
        "low_gpu_util_threshold": 30.0,
    }


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("collection_interval", 0, "collection_interval must be above 0, not 0"),
        ("collection_interval", "5", "collection_interval must be a number, not '5'"),
        ("collection_timeout", math.inf, "collection_timeout must be a number, not inf"),
        ("cleanup_interval_hours", -1, "cleanup_interval_hours must be above 0, not -1"),
        ("max_history_size", 0, "max_history_size must be a whole number above 0, not 0"),
        ("max_history_size", 2.5, "max_history_size must be a whole number above 0, not 2.5"),
        ("max_history_size", True, "max_history_size must be a whole number above 0, not True"),
        ("metrics_file", "", "metrics_file must be a file name, not ''"),
        ("log_file", 3, "log_file must be a file name, not 3"),
        ("high_loss_threshold", math.nan, "high_loss_threshold must be a number, not nan"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(key: str, value: object, sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        MetricsCollectorConfig.from_dict({key: value})
    assert str(refused.value) == sentence


def test_an_unknown_setting_is_named_with_those_there_are() -> None:
    with pytest.raises(SettingError, match="unknown setting: interval") as refused:
        MetricsCollectorConfig.from_dict({"interval": 1})
    assert refused.value.hint.startswith("use one of collection_interval, ")


@pytest.mark.parametrize("bad", [{"failures": 0}, {"failures": True}, {"open_seconds": 0}])
def test_a_breaker_policy_that_cannot_be_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        BreakerPolicy(**bad)  # type: ignore[arg-type]

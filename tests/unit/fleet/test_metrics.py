"""One sample of a rank: what is legal, what is refused, and what it is worth."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.errors import UsageError
from jobmeter.fleet.metrics import MetricError, TrainingMetrics

SEED = {
    "timestamp": "2026-01-20T12:05:30Z",
    "job_id": "job_001",
    "rank": 0,
    "gpu_util": 87.5,
    "gpu_mem_used_gb": 9.8,
    "training_loss": 4.231,
    "throughput_tokens_sec": 152,
    "gradient_norm": 2.145,
    "learning_rate": 0.0002,
}


def sample(**fields: object) -> TrainingMetrics:
    known = {"timestamp": datetime(2026, 1, 20, tzinfo=UTC), "job_id": "j", "rank": 0}
    return TrainingMetrics(**{**known, **fields})  # type: ignore[arg-type]


def test_the_documented_sample_comes_back_as_it_was() -> None:
    assert TrainingMetrics.from_dict(SEED).to_dict() == SEED


def test_what_was_not_measured_is_absent_and_not_zero() -> None:
    only_loss = sample(training_loss=0.5)
    assert only_loss.gpu_util is None
    assert only_loss.to_dict() == {
        "timestamp": "2026-01-20T00:00:00Z",
        "job_id": "j",
        "rank": 0,
        "training_loss": 0.5,
    }


def test_a_negative_loss_is_legal() -> None:
    assert sample(training_loss=-0.1081).training_loss == -0.1081
    assert sample(training_loss=-0.1081).flags == ()


def test_nan_and_infinity_are_kept_flagged_and_strict_json() -> None:
    odd = sample(training_loss=math.nan, gradient_norm=math.inf)
    assert odd.flags == ("training_loss is NaN", "gradient_norm is Infinity")
    text = json.dumps(odd.to_dict(), allow_nan=False)
    back = TrainingMetrics.from_dict(json.loads(text))
    assert back.training_loss is not None
    assert math.isnan(back.training_loss)
    assert back.gradient_norm == math.inf


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("training_loss", "0.5", "training_loss must be a number, not '0.5'"),
        ("training_loss", True, "training_loss must be a number, not True"),
        ("training_loss", [1], "training_loss must be a number, not [1]"),
        ("gpu_util", 130, "gpu_util must be between 0 and 100 percent: 130"),
        ("gpu_util", -1, "gpu_util must not be negative: -1"),
        ("gpu_mem_used_gb", -0.1, "gpu_mem_used_gb must not be negative: -0.1"),
        ("throughput_tokens_sec", -3, "throughput_tokens_sec must not be negative: -3"),
        ("learning_rate", -1e-4, "learning_rate must not be negative: -0.0001"),
        ("rank", -1, "rank must not be negative: -1"),
        ("rank", "0", "rank must be a whole number, not '0'"),
        ("rank", 1.0, "rank must be a whole number, not 1.0"),
        ("job_id", "", "job_id must be a name, not ''"),
        ("job_id", 7, "job_id must be a name, not 7"),
        ("timestamp", "yesterday", "timestamp is no time: 'yesterday'"),
        ("timestamp", None, "timestamp must be a time, not None"),
        ("timestamp", 1e300, "timestamp is no time: 1e+300"),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence_that_names_it(
    field: str, value: object, sentence: str
) -> None:
    with pytest.raises(MetricError) as refused:
        sample(**{field: value})
    assert str(refused.value) == sentence
    assert isinstance(refused.value, UsageError)
    assert isinstance(refused.value, ValueError)


def test_a_long_value_is_shown_short() -> None:
    with pytest.raises(MetricError, match=r"not '1{56}\.\.\.$"):
        sample(training_loss="1" * 500)


def test_scalars_of_numpy_are_numbers() -> None:
    told = sample(training_loss=np.float32(0.5), rank=np.int64(3))
    assert (told.training_loss, told.rank) == (0.5, 3)
    assert type(told.rank) is int


def test_whole_numbers_stay_whole() -> None:
    assert sample(throughput_tokens_sec=2**60).to_dict()["throughput_tokens_sec"] == 2**60


def test_a_time_may_be_given_as_text_seconds_or_datetime() -> None:
    expected = datetime(2026, 1, 20, 12, 5, 30, tzinfo=UTC)
    east = timezone(timedelta(hours=2))
    assert sample(timestamp="2026-01-20T12:05:30Z").timestamp == expected
    assert sample(timestamp="2026-01-20T12:05:30").timestamp == expected
    assert sample(timestamp=1768910730.0).timestamp == expected
    assert sample(timestamp=datetime(2026, 1, 20, 14, 5, 30, tzinfo=east)).timestamp == expected


def test_a_record_without_a_rank_is_refused() -> None:
    with pytest.raises(MetricError, match="training metrics without rank"):
        TrainingMetrics.from_dict({"timestamp": 0, "job_id": "j"})


def test_efficiency_is_the_mean_of_utilisation_and_of_the_share_of_the_best_throughput() -> None:
    told = sample(gpu_util=80, throughput_tokens_sec=150, best_throughput=200.0)
    assert told.efficiency_score == 77.5


def test_efficiency_uses_what_is_known_and_is_unknown_otherwise() -> None:
    assert sample(gpu_util=80).efficiency_score == 80.0
    assert sample(throughput_tokens_sec=50, best_throughput=200.0).efficiency_score == 25.0
    assert sample(throughput_tokens_sec=50).efficiency_score is None
    assert sample(training_loss=1.0).efficiency_score is None
    assert sample(gpu_util=math.nan).efficiency_score is None


@given(
    high=st.floats(0.001, 1e6),
    drop=st.floats(0, 1e6),
    util=st.one_of(st.none(), st.floats(0, 100)),
    now=st.one_of(st.none(), st.floats(0, 1e9)),
    best=st.one_of(st.none(), st.floats(1, 1e9)),
)
def test_efficiency_never_falls_when_the_loss_falls(
    high: float, drop: float, util: float | None, now: float | None, best: float | None
) -> None:
    others = {"gpu_util": util, "throughput_tokens_sec": now, "best_throughput": best}
    before = sample(training_loss=high, **others).efficiency_score
    after = sample(training_loss=high - drop, **others).efficiency_score
    assert before == after
    assert before is None or 0 <= before <= 100

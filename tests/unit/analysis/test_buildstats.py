"""The formulas of build campaigns, to the letter."""

import math

import pytest

from jobmeter.analysis import buildstats
from support import builds

ZEROS = {"score": 0, "variance": 0, "std_dev": 0, "cv": 0}


def test_a_jump_of_memory_is_a_high_spike() -> None:
    found = buildstats.detect_anomalies(builds.samples())
    assert [spike for spike in found["spikes"] if spike["sample_index"] == 10] == [
        {
            "type": "memory",
            "sample_index": 10,
            "from_value": 52,
            "to_value": 137,
            "delta": 85,
            "percent_change": 163.5,
            "timestamp": "2025-11-14T03:20:14+00:00",
            "severity": "HIGH",
        }
    ]


def test_a_rise_of_cpu_by_more_than_30_percent_is_a_spike() -> None:
    found = buildstats.detect_anomalies(builds.samples())
    assert [
        (s["delta"], s["percent_change"], s["severity"]) for s in found["spikes"] if s["sample_index"] == 12
    ] == [(16, 38.1, "LOW")]
    assert found["troughs"] == []


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [(100, 130, None), (100, 131, "LOW"), (100, 151, "MEDIUM"), (100, 201, "HIGH")],
)
def test_severity_follows_the_percentage(before: int, after: int, severity: str | None) -> None:
    found = buildstats.detect_anomalies([{"cpu": before, "ts": "a"}, {"cpu": after, "ts": "b"}])
    assert [spike["severity"] for spike in found["spikes"]] == ([] if severity is None else [severity])


def test_40_gb_more_are_a_spike_even_where_the_percentage_is_small() -> None:
    found = buildstats.detect_anomalies([{"mem_used_gb": 400}, {"mem_used_gb": 441}])
    assert [(s["delta"], s["percent_change"], s["severity"]) for s in found["spikes"]] == [(41, 10.2, "LOW")]


def test_a_rise_from_zero_has_no_percentage() -> None:
    found = buildstats.detect_anomalies([{"cpu": 0, "mem_used_gb": 0}, {"cpu": 90, "mem_used_gb": 41}])
    assert [(s["type"], s["percent_change"]) for s in found["spikes"]] == [("memory", 0)]


def test_a_drop_by_more_than_30_percent_is_a_trough_without_severity() -> None:
    found = buildstats.detect_anomalies(
        [{"cpu": 100, "mem_used_gb": 100, "ts": "a"}, {"cpu": 69, "mem_used_gb": 69, "ts": "b"}]
    )
    assert found == {
        "spikes": [],
        "troughs": [
            {
                "type": word,
                "sample_index": 1,
                "from_value": 100,
                "to_value": 69,
                "delta": -31,
                "percent_change": -31.0,
                "timestamp": "b",
            }
            for word in ("cpu", "memory")
        ],
    }


def test_fields_that_are_absent_or_no_numbers_are_passed_over() -> None:
    samples = [
        {"cpu": 10},
        {"cpu": "n/a", "mem_used_gb": None},
        {"cpu": True},
        "sample",
        {"cpu": math.nan},
        {"cpu": 10},
    ]
    assert buildstats.detect_anomalies(samples) == {"spikes": [], "troughs": []}
    assert buildstats.calculate_consistency_score(samples)["cpu"] == {
        "score": 1,
        "variance": 0,
        "std_dev": 0,
        "cv": 0,
    }


def test_numbers_larger_than_any_machine_are_none() -> None:
    assert buildstats.number(2**63) is None
    assert buildstats.number(1e300) is None
    assert buildstats.number(10**400) is None
    assert buildstats.number(2.5) == 2.5


def test_steadiness_is_one_less_the_coefficient_of_variation() -> None:
    samples = [{"cpu": 40, "mem_used_gb": 10}, {"cpu": 60, "mem_used_gb": 90}, {"cpu": 0, "mem_used_gb": 0}]
    # samples of 0 do not count: 40 and 60 have the mean 50 and the deviation 14.14
    assert buildstats.calculate_consistency_score(samples) == {
        "cpu": {"score": 0.72, "variance": 200, "std_dev": 14.1, "cv": 0.28},
        "memory": {"score": 0, "variance": 3200, "std_dev": 56.6, "cv": 1.13},
        "overall": 0.36,
    }


def test_less_than_two_values_have_no_steadiness() -> None:
    assert buildstats.calculate_consistency_score([{"cpu": 5}]) == {
        "cpu": ZEROS,
        "memory": ZEROS,
        "overall": 0,
    }


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (1, "Extremely consistent"),
        (0.9, "Extremely consistent"),
        (0.89, "Consistent"),
        (0.7, "Consistent"),
        (0.5, "Moderate variance"),
        (0.49, "High variance"),
        (0, "High variance"),
        (-1, "High variance"),
    ],
)
def test_scores_have_bands(score: float, band: str) -> None:
    assert buildstats.score_band(score) == band


def test_the_metrics_of_a_build_have_the_keys_of_campaigns() -> None:
    metrics = buildstats.build_metrics(builds.samples())
    assert {key: metrics[key] for key in list(metrics)[:6]} == {
        "cpu_utilization_avg": 34.3,
        "cpu_utilization_peak": 58,
        "memory_used_avg_gb": 75.0,
        "memory_used_peak_gb": 137,
        "io_read_total_mb": 0,
        "io_write_total_mb": 140000,
    }
    assert list(metrics)[6:] == ["resource_samples", "sample_count", "anomalies", "consistency_score"]
    assert metrics["resource_samples"] == builds.samples()
    assert metrics["sample_count"] == 21


def test_a_build_without_samples_has_empty_lists_and_zeros() -> None:
    assert buildstats.build_metrics([]) == {
        "cpu_utilization_avg": 0,
        "cpu_utilization_peak": 0,
        "memory_used_avg_gb": 0,
        "memory_used_peak_gb": 0,
        "io_read_total_mb": 0,
        "io_write_total_mb": 0,
        "resource_samples": [],
        "sample_count": 0,
        "anomalies": {"spikes": [], "troughs": []},
        "consistency_score": {"cpu": ZEROS, "memory": ZEROS, "overall": 0},
    }


def test_what_json_has_no_word_for_is_not_kept() -> None:
    metrics = buildstats.build_metrics([{"ts": "a", "cpu": math.nan, "mem_used_gb": 2.5}, "garbage", None])
    assert metrics["resource_samples"] == [{"ts": "a", "mem_used_gb": 2.5}]


def test_counters_that_began_anew_did_not_shrink() -> None:
    assert buildstats.build_metrics([{"io_read_mb": 500}, {"io_read_mb": 20}])["io_read_total_mb"] == 0

"""Spikes and troughs: what a person would point at in a plot, and nothing else."""

import numpy as np
import pytest

from jobmeter.analysis.detectors import spikes, troughs
from jobmeter.analysis.episodes import Episode
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Limits
from support import curves
from support.curves import GIB, MIB

BUILD = (1, 13, 20, 28, 35, 40, 44, 48, 50, 52, 137, 66, 60, 62, 61, 64, 63, 62, 66, 64, 62)
"""Memory in GB of build 84fbeb34, once a minute; what is known of it: sample 9 is 52, sample 10 is 137, the mean 52."""
BUILD_CPU = (0, 6, 31, 38, 40, 41, 42, 42, 44, 43, 45, 42, 58, 55, 54, 57, 56, 55, 56, 57, 54)


def risen(*series: curves.Series, **facts: object) -> list[Finding]:
    return list(spikes.detect(curves.run(*series, **facts)))


def fallen(*series: curves.Series) -> list[Finding]:
    return list(troughs.detect(curves.run(*series)))


def test_the_build_that_went_from_52_to_137_gigabytes_has_one_spike() -> None:
    [found] = risen(
        curves.gauge("buildstats_mem_used", np.array(BUILD, float) * GIB, every=60.0),
        curves.gauge("buildstats_cpu", np.array(BUILD_CPU, float), every=60.0),
    )
    assert found.severity is Severity.WARNING
    assert found.sentence == "memory rose from 52 GiB to 137 GiB (+163.5 %) for 1 min 00 s"
    assert found.figures == {
        "from_bytes": 52.0 * GIB,
        "to_bytes": 137.0 * GIB,
        "seconds": 60.0,
        "percent_change": 163.5,
        "count": 1,
    }
    assert (found.begin, found.end) == (curves.STARTED + 600, curves.STARTED + 660)


def test_idle_noise_is_silent() -> None:
    idle = np.abs(curves.noise(600, 0.003))
    assert risen(curves.cpu(idle)) == []
    assert fallen(curves.cpu(idle)) == []
    assert risen(curves.gauge("buildstats_cpu", [0.3, 0.0, 0.6, 0.1, 0.0, 0.9, 0.3, 0.2, 0.0, 0.3])) == []


def test_a_rise_from_nothing_is_seen() -> None:
    cores = np.zeros(120)
    cores[60:63] = 4.0
    [found] = risen(curves.cpu(cores))
    assert found.sentence == "CPU rose from 0.00 cores to 4.00 cores for 3 s"
    assert "percent_change" not in found.figures


def test_a_step_up_is_a_phase_not_a_spike() -> None:
    stepped = np.repeat([1.0, 5.0], [150, 150]) * GIB
    assert risen(curves.memory(stepped + curves.noise(300, 10 * MIB))) == []
    assert fallen(curves.memory(stepped[::-1] + curves.noise(300, 10 * MIB))) == []


def test_in_a_long_run_the_edge_of_a_step_is_no_spike_either() -> None:
    for place in range(2000, 2017, 4):
        stepped = np.repeat([1.0, 5.0], [place, 4000 - place]) * GIB
        assert risen(curves.memory(stepped)) == []
        assert fallen(curves.memory(stepped)) == []


def test_a_ramp_is_no_spike_however_steep() -> None:
    for seconds in (20, 60, 200):
        ramp = np.concatenate([np.full(100, 1.0), np.linspace(1, 9, seconds), np.full(100, 9.0)]) * GIB
        assert risen(curves.memory(ramp)) == []


def test_a_hill_is_one_spike_not_one_for_each_sample() -> None:
    hill = np.concatenate([np.full(150, 1.0), np.linspace(1, 6, 5), np.linspace(6, 1, 5), np.full(150, 1.0)])
    [found] = risen(curves.memory(hill * GIB + curves.noise(310, 10 * MIB)))
    assert found.figures["to_bytes"] == pytest.approx(6 * GIB, rel=0.02)


def test_a_spike_that_wavers_is_one() -> None:
    values = np.full(200, 1.0)
    values[100:106] = [6.0, 1.1, 5.0, 1.2, 1.1, 6.5]
    [found] = risen(curves.memory(values * GIB))
    assert found.figures["seconds"] == 6.0


def test_restless_phases_need_more_to_be_left() -> None:
    restless = 4.0 + curves.noise(600, 1.0)
    restless[300] = 8.0
    assert risen(curves.cpu(restless)) == []
    restless[300] = 16.0
    assert len(risen(curves.cpu(restless))) == 1


def test_a_rhythm_is_told_once() -> None:
    values = np.tile(np.concatenate([np.full(57, 1.0), np.full(3, 4.0)]), 10) * GIB
    [found] = risen(curves.memory(values[:-10]))
    assert found.severity is Severity.INFO
    assert found.sentence == (
        "memory rose 9 times, about every 1 min 00 s; at most it rose from 1 GiB to 4 GiB (+300.0 %)"
    )
    assert (found.figures["count"], found.figures["apart_seconds"]) == (9, 60.0)


def test_starting_up_is_no_spike() -> None:
    assert risen(curves.cpu([3.0, 2.0, 0.5, *([0.0] * 200)])) == []


def test_a_rise_at_the_very_end_may_be_what_ended_the_job() -> None:
    [found] = risen(curves.memory([*([1.0 * GIB] * 100), 2.0 * GIB, 3.5 * GIB]))
    assert found.figures["to_bytes"] == 3.5 * GIB


def test_the_end_of_a_job_is_no_trough() -> None:
    assert fallen(curves.cpu([*([4.0] * 100), 0.5, 0.0])) == []


def test_a_long_rise_is_no_spike() -> None:
    rises = np.repeat([1.0, 5.0, 1.0], [60, 30, 30]) * GIB
    assert risen(curves.memory(rises)) == []


def test_a_pause_of_busy_cores_is_a_trough() -> None:
    cores = 4.0 + curves.noise(300, 0.05)
    cores[150:156] = 0.1
    [found] = fallen(curves.cpu(cores))
    assert found.detector == "troughs"
    assert found.severity is Severity.INFO
    assert (found.begin, found.end) == (curves.STARTED + 150, curves.STARTED + 156)


def test_bursts_of_reading_are_how_reading_is() -> None:
    bytes_read = np.zeros(200)
    bytes_read[100] = 500.0 * MIB
    assert risen(curves.rate("wait_read_bytes", bytes_read)) == []


def spiking(top: float) -> curves.Series:
    values = np.full(200, 1.0 * GIB)
    values[100] = top
    return curves.memory(values)


def test_doubled_memory_is_a_warning_where_it_is_much_of_what_is_allowed() -> None:
    limit = Limits(memory_bytes=16 * GIB)
    assert [one.severity for one in risen(spiking(9.0 * GIB), limits=limit)] == [Severity.WARNING]
    assert [one.severity for one in risen(spiking(3.0 * GIB), limits=limit)] == [Severity.INFO]
    assert [one.severity for one in risen(spiking(3.0 * GIB))] == [Severity.WARNING]
    assert [one.severity for one in risen(spiking(1.8 * GIB))] == [Severity.INFO]


def test_memory_of_gpus_is_not_held_against_the_limit_of_the_host() -> None:
    values = np.full(200, 1.0 * GIB)
    values[100] = 9.0 * GIB
    series = curves.gauge("nvml_mem_used", values, instance="GPU-a")
    [found] = risen(series, limits=Limits(memory_bytes=500 * GIB))
    assert (found.severity, found.instance) == (Severity.WARNING, "GPU-a")
    assert found.sentence.startswith("memory of GPU-a rose from 1 GiB to 9 GiB")


def test_a_change_from_nothing_has_no_percentage() -> None:
    assert Episode(0.0, 1.0, 0.0, 5.0).percent_change is None
    assert Episode(0.0, 1.0, 4.0, 1.0).height == 3.0


def test_a_short_run_has_no_spikes() -> None:
    assert risen(curves.memory([1.0, 1.0, 9.0 * GIB])) == []


def test_memory_freed_and_taken_again_is_no_trough_and_memory_gone_for_longer_is() -> None:
    values = np.full(600, 1.0) * GIB
    values[40:42] = 0.1 * GIB
    assert fallen(curves.memory(values)) == []
    values[80:88] = 0.1 * GIB
    [found] = fallen(curves.memory(values))
    assert (found.begin, found.end) == (curves.STARTED + 80, curves.STARTED + 88)

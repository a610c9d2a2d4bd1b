"""When samples are due: early while the job is young, then on a fixed grid, never made up for."""

import time

from jobmeter.recording.clock import Cadence, SystemClock, Timing
from support.clocks import FakeClock


def moments(cadence: Cadence, count: int, late: float = 0.0) -> list[float]:
    found = []
    for _ in range(count):
        due = cadence.due()
        found.append(round(due, 6))
        cadence.taken(due + late)
    return found


def test_a_young_job_is_looked_at_early_and_often() -> None:
    assert moments(Cadence(1000.0, 1.0), 8) == [
        1000.05,
        1000.1,
        1000.2,
        1000.4,
        1000.7,
        1001.0,
        1002.0,
        1003.0,
    ]


def test_late_samples_do_not_shift_the_grid() -> None:
    """Each sample takes 30 ms: a thousand of them later the grid is where it was."""
    assert moments(Cadence(1000.0, 1.0), 1005, late=0.03)[-1] == 2000.0


def test_moments_that_were_missed_are_skipped() -> None:
    cadence = Cadence(1000.0, 1.0)
    moments(cadence, 5)
    cadence.taken(1007.3)
    assert cadence.due() == 1008.0
    cadence.taken(1008.0)
    assert cadence.due() == 1009.0


def test_a_moment_that_is_just_now_is_past() -> None:
    cadence = Cadence(1000.0, 1.0)
    moments(cadence, 5)
    cadence.taken(1002.0)
    assert cadence.due() == 1003.0


def test_a_recorder_that_slept_for_a_month_wakes_at_once() -> None:
    cadence = Cadence(0.0, 0.01)
    began = time.process_time()
    cadence.taken(30 * 86400.0 + 0.004)
    assert time.process_time() - began < 0.05
    assert round(cadence.due(), 6) == 30 * 86400 + 0.01


def test_a_very_fast_cadence_begins_no_sooner_than_20_ms() -> None:
    found = moments(Cadence(1000.0, 0.01), 5)
    assert found == [1000.02, 1000.03, 1000.04, 1000.05, 1000.06]


def test_a_slow_cadence_begins_within_seconds() -> None:
    assert moments(Cadence(0.0, 60.0), 7) == [3.0, 6.0, 12.0, 24.0, 42.0, 60.0, 120.0]


def test_the_timing_of_a_recording_begins_with_it() -> None:
    timing = Timing(FakeClock(), sample_interval=2.0, report_interval=10.0, timeout=5.0)
    assert (timing.began, timing.deadline, timing.cadence.due()) == (1000.0, 1005.0, 1000.1)
    assert Timing(FakeClock(), sample_interval=2.0, report_interval=10.0, timeout=None).deadline is None


def test_the_systems_clocks_are_the_kernels() -> None:
    clock = SystemClock()
    assert abs(clock.monotonic() - time.clock_gettime(time.CLOCK_MONOTONIC)) < 1.0
    assert abs(clock.wall() - time.clock_gettime(time.CLOCK_REALTIME)) < 1.0

"""Stalls: a job that worked and stopped, not one that rests."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jobmeter.analysis.detectors import stall
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Status
from jobmeter.model.steps import Steps
from support import curves, views
from support.curves import MIB, STARTED

WORK, REST = [1.0] * 60, [0.0] * 100


def look(*series: curves.Series, **facts: Any) -> list[Finding]:
    return list(stall.detect(curves.run(*series, **facts)))


def lived(cores: list[float], **facts: Any) -> list[Finding]:
    """Look at a job that used these cores and neither read nor wrote."""
    return look(curves.cpu(cores), curves.rate("wait_read_bytes", [0.0] * len(cores)), **facts)


def test_a_job_that_worked_and_then_hung_until_it_was_killed_is_critical() -> None:
    [found] = lived(WORK + REST, status=Status.KILLED)
    assert found.severity is Severity.CRITICAL
    assert found.sentence == "the job did nothing for its last 1 min 40 s: no CPU, no reading"
    assert found.figures == {"seconds": 100.0, "at_end": 1}
    assert (found.begin, found.end) == (STARTED + 60, STARTED + 160)


def test_a_job_that_never_worked_is_idle() -> None:
    assert look(curves.cpu([0.001] * 200), status=Status.KILLED) == []
    assert look(curves.cpu([0.9, 0.3, *REST, *REST])) == []


def test_what_it_did_only_at_the_start_is_not_work() -> None:
    assert look(curves.cpu([0.0, *REST, *WORK])) == []


def test_reading_a_pipe_or_using_a_gpu_is_no_stall() -> None:
    cpu = curves.cpu(WORK + REST)
    busy = np.array([0.0] * 60 + [1.0] * 100)
    for other in (
        curves.rate("wait_read_bytes", busy * MIB),
        curves.rate("wait_write_bytes", busy * MIB),
        curves.rate("wait_rchar", busy * MIB),
        curves.gauge("nvml_util", busy * 90, instance="GPU-a"),
    ):
        assert look(cpu, other, status=Status.KILLED) == []
    quiet = curves.rate("wait_read_bytes", busy * 100)
    assert len(look(cpu, quiet, status=Status.KILLED)) == 1


def test_a_pause_that_ended_is_told_but_no_drama() -> None:
    [found] = lived(WORK + REST + WORK, wall_seconds=220.0)
    assert found.severity is Severity.INFO
    assert found.sentence == "the job paused for 1 min 40 s, 1 min 00 s after its start: no CPU, no reading"
    assert found.figures["at_end"] == 0


def test_a_completed_job_that_rested_long_wasted_its_machine() -> None:
    [found] = lived(WORK + REST * 5, wall_seconds=560.0)
    assert found.severity is Severity.WARNING
    [short] = lived(WORK * 50 + REST * 5, wall_seconds=3500.0)
    assert short.severity is Severity.INFO
    [unknown] = lived(WORK + REST * 5, wall_seconds=None)
    assert unknown.severity is Severity.WARNING


def test_where_io_was_not_measured_less_is_claimed() -> None:
    [found] = look(curves.cpu(WORK + REST), status=Status.KILLED)
    assert found.severity is Severity.WARNING
    assert found.sentence == "the job did nothing for its last 1 min 40 s: no CPU"
    [completed] = look(curves.cpu(WORK + REST * 5), wall_seconds=560.0)
    assert completed.severity is Severity.INFO


def test_pauses_that_come_again_and_again_are_how_the_job_works() -> None:
    assert look(curves.cpu((WORK + REST) * 5 + WORK)) == []
    assert len(look(curves.cpu((WORK + REST) * 5), status=Status.FAILED)) == 1


def test_the_heartbeat_of_a_tracker_does_not_hide_a_hang() -> None:
    hung = np.array([4.0] * 60 + [0.01] * 200)
    hung[65::15] = 0.3
    chatter = np.zeros(260)
    chatter[70::20] = 1.0 * MIB
    [found] = look(curves.cpu(hung), curves.rate("wait_read_bytes", chatter), status=Status.KILLED)
    assert found.figures["seconds"] == 200.0


def test_a_job_that_works_a_little_again_and_again_goes_on() -> None:
    cores = np.array([1.0] * 60 + [0.0] * 300)
    cores[62::6] = 1.0
    assert lived(cores.tolist(), status=Status.KILLED) == []
    flicker = np.array([1.0] * 60 + [0.0] * 300)
    flicker[60::2] = 0.09
    assert lived(flicker.tolist(), status=Status.KILLED) == []


def test_what_a_job_does_while_it_is_ended_is_not_work() -> None:
    [found] = lived([*WORK, *REST, 0.6, 0.4], status=Status.KILLED)
    assert found.severity is Severity.CRITICAL


def test_a_short_pause_is_nothing() -> None:
    assert look(curves.cpu(WORK + [0.0] * 20 + WORK)) == []


def test_without_cpu_nothing_can_be_said() -> None:
    assert look(curves.memory([5.0] * 100)) == []


def test_percent_of_a_host_is_understood_too() -> None:
    [found] = look(curves.gauge("buildstats_cpu", [50.0] * 20 + [0.0] * 10, every=60.0), status=Status.FAILED)
    assert found.figures["seconds"] == 600.0


def test_what_the_recorder_saw_of_the_processes_is_the_evidence() -> None:
    seen = {
        "pid": 7,
        "command": "python train.py",
        "state": "S",
        "wchan": "futex_wait",
        "stack": "in acquire",
    }
    events = (
        views.event(100, "stall", processes=[seen, "torn", {"pid": 8, "command": "sh"}]),
        views.event(100, "oom_kill", processes=[seen]),
        views.event(20, "stall", processes=[seen]),
        views.event(110, "stall", processes="torn"),
    )
    [found] = look(curves.cpu(WORK + REST), status=Status.KILLED, events=events)
    assert [one.sentence for one in found.evidence] == [
        "process 7 (python train.py): state S, wchan futex_wait",
        "process 8 (sh): waiting",
    ]
    assert [one.quote for one in found.evidence] == ["in acquire", None]


def test_steps_that_stop_coming_are_a_hang_though_the_cpu_is_busy() -> None:
    [found] = look(
        curves.cpu([8.0] * 700),
        steps=curves.training(np.arange(100) * 2.0),
        status=Status.KILLED,
        ended_at=STARTED + 700,
    )
    assert found.severity is Severity.CRITICAL
    assert found.key == "step"
    assert found.sentence == "no step came for the last 8 min 22 s after step 100; before, one came every 2 s"
    assert (found.figures["seconds"], found.figures["step"], found.figures["at_end"]) == (502.0, 100, 1)


def test_a_run_that_has_not_ended_is_judged_by_when_it_was_last_seen() -> None:
    steps = curves.training(np.arange(100) * 2.0)
    [found] = look(curves.cpu([8.0] * 700), steps=steps, status=Status.RUNNING)
    assert found.figures["seconds"] == 502.0
    assert look(steps=steps, status=Status.RUNNING) == []


def test_saving_a_model_at_the_end_is_no_hang() -> None:
    steps = curves.training(np.arange(100) * 2.0)
    assert look(steps=steps, ended_at=STARTED + 700) == []
    assert look(steps=steps, ended_at=STARTED + 230, status=Status.FAILED) == []


def test_one_step_that_took_minutes_is_told_and_evaluations_are_not() -> None:
    waits = np.ones(400)
    waits[200] = 300.0
    [found] = look(steps=curves.training(np.cumsum(waits)))
    assert found.severity is Severity.WARNING
    assert found.sentence == "step 201 took 5 min 00 s, usually it is 1 s"
    waits[50::50] = 120.0
    assert look(steps=curves.training(np.cumsum(waits))) == []


def test_steps_that_are_told_seldom_are_not_called_one() -> None:
    waits = np.full(40, 20.0)
    waits[20] = 900.0
    moments = np.cumsum(waits)
    table = replace(curves.training(moments).tables[0], steps=[50 * (place + 1) for place in range(40)])
    [found] = look(steps=Steps((table,)))
    assert found.sentence == "steps 1001 to 1050 took 15 min 00 s, usually one is told every 20 s"


@pytest.mark.parametrize("count", [0, 3])
def test_few_steps_say_nothing(count: int) -> None:
    steps = curves.training(np.arange(count) * 500.0) if count else Steps()
    assert look(steps=steps, status=Status.FAILED, ended_at=STARTED + 9000) == []

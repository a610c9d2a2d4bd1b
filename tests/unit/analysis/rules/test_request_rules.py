"""Advice on what to ask a scheduler for."""

import dataclasses

import pytest

from jobmeter.analysis import advice as speaking
from jobmeter.analysis import asking
from jobmeter.analysis.case import Case
from jobmeter.model import sizing
from jobmeter.model.report import Cause, Severity
from jobmeter.model.run import Headline, Run, Status
from jobmeter.model.steps import Step, Steps
from support import cases, views
from support.cases import advised, only
from support.views import GIB, STARTED

SLURM = {"SLURM_JOB_ID": "17"}


def asked(
    gib: float = 2,
    *,
    cause: Cause = Cause.COMPLETED,
    cores: float = 0.9,
    limits: tuple[float, float] = (16, 4.0),
    **facts: object,
) -> Case:
    """Build a job of a minute that asked Slurm for 16 GiB and 4 cores."""
    cpu = views.counter("wait_cputime", [(second, cores) for second in range(1, 61)])
    told = facts.pop("told", None)
    return cases.case(
        cause,
        series=facts.pop("series", [cpu]),  # type: ignore[arg-type]
        told=told,  # type: ignore[arg-type]
        findings=facts.pop("findings", ()),  # type: ignore[arg-type]
        **{
            "headline": cases.headlines(memory_peak_bytes=gib * GIB, cpu_seconds=60 * cores),
            "limits": cases.limits(*limits),
            "context": cases.context(environment=SLURM),
            "wall_seconds": 60.0,
        }
        | facts,
    )


def earlier(gib: float, *, wall: float = 60.0, cpu: float = 50.0, status: Status = Status.COMPLETED) -> Run:
    return cases.run(
        headline=cases.headlines(memory_peak_bytes=gib * GIB, cpu_seconds=cpu),
        limits=cases.limits(16, 4.0),
        wall_seconds=wall,
        status=status,
    )


def test_memory_that_stood_empty_is_given_back() -> None:
    advice = only("memory_request", asked())
    assert (advice.severity, advice.config_path) == (Severity.INFO, "--mem")
    assert (advice.current_value, advice.recommended_value) == ("16384M", "2496M")
    assert (
        advice.impact
        == "Frees 13.6 GiB for others and starts sooner; by this run alone, a fifth above its peak"
    )
    limit, peak = advice.predictions
    assert (limit.quantity, limit.before) == ("memory_limit_bytes", 16 * GIB)
    assert (peak.quantity, peak.before, peak.after) == ("memory_peak_bytes", 2 * GIB, 2 * GIB)


def test_memory_is_sized_by_all_runs_that_are_known() -> None:
    history = (earlier(3), earlier(2.5), earlier(3, status=Status.RUNNING))
    advice = only("memory_request", asked(told={"history": history}))
    assert advice.evidence[-1].sentence == "3 runs used up to 3 GiB"
    assert int(str(advice.recommended_value)[:-1]) >= 3072
    assert "of runs would need more" in advice.impact
    assert advice.predictions[1].after == 2.5 * GIB


def test_memory_that_processes_may_have_held_together_is_not_given_back() -> None:
    sampled = Headline(value=2.0 * GIB, low=2.0 * GIB, high=6.0 * GIB, keys=("wait_maxrss",), exact=False)
    advice = only("memory_request", asked(headline={"memory_peak_bytes": sampled}))
    assert advice.recommended_value == "6144M"
    assert advice.impact.endswith("by this run alone, as much as its processes may have held at once")
    cached = dataclasses.replace(sampled, keys=("cgroup_mem_peak", "cgroup_peak_mem_file"))
    kept = only("memory_request", asked(headline={"memory_peak_bytes": cached}))
    assert kept.recommended_value == "2496M"


@pytest.mark.parametrize(("gib", "limit"), [(9, 16), (0.1, 0.3)])
def test_memory_that_is_nearly_right_is_left(gib: float, limit: float) -> None:
    assert advised("memory_request", asked(gib, limits=(limit, 4.0))) == []


def test_a_job_that_was_killed_for_memory_asks_for_more() -> None:
    advice = only("memory_request", asked(16, cause=Cause.OOM_CGROUP, status=Status.KILLED))
    assert (advice.severity, advice.title) == (Severity.CRITICAL, "Ask for more memory")
    assert advice.recommended_value == "21504M"
    assert advice.impact == "Room to finish: it was killed at 16 GiB"
    machine = only("memory_request", asked(9, cause=Cause.OOM_HOST, status=Status.KILLED))
    assert machine.impact == "Room to finish: memory ran out, with a limit of 16 GiB"
    near = only("memory_request", asked(15))
    assert (near.severity, near.recommended_value) == (Severity.WARNING, "18432M")
    sized = only("memory_request", asked(15, told={"history": (earlier(15.5), earlier(15.9))}))
    assert int(str(sized.recommended_value)[:-1]) >= 16 * 1024


def test_a_leak_is_not_fed() -> None:
    leak = [cases.finding("leak")]
    assert advised("memory_request", asked(16, cause=Cause.OOM_CGROUP, findings=leak)) == []
    on_gpu = [dataclasses.replace(leak[0], key="nvml_proc_mem_total")]
    assert len(advised("memory_request", asked(16, cause=Cause.OOM_CGROUP, findings=on_gpu))) == 1


def test_what_nobody_asked_for_is_not_corrected() -> None:
    machine = cases.context(limits={"memory_source": "host", "cpus_source": "affinity"})
    whole = asked(limits=(64, 16.0), context=machine)
    for rule in ("memory_request", "cpus_request", "time_request"):
        assert advised(rule, whole) == []


def test_a_run_that_failed_otherwise_says_nothing_of_what_it_needs() -> None:
    failed = asked(cause=Cause.EXCEPTION, status=Status.FAILED)
    for rule in ("memory_request", "cpus_request", "gpus_request"):
        assert advised(rule, failed) == []


def test_cores_that_no_phase_used_are_given_back() -> None:
    advice = only("cpus_request", asked())
    assert (advice.config_path, advice.current_value, advice.recommended_value) == ("--cpus-per-task", 4.0, 1)
    assert advice.impact == "Frees 3 cores; the run takes at most 5% longer"
    (predicted,) = advice.predictions
    assert (predicted.quantity, predicted.after, predicted.high) == ("wall_seconds", 60.0, 66.0)
    many = only("cpus_request", asked(told={"history": (earlier(2, cpu=100.0),)}))
    assert many.recommended_value == 3


def test_cores_that_were_used_or_withheld_stay() -> None:
    assert advised("cpus_request", asked(cores=3.5)) == []
    assert advised("cpus_request", asked(findings=[cases.finding("cpu_throttled")])) == []
    assert advised("cpus_request", asked(wall_seconds=1.0)) == []
    assert advised("cpus_request", asked(series=[])) == []
    assert advised("cpus_request", asked(series=[views.gauge("wait_cputime", [(1, 1.0)])])) == []


def test_a_run_that_goes_on_is_not_sized() -> None:
    assert asking.advised(asked(status=Status.RUNNING), sizing.Resource.MEMORY) is None


TIME = {"SLURM_JOB_ID": "17", "SLURM_JOB_START_TIME": "0", "SLURM_JOB_END_TIME": "86400"}


def timed(wall: float, **facts: object) -> Case:
    return asked(wall_seconds=wall, **({"context": cases.context(environment=TIME)} | facts))  # type: ignore[arg-type]


def test_time_that_was_not_needed_is_given_back() -> None:
    advice = only("time_request", timed(3600.0))
    assert (advice.current_value, advice.recommended_value) == ("1-00:00:00", "01:09:00")
    assert advice.evidence[0].sentence == "it took 1 h 00 min of 1 d 00 h (this run alone is known)"
    sized = only("time_request", timed(3600.0, told={"history": (earlier(2, wall=7000.0),)}))
    assert str(sized.recommended_value) > "01:56:00"
    assert advised("time_request", timed(80000.0)) == []


def test_a_run_that_was_cut_off_asks_for_the_time_its_steps_need() -> None:
    event = views.event(0, "training_start", max_steps=400)
    case = timed(
        86400.0,
        cause=Cause.TIMEOUT,
        status=Status.CANCELLED,
        steps=cases.step_summary(100),
        told={"events": (event,)},
    )
    advice = only("time_request", case)
    assert (advice.severity, advice.recommended_value) == (Severity.CRITICAL, "4-14:24:00")
    assert advice.impact == "Time to finish: 25% of its steps were done after 1 d 00 h"


def test_a_limit_that_is_no_whole_second_is_told_as_it_was_given() -> None:
    limit = cases.context(options={"timeout": 1.5})
    advice = only("time_request", timed(1.5, cause=Cause.TIMEOUT, status=Status.CANCELLED, context=limit))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == ("--timeout", 1.5, 3)


def resumed(first: int, last: int, every: int) -> Steps:
    rows = (
        Step(timestamp=STARTED + step, step=step, rank=0, source="sdk", metrics={"loss": 1.0})
        for step in range(first, last + 1, every)
    )
    return views.steps(*rows)


def test_a_run_that_resumed_late_is_not_taken_for_nearly_done() -> None:
    case = timed(
        86400.0,
        cause=Cause.TIMEOUT,
        status=Status.CANCELLED,
        steps=cases.step_summary(9500),
        told={
            "events": (views.event(0, "training_start", max_steps=10000),),
            "steps": resumed(9010, 9500, 10),
        },
    )
    advice = only("time_request", case)
    assert advice.recommended_value == "2-07:12:00"
    assert advice.impact == "Time to finish: 50% of its steps were done after 1 d 00 h"


def test_more_time_is_never_less_than_it_had() -> None:
    event = views.event(0, "training_start", max_steps=101)
    case = timed(
        40000.0,
        cause=Cause.TIMEOUT,
        status=Status.CANCELLED,
        steps=cases.step_summary(100),
        told={"events": (event,)},
    )
    assert only("time_request", case).recommended_value == "1-03:36:00"


def test_steps_that_an_event_counts_are_not_those_of_the_whole_training() -> None:
    case = timed(
        86400.0,
        cause=Cause.TIMEOUT,
        status=Status.CANCELLED,
        steps=cases.step_summary(100),
        told={"events": (views.event(50, "evaluated", steps=101),)},
    )
    assert "how much was left is not known" in only("time_request", case).impact


def test_a_run_that_was_cut_off_without_steps_asks_for_twice_the_time() -> None:
    limit = cases.context({"max_steps": 7}, options={"timeout": 90})
    advice = only("time_request", asked(cause=Cause.TIMEOUT, context=limit, status=Status.CANCELLED))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == ("--timeout", 90, 180)
    assert "how much was left is not known" in advice.impact
    assert advised("time_request", asked(cause=Cause.EXCEPTION, context=limit, status=Status.FAILED)) == []


def utils(*levels: float) -> list[object]:
    return [
        views.gauge("nvml_util", [(second, level) for second in range(12)], f"GPU-{place}")
        for place, level in enumerate(levels)
    ]


def test_gpus_that_never_did_anything_are_given_back() -> None:
    context = cases.context(slurm={"gpus": 4})
    advice = only("gpus_request", asked(series=utils(90, 80, 0, 0), context=context))
    assert (advice.config_path, advice.current_value, advice.recommended_value) == (
        "--gres",
        "gpu:4",
        "gpu:2",
    )
    assert advice.impact == "Frees the 2 of 4 GPUs that never did anything"
    assert only("gpus_request", asked(series=utils(90, 0))).config_path == "--gres"


def test_gpus_that_nobody_asked_for_are_not_given_back() -> None:
    assert advised("gpus_request", asked(series=utils(90, 0), context=cases.context())) == []


def test_a_gpu_of_which_nothing_was_read_is_not_idle() -> None:
    assert advised("gpus_request", asked(series=utils(90, float("nan")))) == []


def test_gpus_that_all_worked_or_none_did_stay() -> None:
    assert advised("gpus_request", asked(series=utils(90, 80))) == []
    assert advised("gpus_request", asked(series=utils(0, 0))) == []


def throttled(ratio: object, **facts: object) -> Case:
    finding = cases.finding("cpu_throttled", throttled_ratio=ratio)  # type: ignore[arg-type]
    return asked(findings=[finding], **facts)  # type: ignore[arg-type]


def test_a_job_that_a_quota_held_back_asks_for_more_cores() -> None:
    advice = only("cpu_quota", throttled(0.5))
    assert (advice.config_path, advice.recommended_value) == ("--cpus-per-task", 8)
    assert advice.impact == "The quota withheld 50 % of the CPU time the job wanted"
    assert only("cpu_quota", throttled(0.99)).recommended_value == 16
    whole = cases.context(limits={"cpus_source": "affinity"})
    assert only("cpu_quota", throttled(0.5, limits=(16, 16.0), context=whole)).config_path is None


@pytest.mark.parametrize("ratio", [0.01, "much"])
def test_a_job_that_was_hardly_held_back_stays(ratio: object) -> None:
    assert advised("cpu_quota", throttled(ratio)) == []
    assert advised("cpu_quota", throttled(0.5, limits=(16, 0.0))) == []


def crowded(wanted: object = 15.0, processes: object = 2, **facts: object) -> Case:
    """Build a job on 4 of 16 cores that wanted more of them than it has processes."""
    finding = cases.finding("cpu_throttled", throttled_ratio=0.5, wanted_cores=wanted)  # type: ignore[arg-type]
    return asked(findings=[finding], **({"summary": {"proc_mean_count": processes}} | facts))  # type: ignore[arg-type]


def test_threads_are_as_many_as_cores() -> None:
    advice = only("threads", crowded())
    assert (advice.config_path, advice.recommended_value) == ("OMP_NUM_THREADS", 4)
    assert advice.evidence[0].sentence == "2 processes at a time wanted 15 cores: that takes several threads"
    assert only("threads", crowded(processes=1)).evidence[0].sentence.startswith("1 process at a time wanted")


def test_threads_that_are_few_or_set_are_left() -> None:
    assert advised("threads", crowded(7.0)) == []
    assert advised("threads", crowded(limits=(16, 12.0))) == []
    told = cases.context(environment={"OMP_NUM_THREADS": "4"})
    assert advised("threads", crowded(context=told)) == []


def test_many_processes_are_not_many_threads() -> None:
    assert advised("threads", crowded(processes=11)) == []
    assert advised("threads", crowded(summary={})) == []
    assert advised("threads", throttled(0.5)) == []
    assert advised("threads", asked()) == []


def test_a_leak_says_how_long_memory_lasts() -> None:
    figures = {"low_bytes_per_second": 1e6, "high_bytes_per_second": 2e6, "seconds_to_limit": 3600.0}
    advice = only("leak", asked(findings=[cases.finding("leak", Severity.CRITICAL, **figures)]))
    assert advice.severity is Severity.CRITICAL
    assert advice.impact == (
        "Memory stays where it is instead of growing by 3.35 GiB to 6.71 GiB an hour; the limit is 1 h 00 min away"
    )
    assert only("leak", asked(findings=[cases.finding("leak")])).impact == "Memory stays where it is"


def cut_off(cause: Cause = Cause.TIMEOUT, *, saved: tuple[float, ...] = (), **facts: object) -> Case:
    events = tuple(views.event(second, "checkpoint") for second in saved)
    return asked(
        cause=cause,
        told={"events": events},
        **({"steps": cases.step_summary(), "ended_at": STARTED + 7200} | facts),  # type: ignore[arg-type]
    )


def test_what_was_lost_is_saved_next_time() -> None:
    advice = only("checkpoint", cut_off(saved=(600.0, 3600.0)))
    assert (advice.impact, advice.config_path) == ("1 h 00 min of training were lost", "--signal")
    assert advice.evidence[0].sentence == "it ended 1 h 00 min after the last of 2 checkpoints"
    never = only("checkpoint", cut_off(Cause.OOM_CGROUP))
    assert (never.config_path, never.impact) == (None, "2 h 00 min of training were lost")


def test_what_lost_little_or_is_no_training_is_left() -> None:
    assert advised("checkpoint", cut_off(saved=(7100.0,))) == []
    assert advised("checkpoint", cut_off(steps=None)) == []
    assert advised("checkpoint", cut_off(started_at=None)) == []
    assert advised("checkpoint", cut_off(Cause.COMPLETED)) == []


@pytest.mark.parametrize(("seconds", "text"), [(59, "00:01:00"), (3600, "01:00:00"), (90061, "1-01:02:00")])
def test_times_as_slurm_reads_them(seconds: float, text: str) -> None:
    assert asking.slurm_time(seconds) == text


def test_sizes_as_schedulers_read_them() -> None:
    assert [speaking.mebibytes(size) for size in (1, 65 << 20, 100 * GIB)] == ["1M", "66M", "102400M"]

"""What is unusual for a job, by its own past."""

from dataclasses import replace
from typing import Any

import numpy as np

from jobmeter.analysis.detectors import learned
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Headline, Run, Status
from jobmeter.model.steps import MetricSummary, StepSummary
from support import curves
from support.curves import GIB, MIB


def headline(value: float) -> Headline:
    return Headline(value=value, low=value, high=value, keys=("k",), exact=True)


def run(
    memory: float, wall: float = 100.0, status: Status = Status.COMPLETED, cpu: float = 0.0, **facts: Any
) -> Run:
    known: dict[str, Any] = {
        "run_id": "r",
        "job_id": "r",
        "command": ("make",),
        "headline": {"memory_peak_bytes": headline(memory), "cpu_seconds": headline(cpu or 0.5 * wall)},
        "wall_seconds": wall,
    }
    return Run(status=status, **(known | facts))


def past(count: int, deviation: float = 0.03, **facts: Any) -> tuple[Run, ...]:
    draws = np.random.default_rng(4).normal(1.0, deviation, count)
    return tuple(run(GIB * draw, 100.0 * draw, **facts) for draw in draws)


def look(one: Run, history: tuple[Run, ...]) -> list[Finding]:
    return list(learned.detect(replace(curves.run(history=history), run=one)))


def test_twice_the_usual_memory_is_told_with_both_numbers() -> None:
    [found] = look(run(2 * GIB), past(12))
    assert found.severity is Severity.WARNING
    assert found.key == "memory_peak_bytes"
    assert found.sentence == (
        "memory peak is 2 GiB; the middle of 12 earlier runs of this job is 1 GiB, and none was above 1.05 GiB"
    )
    assert found.figures["runs"] == 12
    assert found.figures["value"] == 2 * GIB


def test_seven_runs_are_not_enough() -> None:
    assert look(run(20 * GIB), past(7)) == []
    assert look(run(20 * GIB), past(8)) != []
    assert look(run(20 * GIB), past(30, status=Status.FAILED)) == []


def test_what_happened_before_is_not_unusual() -> None:
    history = (*past(20), run(3 * GIB))
    assert look(run(2.9 * GIB), history) == []


def test_runs_that_are_all_alike_are_held_to_a_few_percent() -> None:
    alike = tuple(run(GIB) for _ in range(50))
    assert look(run(1.15 * GIB), alike) == []
    assert [one.severity for one in look(run(1.4 * GIB), alike)] == [Severity.INFO]
    small = tuple(run(2 * MIB) for _ in range(50))
    assert look(run(9 * MIB), small) == []


def test_few_runs_must_be_left_by_more() -> None:
    wide = past(8, deviation=0.1)
    normal = learned.learn(wide)["memory_peak_bytes"]
    assert not learned.is_unusual(normal.middle + 5.9 * normal.spread, normal)
    assert learned.is_unusual(normal.middle + 6.1 * normal.spread, normal)


def test_noise_alone_is_rarely_unusual() -> None:
    draws = np.random.default_rng(9).lognormal(0.0, 0.15, (300, 21))
    told = 0
    for row in draws:
        history = tuple(run(GIB * draw, 100.0) for draw in row[1:])
        told += len(look(run(GIB * row[0], 100.0), history))
    assert told <= 3


def test_a_run_that_did_not_complete_is_told_only_for_using_more() -> None:
    assert look(run(0.1 * GIB, 3.0, status=Status.FAILED), past(12)) == []
    [found] = look(run(5 * GIB, 3.0, status=Status.KILLED), past(12))
    assert found.key == "memory_peak_bytes"


def test_a_quick_run_is_told_without_a_warning() -> None:
    found = {one.key: one for one in look(run(GIB, 10.0, cpu=50.0), past(12))}
    assert found["wall_seconds"].severity is Severity.INFO
    assert "none was below" in found["wall_seconds"].sentence
    assert found["used_cores"].sentence.startswith("cores used is 5; the middle of 12 earlier runs")


def steps(per_second: float | None, loss: float | str = 2.0) -> StepSummary:
    return StepSummary(
        count=1000,
        last_step=1000,
        steps_per_second=per_second,
        metrics={"loss": MetricSummary(first=9.0, last=loss)},
    )


def test_a_training_that_is_slower_than_ever_is_a_warning() -> None:
    history = past(12, steps=steps(4.0))
    [found] = look(run(GIB, steps=steps(2.0)), history)
    assert (found.key, found.severity) == ("steps_per_second", Severity.WARNING)
    [worse] = look(run(GIB, steps=steps(4.0, 7.5)), history)
    assert worse.sentence.startswith("last loss is 7.5; the middle of 12 earlier runs of this job is 2")


def test_a_training_that_broke_off_is_not_told_that_its_loss_was_still_high() -> None:
    history = past(12, steps=steps(4.0))
    assert look(run(GIB, 3.0, cpu=20.0, steps=steps(9.0, 7.5), status=Status.KILLED), history) == []


def test_what_was_not_measured_is_not_learned() -> None:
    bare = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=("x",))
    assert learned.figures_of(bare) == {}
    told = run(GIB, steps=steps(None, "NaN"), summary={"cgroup_throttled": 7.5, "proc_cmd": "x"})
    assert learned.figures_of(told) == {
        "memory_peak_bytes": GIB,
        "cpu_seconds": 50.0,
        "used_cores": 0.5,
        "wall_seconds": 100.0,
        "throttled_seconds": 7.5,
        "step_count": 1000,
    }
    without_loss = StepSummary(count=3, last_step=3)
    assert "last_loss" not in learned.figures_of(run(GIB, steps=without_loss))


def of_everything(times: float) -> Run:
    """Build a run of which every figure is known, so many times the usual."""
    names = ("energy_joules", "gpu_memory_peak_bytes", "gpu_util_percent", "io_read_bytes", "io_write_bytes")
    used = {name: headline(times * (1e4 if name == "energy_joules" else 20.0)) for name in names}
    used |= {name: headline(times * GIB) for name in names if name.endswith("_bytes")}
    used |= {"memory_peak_bytes": headline(times * GIB), "cpu_seconds": headline(times * times * 100.0)}
    told = StepSummary(
        count=int(1000 * times),
        last_step=1000,
        steps_per_second=4.0 * times,
        metrics={"loss": MetricSummary(first=9.0, last=2.0 * times)},
    )
    return run(GIB, 100.0 * times, headline=used, steps=told, summary={"cgroup_throttled": 10.0 * times})


def test_every_figure_is_told_in_its_own_unit() -> None:
    told = {
        one.key: one.sentence.partition(";")[0] for one in look(of_everything(3.0), (of_everything(1.0),) * 9)
    }
    assert told == {
        "cpu_seconds": "CPU time is 15 min 00 s",
        "energy_joules": "energy is 30,000 J",
        "gpu_memory_peak_bytes": "GPU memory peak is 3 GiB",
        "gpu_util_percent": "GPU utilisation is 60 %",
        "io_read_bytes": "bytes read is 3 GiB",
        "io_write_bytes": "bytes written is 3 GiB",
        "last_loss": "last loss is 6",
        "memory_peak_bytes": "memory peak is 3 GiB",
        "step_count": "number of steps is 3,000",
        "steps_per_second": "steps per second is 12",
        "throttled_seconds": "time throttled is 30 s",
        "used_cores": "cores used is 3",
        "wall_seconds": "run time is 5 min 00 s",
    }
    assert sorted(told) == sorted(learned.FIGURES)  # type: ignore[type-var]  # every finding has a key

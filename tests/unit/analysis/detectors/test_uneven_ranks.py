"""Ranks that are slow, behind, or use much more than the others."""

from dataclasses import replace

import numpy as np
import pytest

from jobmeter.analysis.detectors import rank_imbalance, stragglers
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Headline
from jobmeter.model.steps import Steps, StepSummary
from jobmeter.model.view import Process, RunView
from support import curves, views

MIB, GIB = curves.MIB, curves.GIB


def ranks(*step_seconds: float, steps: int = 100, source: str = "sdk") -> Steps:
    tables = [
        curves.training(
            np.cumsum(np.full(steps, seconds) * (1 + curves.noise(steps, 0.02, seed=rank + 1))),
            rank=rank,
            source=source,
            loss=np.ones(steps),
        ).tables
        for rank, seconds in enumerate(step_seconds)
    ]
    return Steps(tuple(table for found in tables for table in found))


def slow(steps: Steps) -> list[Finding]:
    return list(stragglers.detect(curves.run(steps=steps)))


def test_a_rank_that_takes_longer_is_named() -> None:
    [found] = slow(ranks(0.1, 0.1, 0.18, 0.1))
    assert found.severity is Severity.WARNING
    assert found.rank == 2
    assert found.figures["relative"] == pytest.approx(1.8, abs=0.05)
    assert found.figures["slowest_ratio"] == 1.0
    assert found.sentence.startswith("rank 2 takes 1.79")
    assert "times as long for a step as the middle of 4 ranks" in found.sentence


def test_several_slow_ranks_are_one_finding() -> None:
    [found] = slow(ranks(*([0.1] * 21), *([0.13] * 10)))
    assert found.sentence.startswith("ranks ")
    assert ", ... are slow: rank" in found.sentence
    assert found.figures["straggler_count"] == 10
    assert len(found.evidence) == 8


def test_a_little_slower_is_worth_a_word_and_less_than_that_nothing() -> None:
    [found] = slow(ranks(0.1, 0.1, 0.115))
    assert found.severity is Severity.INFO
    assert slow(ranks(0.1, 0.1, 0.105)) == []


def test_a_rank_that_fell_behind_is_told() -> None:
    front, late = ranks(0.1), ranks(0.1, 0.1, steps=60)
    [found] = slow(Steps((front.tables[0], late.tables[1])))
    assert found.severity is Severity.WARNING
    assert found.figures == {"rank": 1, "behind_steps": 40, "straggler_count": 1}
    assert found.sentence == "rank 1 is 40 steps behind: it told step 60 last, the foremost 100"


def test_one_rank_few_steps_and_steps_without_clocks_are_silent() -> None:
    assert slow(Steps()) == []
    assert slow(ranks(0.1)) == []
    assert slow(ranks(0.1, 0.5, steps=9)) == []
    assert slow(Steps(tuple(replace(table, timestamps=None) for table in ranks(0.1, 0.5).tables))) == []
    assert slow(ranks(0.1, 0.5, source="wandb:seen")) == []


def test_a_rank_that_logs_less_is_not_behind() -> None:
    told, logged = ranks(0.1, 0.1), ranks(0.1, 0.1, 0.1, steps=50, source="log:hf")
    assert slow(Steps((*told.tables, logged.tables[2]))) == []


def test_a_rank_that_was_started_again_has_two_lives() -> None:
    first = ranks(0.1, 0.1, 0.2)
    again = tuple(
        replace(table, writer="again.jsonl", timestamps=[at + 100 for at in table.timestamps or ()])
        for table in first.tables
    )
    assert slow(Steps((*again, *first.tables)))[0].rank == 2
    csv = tuple(replace(table, source="csv") for table in first.tables)
    assert slow(Steps(csv))[0].rank == 2


def recorders(*paces: float | None) -> RunView:
    """Build a job of one recorder a rank."""
    plain = curves.run(ended_at=curves.STARTED + 100).run
    runs = [
        replace(
            plain,
            run_id=f"run-{rank}",
            ranks=(rank,),
            steps=StepSummary(count=500, last_step=500, source="sdk", rank=rank, steps_per_second=pace),
        )
        for rank, pace in enumerate(paces)
    ]
    return replace(curves.run(), run=runs[0], siblings=tuple(runs[1:]))


def test_ranks_with_recorders_of_their_own_are_compared_too() -> None:
    [found] = stragglers.detect(recorders(10.0, 10.0, 5.0, None))
    assert (found.rank, found.figures["relative"]) == (2, 2.0)
    assert "slowest_ratio" not in found.figures
    assert found.sentence == "rank 2 takes 2.00 times as long for a step as the middle of 4 ranks (200 ms)"


def test_a_rank_with_a_recorder_of_its_own_that_fell_behind_is_told() -> None:
    view = recorders(None, None)
    other = view.siblings[0]
    assert other.steps is not None
    late = replace(other, steps=replace(other.steps, last_step=300))
    [found] = stragglers.detect(replace(view, siblings=(late,)))
    assert found.figures["behind_steps"] == 200


def test_other_recorders_that_cannot_be_compared_are_left_alone() -> None:
    view = recorders(10.0, 5.0)
    other = view.siblings[0]
    assert other.steps is not None
    apart = [
        replace(other, started_at=curves.STARTED + 500),
        replace(other, started_at=None),
        replace(other, ranks=(1, 2)),
        replace(other, steps=None),
        replace(other, steps=replace(other.steps, source="log:hf")),
    ]
    assert [list(stragglers.detect(replace(view, siblings=(one,)))) for one in apart] == [[]] * 5
    assert list(stragglers.detect(replace(view, run=replace(view.run, ranks=())))) == []
    goes_on = replace(other, ended_at=None)
    assert len(list(stragglers.detect(replace(view, siblings=(goes_on,))))) == 1


# rank_imbalance


def test_a_recorder_that_saw_more_gpu_memory_than_the_others_is_named() -> None:
    view = recorders(10.0, 10.0)
    sizes = [
        {"gpu_memory_peak_bytes": Headline(value=size * GIB, low=0, high=0, keys=("k",), exact=False)}
        for size in (10.0, 40.0)
    ]
    own, other = (
        replace(run, headline=size) for run, size in zip((view.run, *view.siblings), sizes, strict=True)
    )
    [found] = rank_imbalance.detect(replace(view, run=own, siblings=(other,)))
    assert (found.rank, found.key, found.severity) == (1, "gpu_memory_peak_bytes", Severity.WARNING)


def gpu(key: str, *values: float) -> RunView:
    return curves.run(
        *(curves.gauge(key, [value] * 10, instance=str(number)) for number, value in enumerate(values))
    )


def uneven(view: RunView) -> list[Finding]:
    return list(rank_imbalance.detect(view))


def test_the_fullest_gpu_is_named() -> None:
    [found] = uneven(gpu("nvsmi_mem_used", 20 * GIB, 20 * GIB, 20 * GIB, 36 * GIB))
    assert found.severity is Severity.WARNING
    assert found.instance == "3"
    assert found.figures["imbalance_ratio"] == 0.5
    assert found.sentence == (
        "GPU memory peak is 36 GiB on GPU 3 and 20 GiB on GPU 0: the largest of 4 lies 50 % above the mean"
    )


def test_a_gpu_that_works_alone_is_named() -> None:
    [found] = uneven(gpu("nvml_util", 95.0, 10.0))
    assert found.key == "nvml_util"
    assert "95 % on GPU 0 and 10 % on GPU 1" in found.sentence


def test_even_gpus_and_a_single_one_are_silent() -> None:
    assert uneven(gpu("nvml_util", 95.0, 90.0)) == []
    assert uneven(gpu("nvml_util", 8.0, 1.0)) == []
    assert uneven(gpu("nvml_mem_used", 30 * GIB)) == []
    assert uneven(curves.run()) == []


def process(rank: int | None, cpu_seconds: float | None, size_bytes: int | None) -> Process:
    number = 10 if rank is None else 20 + rank
    made = views.process(f"{number}@1", "python train.py")
    return replace(made, rank=rank, cpu_seconds=cpu_seconds, peak_rss_bytes=size_bytes)


def test_a_rank_that_uses_more_cpu_and_memory_is_worth_a_word() -> None:
    processes = [process(rank, 30.0, GIB) for rank in range(3)] + [process(3, 120.0, 4 * GIB)]
    cpu, memory = uneven(curves.run(processes=[*processes, process(None, 900.0, 90 * GIB)]))
    assert (cpu.rank, cpu.severity, cpu.key) == (3, Severity.INFO, "cpu_seconds")
    assert (memory.rank, memory.key) == (3, "peak_rss_bytes")
    assert memory.figures["largest"] == 4 * GIB


def test_rank_0_may_need_a_little_more() -> None:
    processes = [process(0, 40.0, 2 * GIB), process(1, 30.0, int(1.5 * GIB)), process(2, None, None)]
    assert uneven(curves.run(processes=processes)) == []

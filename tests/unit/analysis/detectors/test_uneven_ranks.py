"""Ranks that are slow, behind, or use much more than the others."""

from dataclasses import replace

import numpy as np
import pytest

from jobmeter.analysis.detectors import rank_imbalance, stragglers
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Headline, Status
from jobmeter.model.steps import Steps
from jobmeter.model.view import Process, RunView
from support import curves, views
from support.ranks import Life, job

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


def test_ranks_with_recorders_of_their_own_are_compared_by_step_too() -> None:
    [found] = stragglers.detect(job(Life(), Life(seconds=0.2, clock=3600.0), Life()))
    assert (found.rank, found.severity, found.figures["slowest_ratio"]) == (1, Severity.WARNING, 1.0)
    assert found.sentence == (
        "rank 1 takes 2.00 times as long for a step as the middle of 3 ranks (200 ms) and is the slowest in 100 % of "
        "the steps, which costs the job 9.9 s, 50 % of its time"
    )
    assert found.figures["excess_seconds"] == pytest.approx(0.1)
    assert found.figures["lost_seconds"] == pytest.approx(9.9)
    assert found.figures["lost_ratio"] == pytest.approx(0.5)


def test_a_rank_that_is_slow_only_now_costs_nothing_over_its_life() -> None:
    view = job(Life(), Life(seconds=0.2))
    first, second = view.ranks
    quick = replace(second, advancing_seconds=first.advancing_seconds)
    [found] = stragglers.detect(replace(view, ranks=(first, quick)))
    assert "lost_seconds" not in found.figures
    [found] = stragglers.detect(replace(view, ranks=(first, replace(second, advanced=0))))
    assert "lost_seconds" not in found.figures


def test_a_rank_that_failed_does_not_keep_the_others_from_being_compared() -> None:
    failed = Life(steps=12, status=Status.FAILED, exit_code=1)
    [found] = stragglers.detect(job(Life(), failed, Life(seconds=0.2), Life()))
    assert (found.rank, found.figures["rank_count"]) == (2, 3)


def test_a_rank_that_is_far_behind_does_not_keep_the_others_from_being_compared() -> None:
    lives = Life(steps=5000), Life(steps=5000, seconds=0.2), Life(steps=20), Life(steps=5000)
    [found] = stragglers.detect(job(*lives))
    assert (found.rank, found.figures["straggler_count"]) == (1, 1)
    [found] = stragglers.detect(job(*lives[2:]))
    assert (found.rank, found.figures["behind_steps"]) == (0, 4980)


# rank_imbalance


def test_a_recorder_that_saw_more_gpu_memory_than_the_others_is_named() -> None:
    view = job(Life(), Life())
    sizes = [
        {"gpu_memory_peak_bytes": Headline(value=size * GIB, low=0, high=0, keys=("k",), exact=False)}
        for size in (10.0, 40.0)
    ]
    known = tuple(
        replace(one, run=replace(one.run, headline=size)) for one, size in zip(view.ranks, sizes, strict=True)
    )
    [found] = rank_imbalance.detect(replace(view, ranks=known))
    assert (found.rank, found.key, found.severity) == (1, "gpu_memory_peak_bytes", Severity.WARNING)


def test_ranks_of_several_recorders_are_compared_by_cpu_and_memory() -> None:
    view = job(Life(), Life(), Life())
    used = [(30.0, 1.0 * GIB), (120.0, 4.0 * GIB), (30.0, None)]
    known = tuple(
        replace(one, cpu_seconds=cpu, memory_peak_bytes=size)
        for one, (cpu, size) in zip(view.ranks, used, strict=True)
    )
    cpu, memory = rank_imbalance.detect(replace(view, ranks=known))
    assert (cpu.rank, cpu.figures["count"], memory.rank, memory.figures["count"]) == (1, 3, 1, 2)


def test_a_rank_that_waits_longer_for_its_data_is_named_though_all_take_equally_long() -> None:
    [found] = uneven(job(*(Life(waits=0.06 if rank == 2 else 0.01) for rank in range(4))))
    assert (found.rank, found.severity, found.key) == (2, Severity.WARNING, "data_seconds")
    assert found.sentence == (
        "time a step waits for data is 60 ms on rank 2 and 10 ms on rank 0: the largest of 4 lies 167 % above the mean"
    )


def test_waits_that_are_little_of_a_step_or_told_by_one_alone_are_silent() -> None:
    assert uneven(job(Life(waits=0.006), Life(waits=0.001))) == []
    assert uneven(job(Life(waits=0.06), Life())) == []
    assert uneven(job(Life(waits=0.06), Life(waits=0.001, steps=9))) == []
    assert uneven(job(Life(waits=0.06, source="wandb:seen"), Life(steps=0))) == []


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

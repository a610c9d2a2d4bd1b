"""A job on one screen."""

import io
from dataclasses import replace

import pytest

from jobmeter.cli.render import rank_table, spans
from jobmeter.cli.render.screen import Screen
from jobmeter.model import text
from jobmeter.model.job import Added, JobView, RankView
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import MetricSummary

GIB = 2**30


def rank(number: int, **known: object) -> RankView:
    usual: dict[str, object] = {
        "run_id": f"20261115T09500{number}Z-000000",
        "status": Status.COMPLETED,
        "host": f"node{number}",
        "pid": 4000 + number,
        "last_step": 29,
        "behind": 0,
        "step_seconds": 0.05,
        "relative": 1.0,
        "memory_peak_bytes": 2 * GIB,
        "cpu_seconds": 12.5,
    }
    return RankView(rank=number, **(usual | known))  # type: ignore[arg-type]


def run(number: int) -> Run:
    return Run(
        run_id=f"20261115T09500{number}Z-000000",
        job_id="slurm-17",
        status=Status.COMPLETED,
        command=(),
        host=f"node{number}",
    )


SLOW = rank(2, step_seconds=0.08, relative=1.6, is_straggler=True)
JOB = JobView(
    job_id="slurm-17",
    runs=(run(0), run(1), run(2)),
    resumed={"20261115T095002Z-000000": "20261115T095000Z-000000"},
    world_size=4,
    ranks=(rank(0), rank(1, behind=7, last_step=22, status=Status.LOST), SLOW),
    missing=(3,),
    step_imbalance=0.333,
    memory_imbalance=0.0,
    throughput={"tokens_per_second": Added(5250.4, 3), "samples_per_second": Added(12.0, 1)},
    loss=MetricSummary(first=2.0, last=0.5, low=0.5, high=2.0),
)


def lines(view: JobView, *, width: int = 0, colour: bool = False) -> list[str]:
    return rank_table.render(view, Screen(io.StringIO(), width=width, colour=colour))


def test_a_job_reads_from_top_to_bottom() -> None:
    assert lines(JOB) == [
        "job slurm-17",
        "",
        "ranks     0-2 of 4; never seen: 3",
        "runs      3 on 3 hosts",
        "resumed   20261115T095002Z-000000 goes on from 20261115T095000Z-000000",
        "pace      rank 2 is the slowest: 33 % over the mean",
        "memory    even",
        "loss      2 -> 0.5, rank 0",
        "together  5,250 tokens/s",
        "together  12 samples/s, told by 1 ranks",
        "",
        "RANK  STEP  BEHIND  TIME/STEP  RELATIVE  MEMORY     CPU   PID  NOTE          HOST   RUN",
        "   1    22       7      50 ms     1.00x   2 GiB  12.5 s  4001  behind, lost  node1  20261115T095001Z-000000",
        "   2    29              80 ms     1.60x   2 GiB  12.5 s  4002  straggler     node2  20261115T095002Z-000000",
        "   0    29              50 ms     1.00x   2 GiB  12.5 s  4000                node0  20261115T095000Z-000000",
    ]


@pytest.mark.parametrize("width", [80, 60, 55])
def test_the_table_fits_the_screen_and_keeps_its_notes(width: int) -> None:
    shown = lines(JOB, width=width)
    assert max(map(text.width, shown)) <= width
    assert any("straggler" in line for line in shown)


def test_colour_marks_what_words_say_already() -> None:
    (slow,) = [line for line in lines(JOB, colour=True) if "straggler" in line]
    assert "\x1b[33mstraggler\x1b[0m" in slow
    assert "\x1b" not in "".join(lines(JOB))


def test_a_job_where_all_is_well_is_short() -> None:
    even = replace(
        JOB,
        runs=(run(0),),
        resumed={},
        world_size=2,
        ranks=(rank(0, run_id="r", host="n", gpu_util_percent=81.0), rank(1, run_id="r", host="n")),
        missing=(),
        step_imbalance=None,
        memory_imbalance=None,
        throughput={},
        loss=None,
    )
    assert lines(even) == [
        "job slurm-17",
        "",
        "ranks     all 2",
        "",
        "RANK  STEP  TIME/STEP  RELATIVE  MEMORY   GPU     CPU   PID",
        "   0    29      50 ms     1.00x   2 GiB  81 %  12.5 s  4000",
        "   1    29      50 ms     1.00x   2 GiB        12.5 s  4001",
    ]


def test_ranks_without_a_known_number_are_named() -> None:
    assert lines(replace(JOB, world_size=None, missing=()))[2] == "ranks     0-2"


def test_neighbours_are_written_as_one() -> None:
    assert spans.written((0, 1, 2, 5, 7, 8)) == "0-2, 5, 7-8"
    assert spans.written(()) == ""

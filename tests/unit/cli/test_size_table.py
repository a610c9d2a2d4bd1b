import io

from jobmeter.cli.render import size_table
from jobmeter.cli.render.screen import Screen
from jobmeter.model.sizing import Advice, Confidence, JobSizing, Resource

GIB = 1 << 30
NARROW = Screen(io.StringIO(), width=80, colour=False)


def advice(resource: Resource, advised: float, asked: float | None, largest: float) -> Advice:
    return Advice(
        resource=resource,
        advised=advised,
        asked=asked,
        runs=9,
        typical=largest,
        largest=largest,
        low=largest,
        high=advised,
        failure_probability=0.011,
        failure_high=0.1,
        confidence=Confidence.MEDIUM,
        method="largest x 1.1",
    )


JOB = JobSizing(
    job="python train.py",
    runs=9,
    advice={
        Resource.MEMORY: advice(Resource.MEMORY, 4 * GIB, 16 * GIB, 3.5 * GIB),
        Resource.CPUS: advice(Resource.CPUS, 2, 2, 2),
        Resource.TIME: advice(Resource.TIME, 5400, None, 4000),
    },
    missing={Resource.GPUS: "no GPU was seen"},
    input_bytes=2.0 * GIB,
)


def test_one_job_shows_what_was_asked_used_and_advised() -> None:
    assert size_table.one_job(JOB, NARROW) == [
        "python train.py  9 runs, input of 2 GiB",
        "",
        "         ASKED     TYPICAL     LARGEST     ADVISED  SAVES  FAILS  CONFIDENCE",
        "memory  16 GiB     3.5 GiB     3.5 GiB       4 GiB   74 %  1.1 %  medium",
        "cpus         2           2           2           2    0 %  1.1 %  medium",
        "time         -  1 h 07 min  1 h 07 min  1 h 30 min      -  1.1 %  medium",
        "",
        "memory: largest x 1.1, from 9 runs; the next run should use 3.5 GiB to 4 GiB",
        "cpus: largest x 1.1, from 9 runs; every run needed 2",
        "time: largest x 1.1, from 9 runs; the next run should use 1 h 07 min to 1 h 30",
        "min",
    ]


def test_a_job_without_advice_says_why() -> None:
    alone = JobSizing(
        job="x", runs=1, advice={}, missing={Resource.MEMORY: "not enough data: 1 of at least 2 runs"}
    )
    assert size_table.one_job(alone, NARROW) == [
        "x  1 run",
        "",
        "memory: not enough data: 1 of at least 2 runs",
    ]


def test_many_jobs_have_a_line_each() -> None:
    short = JobSizing(
        job="NF:A:SORT",
        runs=3,
        advice={Resource.MEMORY: advice(Resource.MEMORY, 4 * GIB, 2 * GIB, 3 * GIB)},
        missing={},
    )
    empty = JobSizing(job="NF:A:INDEX", runs=3, advice={}, missing={})
    lines = size_table.many_jobs([JOB, short, empty], NARROW)
    assert lines[0].split() == ["JOB", "RUNS", "ASKED", "LARGEST", "MEMORY", "SAVES", "FAILS", "CPUS", "TIME"]
    assert lines[1].split()[-2:] == ["30", "min"]
    assert lines[2].split() == ["SORT", "3", "2", "GiB", "3", "GiB", "4", "GiB", "more", "1.1", "%", "-", "-"]
    assert lines[3].split() == ["INDEX", "3", "-", "-", "-", "-", "-", "-", "-"]
    assert max(map(len, lines)) <= 80


def test_names_of_processes_are_cut_as_far_as_they_stay_apart() -> None:
    names = ["NF:A:SORT", "NF:B:SORT", "NF:A:INDEX", "plain", "SORT"]
    assert size_table.short_names(names) == ["A:SORT", "B:SORT", "INDEX", "plain", "SORT"]

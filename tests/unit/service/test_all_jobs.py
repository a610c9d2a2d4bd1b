"""Jobs of one recorder and of several, added up by the store or read one by one: the same figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.analysis import job_totals
from jobmeter.analysis.job_totals import JobBrief
from jobmeter.model.query import Total
from jobmeter.model.run import Run, Status
from jobmeter.service import all_jobs
from jobmeter.stores import Batch, Store, sqlite


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = sqlite.open_store(tmp_path / "index.db")
    yield opened
    opened.close()


def add(store: Store, run_id: str, started: float, job_id: str | None = None, **known: object) -> None:
    told = {name.replace("__", "."): value for name, value in known.items()}
    own = {"job_id": job_id or run_id, "status": "completed"}
    run = Run(
        run_id=run_id,
        job_id=job_id or run_id,
        status=Status.COMPLETED,
        command=("train",),
        started_at=started,
    )
    store.append(Batch(run=run, final=True, fields=own | told))


@pytest.fixture
def filled(store: Store) -> Store:
    add(store, "alone", 10.0, wall=20.0, steps__count=5, throughput=8.0, gpu_util=50.0, gpu_memory=100)
    add(store, "make", 11.0, wall=3.0, status="failed")
    add(store, "unclocked", 12.0, ended=19.0, steps__count=1)
    add(store, "unending", 13.0, steps__count=1, status="running")
    add(store, "rank0", 100.0, "ddp", wall=20.0, steps__count=5, throughput=3.0, gpu_util=40.0, gpu_memory=7)
    add(store, "rank1", 101.0, "ddp", wall=20.0, steps__count=5, throughput=4.0, gpu_util=60.0, gpu_memory=9)
    add(store, "rank2", 102.0, "ddp", wall=1.0, status="running")
    return store


EXPECTED = {
    "total_jobs": 5,
    "jobs_by_status": {"completed": 2, "failed": 1, "running": 2},
    "average_training_duration_seconds": 16.0,
    "total_training_time_hours": 0.013,
    "average_throughput_samples_per_sec": 7.5,
    "top_performing_jobs": [
        {"job_id": "alone", "throughput": 8.0, "duration": 20.0},
        {"job_id": "ddp", "throughput": 7.0, "duration": 21.0},
    ],
    "resource_trends": {"average_gpu_utilization": 50.0, "average_peak_memory_mb": 0.0},
}


@pytest.mark.parametrize("some_runs", [all_jobs.SOME_RUNS, 0])
def test_jobs_are_added_up_and_recorders_of_one_job_count_once(filled: Store, some_runs: int) -> None:
    assert job_totals.system(all_jobs.totals(filled, some_runs=some_runs)) == EXPECTED


def test_many_recorders_of_a_slow_job_do_not_hide_a_faster_one(store: Store) -> None:
    for number in range(8):
        add(store, f"r{number}", float(number), "ddp", steps__count=1, throughput=0.5)
    add(store, "alone", 1.0, steps__count=1, throughput=0.25)
    found = all_jobs.totals(store)
    assert [(one.job_id, one.throughput) for one in found.fastest] == [("ddp", 4.0), ("alone", 0.25)]
    assert found.throughput == Total(2, 4.25)


def test_a_home_without_runs_has_no_jobs(store: Store) -> None:
    assert all_jobs.totals(store).jobs == 0
    assert all_jobs.page(store, 1, 10) == ([], 0)


def test_pages_list_jobs_newest_first_each_once(filled: Store) -> None:
    pages = [all_jobs.page(filled, number, 2) for number in (1, 2, 3, 4)]
    assert [[one.job_id for one in shown] for shown, _ in pages] == [
        ["ddp", "unending"],
        ["unclocked", "make"],
        ["alone"],
        [],
    ]
    assert {jobs for _, jobs in pages} == {5}
    assert pages[0][0][0] == JobBrief(
        job_id="ddp",
        status="running",
        duration_seconds=21.0,
        is_training=True,
        throughput=7.0,
        gpu_util_percent=50.0,
        gpu_memory_peak_bytes=9.0,
    )

"""Sums over many jobs."""

from jobmeter.analysis import job_totals
from jobmeter.analysis.job_totals import JobBrief, JobTotals
from jobmeter.model.query import Total

GIB = 1 << 30


def test_a_summary_counts_adds_and_ranks() -> None:
    jobs = [
        JobBrief(
            job_id=f"j{number}",
            status="completed" if number else "failed",
            duration_seconds=3600.0,
            is_training=True,
            throughput=float(number),
            gpu_util_percent=90.0,
            gpu_memory_peak_bytes=2.0 * GIB,
        )
        for number in range(7)
    ]
    assert job_totals.system(
        job_totals.of([*jobs, JobBrief(job_id="make", status="completed", duration_seconds=9.0)])
    ) == {
        "total_jobs": 8,
        "jobs_by_status": {"completed": 7, "failed": 1},
        "average_training_duration_seconds": 3600.0,
        "total_training_time_hours": 7.0,
        "average_throughput_samples_per_sec": 3.0,
        "top_performing_jobs": [
            {"job_id": f"j{number}", "throughput": float(number), "duration": 3600.0}
            for number in (6, 5, 4, 3, 2)
        ],
        "resource_trends": {"average_gpu_utilization": 90.0, "average_peak_memory_mb": 2048.0},
    }


def test_a_summary_of_nothing_has_no_averages() -> None:
    assert job_totals.system(job_totals.of([]))["average_training_duration_seconds"] is None
    assert job_totals.system(job_totals.of([JobBrief(job_id="a", status="failed")]))["warnings"] == [
        "no job logged steps: nothing is known of training",
        "no job measured a GPU",
    ]
    trained = JobBrief(
        job_id="a", status="failed", is_training=True, duration_seconds=1.0, gpu_util_percent=1.0
    )
    assert job_totals.system(job_totals.of([trained]))["warnings"] == [
        "no job has a batch size or samples a second: throughput is not known"
    ]


def job(name: str, throughput: float, seconds: float | None = None) -> JobBrief:
    return JobBrief(
        job_id=name, status="completed", is_training=True, throughput=throughput, duration_seconds=seconds
    )


def test_what_some_jobs_brought_can_be_taken_away_and_told_anew() -> None:
    runs = job_totals.of([job("a", 5.0, 9.0), job("b", 3.0), job("b", 4.0)])
    parts = job_totals.of([job("b", 3.0), job("b", 4.0)])
    whole = job("b", 7.0)
    found = runs.without(parts).with_jobs(job_totals.of([whole]), [job("a", 5.0), whole])
    assert (found.jobs, found.throughput, found.trained) == (2, Total(2, 12.0), Total(1, 9.0))
    assert [one.job_id for one in found.fastest] == ["b", "a"]
    assert parts.without(parts) == JobTotals()

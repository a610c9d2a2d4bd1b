"""The figures of a training by the formulas a dashboard was promised, every key and type."""

import json
from math import inf, nan

from jobmeter.analysis import analytics
from jobmeter.analysis.analytics import Checkpoint, Gpu, JobFacts, Loop

GIB = 1 << 30


def training(**changes: object) -> JobFacts:
    """A job of 1000 steps of 16 samples, 3.45 s each; the loss falls, and is best at step 780."""
    steps = list(range(1, 1001))
    facts: dict[str, object] = {
        "job_id": "abc123",
        "status": "completed",
        "total_seconds": 3600.0,
        "loops": (Loop(rank=0, steps=steps, times=[1000 + 3.45 * step for step in steps], batch_size=16.0),),
        "losses": ((1, 2.45), (500, 0.5), (780, 0.28), (1000, 0.32)),
        "gpus": (
            Gpu(
                util_percent=98.5,
                mean_memory_bytes=16 * GIB,
                peak_memory_bytes=18 * GIB,
                mean_celsius=68.0,
                peak_celsius=72.0,
            ),
        ),
        "checkpoints": tuple(
            Checkpoint(name=f"checkpoint-{step}", written_at=float(step), step=step)
            for step in range(200, 1001, 200)
        ),
    }
    return JobFacts(**(facts | changes))  # type: ignore[arg-type]  # the tests name what they change


def test_a_whole_job_has_every_key() -> None:
    assert analytics.job(training()) == {
        "job_id": "abc123",
        "status": "completed",
        "duration": {"total_seconds": 3600.0, "training_seconds": 3446.55, "overhead_seconds": 153.45},
        "performance": {
            "average_samples_per_second": 4.642,
            "peak_samples_per_second": 4.8,
            "average_iteration_time": 3.45,
            "total_iterations": 1000,
            "total_samples": 16000,
        },
        "resource_utilization": {
            "average_gpu_utilization": 98.5,
            "peak_gpu_memory_mb": 18432.0,
            "average_gpu_memory_mb": 16384.0,
            "average_gpu_temp_celsius": 68.0,
            "peak_gpu_temp_celsius": 72.0,
        },
        "checkpoints": {
            "total_checkpoints": 5,
            "checkpoint_frequency_steps": 200,
            "best_checkpoint": "checkpoint-800",
            "final_checkpoint": "checkpoint-1000",
        },
        "losses": {
            "initial_loss": 2.45,
            "final_loss": 0.32,
            "best_loss": 0.28,
            "loss_reduction_percent": 86.9,
        },
        "efficiency": {"gpu_utilization_score": 98.5, "throughput_score": 96.7, "overall_score": 97.6},
    }


def test_a_job_of_which_nothing_is_known_has_nulls_and_says_why() -> None:
    record = analytics.job(JobFacts(job_id="x", status="queued"))
    assert record["duration"] == {"total_seconds": None, "training_seconds": None, "overhead_seconds": None}
    assert set(record["performance"].values()) == {None}  # type: ignore[attr-defined]
    assert record["efficiency"] == {
        "gpu_utilization_score": None,
        "throughput_score": None,
        "overall_score": None,
    }
    assert record["warnings"] == [
        "no step was logged: nothing is known of throughput",
        "no GPU was measured",
        "no loss was logged",
        "no checkpoint was seen",
    ]


def performance(**changes: object) -> dict[str, float | None]:
    return analytics.job(training(**changes))["performance"]  # type: ignore[return-value]


def test_steps_are_not_samples() -> None:
    record = analytics.job(training(loops=(Loop(rank=0, steps=[1, 2, 3], times=[0.0, 1.0, 2.0]),)))
    assert record["performance"] == {
        "average_samples_per_second": None,
        "peak_samples_per_second": None,
        "average_iteration_time": 1.0,
        "total_iterations": 3,
        "total_samples": None,
    }
    assert record["warnings"] == ["no batch size is known: steps are not samples"]


def test_without_a_batch_size_the_jobs_own_word_is_taken_with_a_warning() -> None:
    loop = Loop(rank=0, steps=[10, 20, 30], times=[0.0, 5.0, 10.0], samples_per_second=8.0)
    record = analytics.job(training(loops=(loop,)))
    found = record["performance"]
    assert isinstance(found, dict)
    assert (found["average_samples_per_second"], found["total_samples"]) == (8.0, 80)
    assert found["total_iterations"] == 30
    assert "the job's own word" in str(record["warnings"])


def test_ranks_add_their_samples() -> None:
    loops = tuple(Loop(rank=rank, steps=[0, 1, 2], times=[0.0, 1.0, 2.0], batch_size=4.0) for rank in (0, 1))
    found = performance(loops=loops)
    assert (found["total_samples"], found["average_samples_per_second"]) == (24, 12.0)
    assert found["peak_samples_per_second"] == 12.0


def test_the_peak_is_the_best_minute() -> None:
    slow = [float(moment) for moment in range(0, 600, 10)]
    fast = [600.0 + moment for moment in range(120)]
    loop = Loop(rank=0, steps=list(range(180)), times=slow + fast, batch_size=2.0)
    assert performance(loops=(loop,))["peak_samples_per_second"] == 2.0


def test_steps_without_times_have_no_throughput() -> None:
    loop = Loop(rank=0, steps=[1, 2], times=[nan, nan], batch_size=2.0)
    record = analytics.job(training(loops=(loop,)))
    found = record["performance"]
    assert isinstance(found, dict)
    assert (found["total_samples"], found["average_samples_per_second"]) == (4, None)
    assert record["warnings"] == ["the steps have no times: throughput is not known"]
    unknown = analytics.job(training(loops=(Loop(rank=0, steps=[1], times=[nan]),)))
    assert unknown["warnings"][-1:] == ["no batch size is known: steps are not samples"]  # type: ignore[index]


def test_one_step_is_no_duration() -> None:
    found = performance(loops=(Loop(rank=0, steps=[7], times=[5.0], batch_size=2.0),))
    assert (found["total_iterations"], found["average_iteration_time"]) == (1, None)


def test_losses_that_are_no_numbers_never_reach_json() -> None:
    record = analytics.job(training(losses=((1, nan), (2, 3.0), (3, inf))))
    assert record["losses"] == {
        "initial_loss": 3.0,
        "final_loss": None,
        "best_loss": 3.0,
        "loss_reduction_percent": None,
    }
    assert record["warnings"] == ["2 of 3 losses are no finite numbers"]
    json.dumps(record, allow_nan=False)


def test_the_best_checkpoint_is_the_last_where_none_follows_the_best_loss() -> None:
    early = (Checkpoint(name="a", written_at=1.0, step=100), Checkpoint(name="z", written_at=2.0))
    record = analytics.job(training(checkpoints=early))
    assert record["checkpoints"] == {
        "total_checkpoints": 2,
        "checkpoint_frequency_steps": None,
        "best_checkpoint": "a",
        "final_checkpoint": "z",
    }


def test_winners_are_found_only_among_jobs_that_have_the_value() -> None:
    whole = analytics.job(training())
    never = analytics.job(JobFacts(job_id="never", status="queued"))
    broken = analytics.job(training(job_id="broken", status="failed", total_seconds=3.0, losses=()))
    record = analytics.compare([never, broken, whole])
    assert record["winner"] == {
        "best_throughput": "broken",
        "best_loss": "abc123",
        "fastest": "abc123",
        "most_efficient": "broken",
    }
    assert "never has no throughput" in record["warnings"]  # type: ignore[operator]
    assert record["jobs"][2] == {  # type: ignore[index]
        "job_id": "abc123",
        "duration_seconds": 3600.0,
        "throughput": 4.642,
        "final_loss": 0.32,
        "gpu_utilization": 98.5,
    }


def test_jobs_without_anything_have_no_winner() -> None:
    nothing = analytics.job(JobFacts(job_id="n", status="queued"))
    winner = analytics.compare([nothing])["winner"]
    assert winner == dict.fromkeys(("best_throughput", "best_loss", "fastest", "most_efficient"))
    assert "warnings" not in analytics.compare([analytics.job(training())])

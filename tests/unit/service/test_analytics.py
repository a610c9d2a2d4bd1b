"""Figures of jobs out of run folders: ranks, lives, batch sizes, GPUs, checkpoints, and the summary's cache."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobmeter.compat import analytics as compat
from jobmeter.errors import UsageError
from jobmeter.service import analytics, analytics_facts, importing
from support import folders

STARTED = folders.STARTED


def write_training(
    home: Path,
    run_id: str = folders.RUN_ID,
    *,
    count: int = 100,
    first: int = 1,
    job_id: str | None = None,
    rank: int = 0,
    began: float = 0.0,
    config: dict[str, object] | None = None,
    **metrics: float,
) -> Path:
    """Write a run of one second a step whose loss falls from 2 by a hundredth a step."""
    folder = folders.write_run(
        home,
        run_id=run_id,
        seconds=3,
        processes=0,
        started=STARTED + began,
        start={"job_id": job_id or run_id},
        context={"config": {} if config is None else config},
        end={"wall_seconds": 120.0},
    )
    folders.append(
        folder / "steps.jsonl",
        *(
            {
                "timestamp": folders.iso(STARTED + began + 10 + step - first),
                "step": step,
                "rank": rank,
                "source": "sdk",
                "metrics": {"loss": 2 - step / 100, **metrics},
            }
            for step in range(first, first + count)
        ),
    )
    return folder


def figures(home: Path, job_id: str) -> Any:
    return compat.calculate_job_analytics(job_id, home=str(home))


def test_a_training_is_measured_by_its_steps_and_batch_size(tmp_path: Path) -> None:
    write_training(tmp_path, batch_size=8)
    found = figures(tmp_path, folders.RUN_ID)
    assert found["duration"] == {"total_seconds": 120.0, "training_seconds": 99.0, "overhead_seconds": 21.0}
    assert found["performance"] == {
        "average_samples_per_second": 8.081,
        "peak_samples_per_second": 8.081,
        "average_iteration_time": 1.0,
        "total_iterations": 100,
        "total_samples": 800,
    }
    assert found["losses"]["best_loss"] == 1.0
    assert found["warnings"] == ["no GPU was measured", "no checkpoint was seen"]


@pytest.mark.parametrize(
    ("config", "samples"),
    [
        ({"batch_size": 4}, 400),
        ({"train": {"batch_size": 4, "gradient_accumulation_steps": 2}}, 800),
        ({"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}, 800),
        ({"global_batch_size": 32}, 3200),
        ({"batch_size": True}, None),
        ({"batch_size": 0}, None),
    ],
)
def test_a_batch_size_may_stand_in_the_config(
    tmp_path: Path, config: dict[str, object], samples: int | None
) -> None:
    write_training(tmp_path, config=config)
    assert figures(tmp_path, folders.RUN_ID)["performance"]["total_samples"] == samples


def test_ranks_of_one_job_add_up_and_rank_0_tells_the_loss(tmp_path: Path) -> None:
    write_training(tmp_path, "20261115T095001Z-aaaaaa", job_id="ddp", batch_size=8)
    write_training(tmp_path, "20261115T095001Z-bbbbbb", job_id="ddp", rank=1, first=21, batch_size=8)
    found = figures(tmp_path, "ddp")
    assert found["job_id"] == "ddp"
    assert found["performance"]["total_samples"] == 1600
    assert (found["losses"]["initial_loss"], found["losses"]["final_loss"]) == (1.99, 1.0)
    assert found["duration"]["total_seconds"] == 120.0


def test_a_resumed_job_is_one_training(tmp_path: Path) -> None:
    write_training(tmp_path, "20261115T095001Z-aaaaaa", job_id="twice", batch_size=8)
    write_training(tmp_path, "20261115T105001Z-bbbbbb", job_id="twice", first=51, began=3600, batch_size=8)
    found = figures(tmp_path, "twice")
    assert found["performance"]["total_iterations"] == 150
    assert found["duration"]["total_seconds"] == 240.0
    assert found["losses"]["final_loss"] == 0.5


def test_what_a_loop_logs_of_its_gpu_counts_where_none_was_measured(tmp_path: Path) -> None:
    write_training(tmp_path, gpu_utilization=90.0, gpu_memory_used=1024.0, gpu_temperature=60.0)
    assert figures(tmp_path, folders.RUN_ID)["resource_utilization"] == {
        "average_gpu_utilization": 90.0,
        "peak_gpu_memory_mb": 1024.0,
        "average_gpu_memory_mb": 1024.0,
        "average_gpu_temp_celsius": 60.0,
        "peak_gpu_temp_celsius": 60.0,
    }


def test_checkpoints_are_named_by_their_folder(tmp_path: Path) -> None:
    folder = write_training(tmp_path)
    folders.append(
        folder / "events.jsonl",
        *(
            {
                "timestamp": folders.iso(STARTED + step),
                "type": "checkpoint",
                "details": {"path": f"/out/checkpoint-{step}", "step": step},
            }
            for step in (40, 80)
        ),
        {"timestamp": folders.iso(STARTED), "type": "checkpoint", "details": {}},
    )
    assert figures(tmp_path, folders.RUN_ID)["checkpoints"] == {
        "total_checkpoints": 2,
        "checkpoint_frequency_steps": 40,
        "best_checkpoint": "checkpoint-80",
        "final_checkpoint": "checkpoint-80",
    }


def test_the_progress_file_of_a_training_server_is_found_by_its_job(tmp_path: Path) -> None:
    rows = [
        {
            "step": step,
            "timestamp": folders.iso(STARTED + step),
            "loss": 2.5 - step / 100,
            "gpu_utilization": 95,
            "samples_per_second": 1.0,
        }
        for step in range(10, 101, 10)
    ]
    progress = {"job_id": "abc123", "status": "completed", "batch_size": 16, "metrics_history": rows}
    (tmp_path / "progress.json").write_text(json.dumps(progress))
    importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "progress.json")])
    found = figures(tmp_path / "home", "abc123")
    assert (found["job_id"], found["status"]) == ("abc123", "completed")
    assert found["performance"]["total_samples"] == 1600
    assert found["performance"]["average_samples_per_second"] == 17.778
    assert found["performance"]["average_iteration_time"] == 1.0
    summary: Any = compat.calculate_system_analytics(home=str(tmp_path / "home"))
    assert summary["average_training_duration_seconds"] == 90.0
    assert found["efficiency"]["gpu_utilization_score"] == 95.0


def test_a_job_nobody_knows_is_not_found(tmp_path: Path) -> None:
    write_training(tmp_path)
    with pytest.raises(compat.UnknownJobError, match="unknown job: nobody") as caught:
        figures(tmp_path, "nobody")
    assert caught.value.status_code == 404


def test_jobs_are_compared_in_the_order_they_are_named(tmp_path: Path) -> None:
    write_training(tmp_path, "20261115T095001Z-aaaaaa", batch_size=8)
    write_training(tmp_path, "20261115T095001Z-bbbbbb", count=50, batch_size=16)
    names = ["20261115T095001Z-bbbbbb", "20261115T095001Z-aaaaaa"]
    found: Any = compat.compare_jobs([*names, names[0]], home=str(tmp_path))
    assert [one["job_id"] for one in found["jobs"]] == names
    assert (found["winner"]["best_throughput"], found["winner"]["best_loss"]) == tuple(names)
    with pytest.raises(UsageError, match="no job to compare"):
        compat.compare_jobs([" "], home=str(tmp_path))


def test_the_summary_counts_jobs_and_is_made_anew_when_a_run_comes(tmp_path: Path) -> None:
    write_training(tmp_path, "20261115T095001Z-aaaaaa", job_id="ddp", batch_size=8)
    write_training(tmp_path, "20261115T095001Z-bbbbbb", job_id="ddp", rank=1, batch_size=8)
    found: Any = compat.calculate_system_analytics(home=str(tmp_path))
    assert (found["total_jobs"], found["jobs_by_status"]) == (1, {"completed": 1})
    assert found["top_performing_jobs"] == [{"job_id": "ddp", "throughput": 16.0, "duration": 120.0}]
    assert compat.calculate_system_analytics(home=str(tmp_path)) == found
    write_training(tmp_path, "20261116T095001Z-cccccc", began=90000, config={"batch_size": 4})
    later: Any = compat.calculate_system_analytics(page=1, per_page=1, home=str(tmp_path))
    assert (later["total_jobs"], later["pages"], later["average_throughput_samples_per_sec"]) == (2, 2, 10.0)
    assert [one["job_id"] for one in later["jobs"]] == ["20261116T095001Z-cccccc"]
    with pytest.raises(UsageError, match="no page 0"):
        analytics.system(str(tmp_path), page=0)


def test_time_that_recorders_share_counts_once() -> None:
    assert analytics_facts.covered_seconds([(0, 10), (5, 12), None, (20, 21)]) == 13
    assert analytics_facts.covered_seconds([None]) is None

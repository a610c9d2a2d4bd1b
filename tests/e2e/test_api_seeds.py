"""The answers of training dashboards and of ai-toolkit's page over HTTP, field for field, from runs really recorded.

The examples are those of the designs these answers were made for. There is no GPU where the tests run: the recorder
reads a library with NVML's interface.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support import server
from support.nvml import H200, StandIn
from support.recorder import Home, wait_for
from support.server import Served

DRIVER = ["unshare", "-m", "sh", "-c",
          'mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia/gpus && exec "$@"', "sh"]  # fmt: skip
TRAIN = """
import pathlib, sys, time
import jobmeter

run = jobmeter.init(config={"batch_size": 16})
slow = float(sys.argv[1])
for step in range(1, 41):
    run.log({"loss": 2.45 / step + slow, "lr": 1e-3}, step=step)
    time.sleep(slow)
    if step % 20 == 0:
        folder = pathlib.Path("out", f"checkpoint-{step}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_bytes(b"x" * step)
        time.sleep(5.1)
run.finish()
"""
CONFIG = """
job: extension
config:
  name: lora
  process:
    - type: sd_trainer
      training_folder: out
      monitoring: {sample_interval_seconds: 0.2}
      datasets:
        - folder_path: /data
          num_workers: 2
      train: {batch_size: 4, gradient_checkpointing: false}
"""
RUNS_OUT = """
import sys, time
for step in range(4):
    clock = "00:01<00:09,  6.12it/s" if step else "00:10<?, ?it/s"
    print(f"lora:  20%|##        | {step}/4 [{clock}, lr: 1.0e-04 loss: {0.5 / (step + 1):.3e}]", flush=True)
    time.sleep(0.3)
raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which "
                   "1.50 GiB is free. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 1.00 GiB is "
                   "reserved by PyTorch but unallocated.")
"""
ANALYTICS = json.loads("""{
  "job_id": "abc123", "status": "completed",
  "duration": {"total_seconds": 3600, "training_seconds": 3450, "overhead_seconds": 150},
  "performance": {"average_samples_per_second": 4.2, "peak_samples_per_second": 5.1, "average_iteration_time": 3.8,
                  "total_iterations": 1000, "total_samples": 16000},
  "resource_utilization": {"average_gpu_utilization": 98.5, "peak_gpu_memory_mb": 18432, "average_gpu_memory_mb": 17200,
                           "average_gpu_temp_celsius": 68, "peak_gpu_temp_celsius": 72},
  "checkpoints": {"total_checkpoints": 5, "checkpoint_frequency_steps": 200, "best_checkpoint": "checkpoint-800",
                  "final_checkpoint": "checkpoint-1000"},
  "losses": {"initial_loss": 2.45, "final_loss": 0.32, "best_loss": 0.28, "loss_reduction_percent": 86.9},
  "efficiency": {"gpu_utilization_score": 98.5, "throughput_score": 84.0, "overall_score": 91.3}
}""")
SUMMARY = json.loads("""{
  "total_jobs": 150,
  "jobs_by_status": {"completed": 120, "failed": 15},
  "average_training_duration_seconds": 3200, "total_training_time_hours": 533.3,
  "average_throughput_samples_per_sec": 4.1,
  "top_performing_jobs": [{"job_id": "xyz789", "throughput": 5.2, "duration": 2800}],
  "resource_trends": {"average_gpu_utilization": 96.2, "average_peak_memory_mb": 17800}
}""")
COMPARED = json.loads("""{
  "jobs": [{"job_id": "job1", "duration_seconds": 3600, "throughput": 4.2, "final_loss": 0.32,
            "gpu_utilization": 98.5}],
  "winner": {"best_throughput": "job1", "best_loss": "job1", "fastest": "job1", "most_efficient": "job1"}
}""")
ANALYSIS = json.loads("""{
  "summary": {"health_score": "critical", "peak_memory_gb": 119.2, "total_memory_gb": 120, "training_completed": false,
              "steps_completed": 450, "duration_minutes": 32.5},
  "recommendations": [{"severity": "critical", "title": "Reduce worker count", "action": "Set num_workers: 0",
                       "impact": "Saves ~16GB memory", "config_path": "config.process[0].datasets[0].num_workers",
                       "current_value": 2, "recommended_value": 0}],
  "log_errors": [{"timestamp": 1731723012.5, "level": "ERROR", "message": "RuntimeError: CUDA out of memory",
                  "memory_at_time_gb": 119.2}],
  "metrics_timeline": [{"timestamp": 1.5}]
}""")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Record two trainings and a job of ai-toolkit's that runs out of memory, and serve them."""
    folder = tmp_path_factory.mktemp("seeds")
    home = Home(folder / "home")
    gpu = StandIn(tmp_path_factory.mktemp("nvml"))
    gpu.update(H200)
    environ = home.environ(CUDA_VISIBLE_DEVICES="0", **gpu.environment)
    jobs = []
    for job_id, slow in (("quick", "0.01"), ("slow", "0.05")):
        (folder / job_id).mkdir()
        words = (
            "-q",
            "--sample-interval",
            "0.2",
            "--job-id",
            job_id,
            "--",
            sys.executable,
            "-c",
            TRAIN,
            slow,
        )
        jobs.append(home.start(*words, before=DRIVER, env=environ, cwd=folder / job_id))
    (folder / "run.py").write_text(RUNS_OUT)
    (folder / "cfg.yml").write_text(CONFIG)
    words = ("-q", "--capture", "all", "--", sys.executable, "run.py", "cfg.yml")
    jobs.append(home.start(*words, env=home.environ(AITK_JOB_ID="5d3f"), cwd=folder))
    ended = [home.finish(job, seconds=60) for job in jobs]
    assert [one.code for one in ended] == [0, 0, 1], [one.stderr for one in ended]
    with server.serving(home.path) as running:
        yield running


def ask(served: Served, path: str) -> dict[str, Any]:
    answer = served.client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def kind(value: object) -> str:
    """Name what JSON calls a value."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def alike(found: object, example: object, path: str = "") -> list[str]:
    """List where an answer lacks a key of an example, or has another kind of value there."""
    if isinstance(example, dict) and isinstance(found, dict):
        missing = [f"{path}.{key} is missing" for key in example if key not in found]
        both = [key for key in example if key in found]
        return missing + [line for key in both for line in alike(found[key], example[key], f"{path}.{key}")]
    if isinstance(example, list) and isinstance(found, list):
        return [line for one in found for line in alike(one, example[0], f"{path}[]")] if example else []
    return [] if kind(found) == kind(example) else [f"{path} is {found!r}, not like {example!r}"]


def test_the_figures_of_a_training_have_every_field(served: Served) -> None:
    found = ask(served, "/api/training/quick/analytics")
    assert alike(found, ANALYTICS) == []
    assert list(found) == list(ANALYTICS)


def test_the_figures_of_a_training_are_right(served: Served) -> None:
    found = ask(served, "/api/training/quick/analytics")
    assert (found["job_id"], found["status"]) == ("quick", "completed")
    assert found["performance"]["total_iterations"] == 40
    assert found["performance"]["total_samples"] == 640
    assert found["checkpoints"] == {
        "total_checkpoints": 2,
        "checkpoint_frequency_steps": 20,
        "best_checkpoint": "checkpoint-40",
        "final_checkpoint": "checkpoint-40",
    }
    assert found["losses"]["initial_loss"] == pytest.approx(2.46)
    assert found["losses"]["final_loss"] == pytest.approx(2.45 / 40 + 0.01)
    assert found["resource_utilization"] == {
        "average_gpu_utilization": 87.0,
        "peak_gpu_memory_mb": 65536.0,
        "average_gpu_memory_mb": 65536.0,
        "average_gpu_temp_celsius": 61.0,
        "peak_gpu_temp_celsius": 61.0,
    }
    duration = found["duration"]
    assert duration["total_seconds"] == pytest.approx(
        duration["training_seconds"] + duration["overhead_seconds"]
    )


def test_a_job_nobody_knows_is_a_problem_document(served: Served) -> None:
    answer = served.client.get("/api/training/no-such-job/analytics")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "unknown job: no-such-job"


def test_the_summary_has_every_field(served: Served) -> None:
    found = ask(served, "/api/training/analytics/summary")
    assert alike(found, SUMMARY | {"jobs_by_status": {"completed": 2, "failed": 1}}) == []
    assert list(found) == list(SUMMARY)
    assert (found["total_jobs"], found["jobs_by_status"]) == (3, {"completed": 2, "failed": 1})
    assert [one["job_id"] for one in found["top_performing_jobs"]] == ["quick", "slow"]


def test_the_summary_has_pages(served: Served) -> None:
    pages = [ask(served, f"/api/training/analytics/summary?page={page}&per_page=2") for page in (1, 2)]
    assert [len(one["jobs"]) for one in pages] == [2, 1]
    assert {job["job_id"] for one in pages for job in one["jobs"]} == {"quick", "slow", "5d3f"}
    assert [(one["page"], one["per_page"], one["pages"]) for one in pages] == [(1, 2, 2), (2, 2, 2)]


def test_the_summary_is_kept_while_it_holds(served: Served) -> None:
    path = "/api/training/analytics/summary?page=1"
    first = served.client.get(path)
    again = served.client.get(path, headers={"if-none-match": first.headers["etag"]})
    # it comes once its second is over
    changed = wait_for(lambda: served.client.get(path).headers.get("last-modified"))
    since = served.client.get(path, headers={"if-modified-since": changed})
    assert (again.status_code, again.content, since.status_code) == (304, b"", 304)
    other = served.client.get(path, headers={"if-none-match": '"another"'})
    assert (other.status_code, other.headers["etag"]) == (200, first.headers["etag"])


def test_the_summary_is_another_once_a_run_is_deleted(served: Served) -> None:
    path = "/api/training/analytics/summary"
    first = served.client.get(path)
    run_id = ask(served, "/api/v1/runs?q=job_id=slow&fields=run_id")["runs"][0]["run_id"]
    assert served.client.delete(f"/api/v1/runs/{run_id}").status_code == 200
    wait_for(lambda: ask(served, path)["total_jobs"] == 2)
    assert served.client.get(path, headers={"if-none-match": first.headers["etag"]}).status_code == 200
    assert served.client.post(f"/api/v1/runs/{run_id}/restore").status_code == 200
    # the run is listed first, what it measured a moment later: in the end all is as before
    wait_for(lambda: ask(served, path) == first.json())


def test_a_comparison_has_every_field_and_the_right_winner(served: Served) -> None:
    found = ask(served, "/api/training/analytics/compare?job_ids=quick,slow")
    assert alike(found, COMPARED) == []
    assert list(found) == list(COMPARED)
    assert [one["job_id"] for one in found["jobs"]] == ["quick", "slow"]
    assert (found["winner"]["best_throughput"], found["winner"]["best_loss"]) == ("quick", "quick")
    assert found["winner"]["fastest"] == "quick"


def test_an_analysis_for_ai_toolkit_has_every_field(served: Served) -> None:
    found = ask(served, "/api/jobs/5d3f/analysis")
    # a setting may be a number, a word or a switch
    free = (".current_value", ".recommended_value")
    assert [line for line in alike(found, ANALYSIS) if not line.split(" is ")[0].endswith(free)] == []
    assert list(found) == list(ANALYSIS)
    assert {key for one in found["recommendations"] for key in one} == {*ANALYSIS["recommendations"][0]}
    assert found["summary"]["health_score"] == "critical"
    assert found["summary"]["training_completed"] is False
    assert found["summary"]["steps_completed"] == 3
    assert "CUDA out of memory" in found["log_errors"][-1]["message"]
    assert found["recommendations"]


def test_advice_is_put_into_the_recorded_config(served: Served) -> None:
    answer = served.client.post("/api/jobs/5d3f/apply")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert list(found) == ["job_id", "config", "applied", "skipped", "diff"]
    assert found["config"]["config"]["process"][0]["train"] == {
        "batch_size": 2,
        "gradient_checkpointing": True,
    }
    assert found["applied"][0] == {
        "rule": "batch_size",
        "config_path": "config.process[0].train.batch_size",
        "current_value": 4,
        "recommended_value": 2,
    }
    assert {one["rule"] for one in found["skipped"]} == {"quantisation"}


def test_advice_is_put_into_a_text_that_is_sent(served: Served) -> None:
    wish = {"config": CONFIG, "format": "yaml", "only": ["batch_size"]}
    answer = served.client.post("/api/jobs/5d3f/apply", json=wish)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["config"] == CONFIG.replace("batch_size: 4", "batch_size: 2")
    assert "-      train: {batch_size: 4" in found["diff"]


def test_advice_changes_no_file_and_starts_nothing(served: Served) -> None:
    def state() -> list[tuple[str, int]]:
        folder = served.home.parent
        return sorted((str(path), path.stat().st_mtime_ns) for path in folder.glob("*.*") if path.is_file())

    before, runs = state(), ask(served, "/api/v1/runs?fields=run_id")["total"]
    served.client.post("/api/jobs/5d3f/apply")
    assert (state(), ask(served, "/api/v1/runs?fields=run_id")["total"]) == (before, runs)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"config": "a: [", "format": "yaml"}, "not YAML"),
        ({"config": "a: 1", "format": "ini"}, "the format of the config is not known"),
        ({"config": "a: 1", "format": "yaml", "only": ["rm -rf /"]}, "no rule is called rm -rf /"),
        (
            {"config": "a: &a [x]\n" + "b: *a\n" * 30, "format": "yaml"},
            "the config refers to itself too often",
        ),
        ({"config": "x" * 70_000, "format": "yaml"}, "the config is empty or too long"),
        ({"command": "reboot"}, "command"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(served: Served, wish: dict[str, object], sentence: str) -> None:
    answer = served.client.post("/api/jobs/5d3f/apply", json=wish)
    assert answer.status_code == 400
    assert sentence in answer.json()["detail"]

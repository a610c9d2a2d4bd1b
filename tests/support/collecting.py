"""A rank's files as a trainer writes them, and what a collector says of job `j`."""

import json
from pathlib import Path

from jobmeter.compat.collector import MetricsCollectorConfig, TrainingMetrics, TrainingMetricsCollector

QUICK = MetricsCollectorConfig(collection_interval=0.03, collection_timeout=5)


def write(folder: Path, rank: int, step: int, **more: object) -> None:
    """Replace a rank's file as UGRO's trainer does."""
    folder.mkdir(exist_ok=True)
    record = {"timestamp": 1768910730.0 + step, "job_id": "j", "rank": rank, "step": step, **more}
    partial = folder / f".{rank}"
    partial.write_text(json.dumps(record) + "\n")
    partial.rename(folder / f"metrics_rank{rank}.jsonl")


def latest(collector: TrainingMetricsCollector, rank: int) -> TrainingMetrics | None:
    found = collector.get_latest_metrics("j", rank)
    assert found is None or isinstance(found, TrainingMetrics)
    return found


def step_of(collector: TrainingMetricsCollector, rank: int) -> int | None:
    found = latest(collector, rank)
    return None if found is None else found.step


def rank_status(collector: TrainingMetricsCollector, rank: int) -> dict[str, object]:
    ranks = collector.get_status("j")["ranks"]
    assert isinstance(ranks, dict)
    found = ranks[rank]
    assert isinstance(found, dict)
    return found

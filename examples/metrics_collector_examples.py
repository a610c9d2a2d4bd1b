#!/usr/bin/env python3
"""Collect the metrics of training ranks while they run. Every example trains for real, in a folder of its own.

python examples/metrics_collector_examples.py [--interval SECONDS]
"""

import argparse
import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from jobmeter.compat.collector import (
    MetricsCollectorConfig,
    TrainingMetrics,
    TrainingMetricsCollector,
    create_metrics_collector,
)
from jobmeter.compat.health import UGROAgentWithHealthMonitoring

TRAINER = """
import json, os, sys, time

rank, steps, seconds, slow = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
weight = 0.0
for step in range(1, steps + 1):
    began = time.perf_counter()
    gradient = 2 * (weight - 3.0)  # of the loss (weight - 3)^2
    weight -= 0.1 * gradient
    time.sleep(seconds * slow)
    took = time.perf_counter() - began
    told = {"timestamp": time.time(), "rank": rank, "step": step, "training_loss": (weight - 3.0) ** 2,
            "gradient_norm": abs(gradient), "learning_rate": 0.1, "throughput_tokens_sec": 64 / took}
    with open(f".metrics{rank}", "w") as file:
        json.dump(told, file)
    os.replace(f".metrics{rank}", f"metrics_rank{rank}.jsonl")
"""
"""Gradient descent on one weight; every step replaces the rank's metrics file."""


async def train(folder: Path, ranks: list[int], *, steps: int, seconds: float) -> None:
    """Run one trainer per rank to its end; the last rank is half as fast."""

    async def one(rank: int) -> None:
        slow = "2" if rank == ranks[-1] else "1"
        words = (sys.executable, "-c", TRAINER, str(rank), str(steps), str(seconds), slow)
        process = await asyncio.create_subprocess_exec(*words, cwd=folder)
        await process.wait()

    async with asyncio.TaskGroup() as group:
        for rank in ranks:
            group.create_task(one(rank))


async def example_1_basic_collection(interval: float) -> TrainingMetricsCollector:
    """Start, look at the newest samples, ask for statistics, stop."""
    print("== 1. basic collection")
    with tempfile.TemporaryDirectory() as folder:
        config = MetricsCollectorConfig(collection_interval=interval, max_history_size=50)
        collector = create_metrics_collector({"0-3": folder}, config)
        await collector.start_collection("job_001", [0, 1, 2, 3])
        await train(Path(folder), [0, 1, 2, 3], steps=10, seconds=interval)
        await collector.stop()
    for sample in collector.get_latest_metrics("job_001") or ():
        print(
            f"rank {sample.rank}: step {sample.step}, loss {sample.training_loss:.4f}, "
            f"{sample.throughput_tokens_sec:.0f} tokens/s"
        )
    statistics = collector.get_job_statistics("job_001")
    print(
        f"{statistics['total_metrics']} samples, average loss {statistics['avg_loss']:.4f}, "
        f"efficiency {statistics['avg_efficiency']:.1f} of 100"
    )
    # no GPU told anything here: its figures are absent, not 0
    print("GPU:", statistics.get("avg_gpu_util", "not measured"))
    return collector


def example_2_history_and_trends(collector: TrainingMetricsCollector) -> None:
    """Ask for a rank's past, by number and by time, and where it is going."""
    print("== 2. history and trends")
    history = collector.get_metrics_history("job_001", 0, limit=5)
    for sample in history:
        print(f"step {sample.step}: loss {sample.training_loss:.4f}, score {sample.efficiency_score:.0f}")
    since = history[len(history) // 2].timestamp
    print(f"{len(collector.get_history('job_001', 0, since=since))} samples since {since:%H:%M:%S}")
    loss = collector.get_job_statistics("job_001")["per_rank"][0]["training_loss"]
    print(
        f"loss of rank 0: {loss['max']:.3f} down to {loss['min']:.3f}, {loss.get('trend', 'too few to say')}"
    )


async def example_3_thresholds(interval: float) -> None:
    """Be told once when a rank crosses a threshold."""
    print("== 3. thresholds")
    config = MetricsCollectorConfig(collection_interval=interval, low_throughput_threshold=48 / interval)
    with tempfile.TemporaryDirectory() as folder:
        collector = create_metrics_collector({"0-2": folder}, config)
        await collector.start_collection("job_003")
        await train(Path(folder), [0, 1, 2], steps=6, seconds=interval)
        await collector.stop()
    for alert in collector.get_alerts("job_003"):
        print(f"{alert.kind}: {alert.sentence}")


async def example_4_training_under_an_agent(interval: float) -> None:
    """Let the agent start the ranks; collecting begins and ends with them."""
    print("== 4. training under an agent")
    with tempfile.TemporaryDirectory() as folder:
        agent = UGROAgentWithHealthMonitoring(
            {"0-1": folder}, MetricsCollectorConfig(collection_interval=interval)
        )
        await agent.start_health_monitoring()
        command = [sys.executable, "-c", TRAINER, "{rank}", "5", str(interval), "1"]
        agent.launch_training(job_name="test", ranks=[0, 1], command=command)
        print("exit codes:", await agent.wait_for_training("test"))
        print("last steps:", [sample.step for sample in agent.get_training_metrics("test") or ()])
        print("statistics:", agent.get_job_metrics_statistics("test")["status"])
        await agent.stop_health_monitoring()


def example_5_validation() -> None:
    """What a sample may hold, and what is refused with a sentence."""
    print("== 5. validation")
    good = TrainingMetrics(
        timestamp=datetime.now(UTC),
        job_id="test_job",
        rank=0,
        gpu_util=85.5,
        training_loss=-2.1,
        throughput_tokens_sec=156.7,
        best_throughput=189.3,
    )
    print(f"a negative loss is legal: {good.training_loss}; efficiency {good.efficiency_score:.1f}")
    print(
        "NaN is kept and flagged:",
        TrainingMetrics(datetime.now(UTC), "j", 0, training_loss=float("nan")).flags,
    )
    for wrong in ({"gpu_util": 130}, {"training_loss": "low"}, {"rank": -1}):
        try:
            TrainingMetrics(**{"timestamp": 0, "job_id": "j", "rank": 0, **wrong})
        except ValueError as refused:
            print("refused:", refused)


async def main(interval: float) -> None:
    """Run all of them."""
    collector = await example_1_basic_collection(interval)
    example_2_history_and_trends(collector)
    await example_3_thresholds(interval)
    await example_4_training_under_an_agent(interval)
    example_5_validation()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=float, default=0.5)
    asyncio.run(main(parser.parse_args().interval))

#!/usr/bin/env python3
"""Watch the health of a collection: breakers, ranks that are missing, and training tied to its collection.

python examples/health_monitor_examples.py [--interval SECONDS] [NUMBER ...]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jobmeter.compat.collector import BreakerPolicy, MetricsCollectorConfig, TrainingMetricsCollector
from jobmeter.compat.health import HealthMonitorIntegration, UGROAgentWithHealthMonitoring
from jobmeter.fleet import targets

_PATIENCE_SECONDS = 30


async def until(condition: Callable[[], object]) -> None:
    """Wait for what the collection will notice."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("nothing happened")
        await asyncio.sleep(0.01)


def write(path: Path, step: int) -> None:
    """Leave a rank's numbers as its trainer would."""
    path.write_text(
        json.dumps({"timestamp": time.time(), "rank": 0, "step": step, "training_loss": 1 / step})
    )


async def circuit_breaker_example(interval: float) -> None:
    """See a breaker open for a broken file, allow one trial, and close again."""
    print("== 1. circuit breaker")
    with tempfile.TemporaryDirectory() as folder:
        metrics = Path(folder) / "metrics_rank0.jsonl"
        collector = TrainingMetricsCollector(
            targets.cluster({0: folder}),
            MetricsCollectorConfig(collection_interval=interval),
            policy=BreakerPolicy(failures=3, open_seconds=interval),
        )

        def rank() -> dict[str, object]:
            return collector.get_status("job")["ranks"][0]

        write(metrics, 1)
        await collector.start_collection("job", [0])
        await until(lambda: collector.get_latest_metrics("job", 0))
        print("breaker:", rank()["breaker"])
        metrics.write_bytes(b"\xff\xfe not JSON at all\n")
        await until(lambda: rank()["breaker"] == "open")
        print("breaker:", rank()["breaker"], "after", rank()["failures"], "failures:", rank()["error"])
        write(metrics, 2)
        await until(lambda: rank()["breaker"] == "closed")
        print("breaker:", rank()["breaker"], "again, at step", collector.get_latest_metrics("job", 0).step)
        await collector.stop()


async def missing_rank_example(interval: float) -> None:
    """Tell a rank that has not begun from one that fails."""
    print("== 2. a rank that is missing")
    with tempfile.TemporaryDirectory() as folder:
        monitor = HealthMonitorIntegration(
            targets.cluster({"0-1": folder}), MetricsCollectorConfig(collection_interval=interval)
        )
        await monitor.start_health_monitoring()
        write(Path(folder) / "metrics_rank0.jsonl", 1)
        monitor.register_job_start("job", [0, 1])
        await until(lambda: monitor.get_training_metrics("job", 0))
        statistics = monitor.get_job_metrics_statistics("job")
        print("samples by rank:", {rank: told["count"] for rank, told in statistics["per_rank"].items()})
        await monitor.register_job_end("job")
        print("status:", monitor.get_monitoring_status()["metrics_collector"]["statistics"])
        await monitor.stop_health_monitoring()
        print("after the end:", monitor.get_monitoring_status()["status"])


async def metrics_collector_example(interval: float) -> None:
    """Start training and let its collection live and end with it."""
    print("== 3. metrics of a launched job")
    script = f'for step in 1 2 3; do echo "step: $step, loss: 0.$((9 - step))"; sleep {interval}; done'
    with tempfile.TemporaryDirectory() as folder:
        agent = UGROAgentWithHealthMonitoring(
            {"0-1": folder}, MetricsCollectorConfig(collection_interval=interval)
        )
        await agent.start_health_monitoring()
        agent.launch_training(job_name="test", ranks=[0, 1], command=["sh", "-c", script])
        print("exit codes:", await agent.wait_for_training("test"))
        for sample in agent.get_training_metrics("test") or ():
            print(
                f"rank {sample.rank}: step {sample.step}, loss {sample.training_loss}, told by {sample.sources}"
            )
        await agent.stop_health_monitoring()


EXAMPLES = (circuit_breaker_example, missing_rank_example, metrics_collector_example)


async def main(chosen: list[int], interval: float) -> int:
    """Run the examples that were chosen, or all."""
    for number in chosen or range(1, len(EXAMPLES) + 1):
        await EXAMPLES[number - 1](interval)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    menu = ", ".join(f"{place} {one.__doc__}" for place, one in enumerate(EXAMPLES, 1))
    parser.add_argument("numbers", metavar="NUMBER", type=int, nargs="*", help=menu)
    parser.add_argument("--interval", type=float, default=0.5)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.numbers, given.interval)))

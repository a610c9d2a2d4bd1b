"""GPUs of this host beside the files of its ranks: real processes that answer, hang or fail."""

import asyncio
import os
from pathlib import Path

import pytest

from jobmeter.compat.collector import MetricsCollectorConfig, create_metrics_collector
from support.collecting import QUICK, latest, step_of, write
from support.eventually import eventually


def nvidia_smi(folder: Path, script: str) -> str:
    """Put an `nvidia-smi` on the search path."""
    tool = folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return f"{tool.parent}:{os.environ['PATH']}"


TWO_GPUS = """\
echo '0, GPU-aaaa, 87, 40, 10035, 81559, 301.50, 54'
echo '1, GPU-bbbb, 12, 3, 1024, 81559, [N/A], 44'
"""


def test_with_nothing_else_the_gpu_is_told_and_only_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, TWO_GPUS))

    async def main() -> None:
        collector = create_metrics_collector({"0-1": tmp_path / "nothing"}, QUICK)
        await collector.start_collection("j", [0, 1])
        await eventually(lambda: latest(collector, 1) is not None)
        await collector.stop()
        second = latest(collector, 1)
        assert second is not None
        told = {name: value for name, value in second.to_dict().items() if name != "timestamp"}
        assert told == {"job_id": "j", "rank": 1, "gpu_util": 12, "gpu_mem_used_gb": 1.0}
        assert second.sources == {"gpu_util": "nvsmi", "gpu_mem_used_gb": "nvsmi"}

    asyncio.run(main())


def test_the_gpu_completes_a_record_that_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, TWO_GPUS))

    async def main() -> None:
        cluster = {0: {"target": str(tmp_path), "gpu": 1}, 1: {"target": str(tmp_path), "gpu": "GPU-aaaa"}}
        collector = create_metrics_collector(cluster, QUICK)
        await collector.start_collection("j", [0, 1])
        await eventually(lambda: latest(collector, 0) and latest(collector, 1))
        write(tmp_path, 0, 1, training_loss=1.0)
        write(tmp_path, 1, 1, training_loss=1.0, gpu_util=55)
        await eventually(lambda: step_of(collector, 0) == 1 and step_of(collector, 1) == 1)
        await collector.stop()
        first, second = latest(collector, 0), latest(collector, 1)
        assert first is not None
        assert second is not None
        assert (first.gpu_util, first.sources["gpu_util"], first.sources["training_loss"]) == (
            12,
            "nvsmi",
            "file",
        )
        assert (second.gpu_util, second.sources["gpu_util"], second.sources["gpu_mem_used_gb"]) == (
            55,
            "file",
            "nvsmi",
        )

    asyncio.run(main())


@pytest.mark.parametrize("script", ["exec sleep 20", "echo 'No devices were found'; exit 6", "kill -9 $$"])
def test_a_driver_that_hangs_or_fails_delays_no_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("PATH", nvidia_smi(tmp_path, script))

    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.03, collection_timeout=0.3)
        collector = create_metrics_collector({0: tmp_path}, config)
        await collector.start_collection("j", [0])
        for step in range(1, 6):
            write(tmp_path, 0, step, training_loss=1.0)
            await eventually(lambda step=step: step_of(collector, 0) == step)
        endpoints = collector.get_status("j")["endpoints"]
        await eventually(lambda: collector.get_status("j")["endpoints"][0].get("no_gpus"))  # type: ignore[index]
        assert isinstance(endpoints, list)
        await collector.stop()
        found = latest(collector, 0)
        assert found is not None
        assert found.gpu_util is None

    asyncio.run(main())

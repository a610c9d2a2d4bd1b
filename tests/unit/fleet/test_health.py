"""The agent and the integration: what they refuse, and what they do without a command or a cluster."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from jobmeter.compat.collector import MetricsCollectorConfig
from jobmeter.compat.health import HealthMonitorIntegration, UGROAgentWithHealthMonitoring
from jobmeter.errors import UsageError
from jobmeter.fleet import targets
from support.eventually import eventually

QUICK = MetricsCollectorConfig(collection_interval=0.03)


def test_before_the_start_there_is_nothing_to_ask() -> None:
    monitor = HealthMonitorIntegration(targets.cluster({0: "/nowhere"}))
    assert monitor.get_training_metrics("j") is None
    assert monitor.get_job_metrics_statistics("j") == {"status": "collector_not_running"}
    assert monitor.get_monitoring_status() == {"status": "stopped"}
    with pytest.raises(UsageError, match="health monitoring is not running"):
        monitor.register_job_start("j", [0])
    with pytest.raises(UsageError, match="health monitoring is not running"):
        UGROAgentWithHealthMonitoring({0: "/nowhere"}).launch_training("j", [0])


def test_an_agent_without_a_cluster_looks_where_ugro_keeps_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "ugro_data" / "jobs" / "test"
    folder.mkdir(parents=True)
    for rank in range(4):
        told = {"timestamp": 1.0, "job_id": "test", "rank": rank, "step": 7, "training_loss": 4.231}
        (folder / f"metrics_rank{rank}.jsonl").write_text(json.dumps(told))

    async def main() -> None:
        agent = UGROAgentWithHealthMonitoring()
        await agent.start_health_monitoring(QUICK)
        await agent.start_health_monitoring()
        assert agent.launch_training(job_name="test", ranks=[0, 1, 2, 3])
        await eventually(lambda: len(agent.get_training_metrics("test") or []) == 4)  # type: ignore[arg-type]
        assert agent.get_training_metrics("test_job") is None
        assert await agent.wait_for_training("test") == {}
        await agent.stop_training("test")
        assert agent.get_job_metrics_statistics("test")["avg_loss"] == 4.231
        await agent.stop_health_monitoring()
        assert agent.get_health_status() == {"status": "stopped"}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"ranks": [9]}, "rank 9 has no target"),
        ({"ranks": []}, "a job needs at least one rank"),
        (
            {"ranks": [0], "command": ["/no/such/command"]},
            "cannot start /no/such/command for rank 0: no such file",
        ),
        ({"ranks": [0], "command": []}, "no command to start"),
        ({"ranks": [1], "command": ["true"]}, "rank 1 is behind http: no command can be started there"),
    ],
)
def test_what_cannot_be_launched_is_refused(tmp_path: Path, words: dict[str, object], sentence: str) -> None:
    async def main() -> None:
        agent = UGROAgentWithHealthMonitoring({0: tmp_path, 1: "http://127.0.0.1:1/x"}, QUICK)
        await agent.start_health_monitoring()
        with pytest.raises(UsageError, match=sentence):
            agent.launch_training("j", **words)  # type: ignore[arg-type]
        await agent.stop_health_monitoring()

    asyncio.run(main())


def test_stopping_the_monitoring_leaves_the_training_alone(tmp_path: Path) -> None:
    async def main() -> None:
        agent = UGROAgentWithHealthMonitoring({0: tmp_path}, QUICK)
        await agent.start_health_monitoring()
        script = "import time, pathlib; time.sleep(0.5); pathlib.Path('done').touch()"
        agent.launch_training("j", num_gpus=1, command=f'{sys.executable} -c "{script}"')
        await agent.stop_health_monitoring()
        await eventually((tmp_path / "done").exists)
        while await agent.wait_for_training("j") != {0: 0}:
            await asyncio.sleep(0.01)

    asyncio.run(main())


SSH = """#!/bin/sh
for word; do last=$word; done
case $last in
"exec sh") exec sh;;
"kill 77") sleep 1; kill "$(cat "$FOLDER/launched")";;
*nvidia-smi*) exit 127;;
*) echo $$ >"$FOLDER/launched"; echo 77; exec sleep 60;;
esac
"""


def test_a_host_that_takes_its_time_to_stop_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "ssh"
    tool.parent.mkdir()
    tool.write_text(SSH)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FOLDER", str(tmp_path))

    async def main() -> None:
        cluster = {0: tmp_path / "here", 1: "ssh://node/job"}
        agent = UGROAgentWithHealthMonitoring(cluster, QUICK)
        await agent.start_health_monitoring()
        agent.launch_training("other", ranks=[0])
        agent.launch_training("j", ranks=[1], command=["train"])
        await eventually((tmp_path / "launched").exists)
        before = looks(agent)
        await agent.stop_training("j")
        assert looks(agent) > before + 10  # a second has some thirty
        assert await agent.wait_for_training("j") == {1: -15}
        await agent.stop_health_monitoring()

    asyncio.run(main())


def looks(agent: UGROAgentWithHealthMonitoring) -> int:
    collector = agent.get_health_status()["metrics_collector"]
    assert isinstance(collector, dict)
    return int(collector["statistics"]["total_collections"])

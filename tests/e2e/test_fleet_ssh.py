"""A real ssh server on this host: what is read through it, what it refuses, and training started over it."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.compat.collector import MetricsCollectorConfig, create_metrics_collector
from jobmeter.compat.health import UGROAgentWithHealthMonitoring
from jobmeter.fleet import targets
from jobmeter.fleet.ssh import SshEndpoint
from jobmeter.fleet.tail import Found, TargetError, Wanted
from support import sshd
from support.eventually import eventually
from support.recorder import children

TRAINER = """
import json, os, time
rank = os.environ["RANK"]
for step in range(1, 4):
    with open(f".{rank}", "w") as file:
        file.write(json.dumps({"rank": int(rank), "step": step, "training_loss": 1 / step}))
    os.rename(f".{rank}", f"metrics_rank{rank}.jsonl")
    print("step", step, os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"], flush=True)
    time.sleep(0.1)
raise SystemExit(int(rank))
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> sshd.Keys:
    """Give a user's key."""
    return sshd.make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def server(keys: sshd.Keys) -> Iterator[sshd.Server]:
    """Give a server whose host key is known."""
    started = sshd.start(keys, "one")
    sshd.wait_until_up(started)
    keys.trust(started)
    yield started
    started.stop()


def table(server: sshd.Server, keys: sshd.Keys, folder: Path) -> dict[str, object]:
    return {
        "target": f"ssh://root@{server.address}:{server.port}{folder}",
        "ssh_options": keys.ssh_options(),
    }


def endpoint(server: sshd.Server, keys: sshd.Keys, folder: Path) -> SshEndpoint:
    return SshEndpoint(targets.parse(table(server, keys, folder)), 10)


def test_bytes_come_exact_from_odd_names_at_offsets_and_over_one_connection(
    server: sshd.Server, keys: sshd.Keys, tmp_path: Path
) -> None:
    odd = tmp_path / "a b'c\"$(x)*.json"
    content = os.urandom(9000) + b"\n\n\0"
    odd.write_bytes(content)
    (tmp_path / "-n").write_text("dash")

    async def main() -> None:
        host = endpoint(server, keys, tmp_path)
        whole, end, beyond, missing, dash = await host.read(
            [
                Wanted((f"{tmp_path}/no", str(odd))),
                Wanted((str(odd),), 8192),
                Wanted((str(odd),), 12288),
                Wanted((f"{tmp_path}/no",)),
                Wanted((f"{tmp_path}/-n",)),
            ]
        )
        assert (whole.path, whole.data) == (str(odd), content)
        assert end.data == content[8192:]
        assert (beyond.found, beyond.data) == (Found.HERE, b"")
        assert missing.found is Found.MISSING
        assert dash.data == b"dash"
        for _ in range(3):
            await host.read([Wanted((str(odd),))])
        assert host.connections == 1
        await host.close()

    asyncio.run(main())


def test_a_host_whose_key_is_not_known_is_refused(
    server: sshd.Server, keys: sshd.Keys, tmp_path: Path
) -> None:
    (tmp_path / "user").symlink_to(keys.user_key)
    (tmp_path / "known_hosts").touch()

    async def main() -> None:
        host = endpoint(server, sshd.Keys(tmp_path), tmp_path)
        with pytest.raises(TargetError, match=r"Host key verification failed\."):
            await host.read([Wanted(("/x",))])
        await host.close()

    asyncio.run(main())


def test_a_host_that_does_not_let_us_in_says_so_and_asks_nothing(
    server: sshd.Server, keys: sshd.Keys, tmp_path: Path
) -> None:
    stranger = sshd.make_keys(tmp_path / "stranger")
    stranger.trust(server)

    async def main() -> None:
        host = endpoint(server, stranger, tmp_path)
        with pytest.raises(TargetError, match=r"Permission denied \(publickey\)\."):
            await host.read([Wanted(("/x",))])
        await host.close()

    asyncio.run(main())


def test_a_server_that_restarts_is_connected_anew(keys: sshd.Keys, tmp_path: Path) -> None:
    (tmp_path / "metrics_rank0.jsonl").write_text('{"rank": 0, "step": 1, "loss": 1}\n')
    server = sshd.start(keys, "two")
    sshd.wait_until_up(server)
    keys.trust(server)

    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.1)
        collector = create_metrics_collector({0: table(server, keys, tmp_path)}, config)
        await collector.start_collection("j")
        await eventually(lambda: collector.get_history("j", 0))
        server.kill_sessions()
        server.stop()
        await eventually(lambda: collector.get_statistics()["failed_collections"])
        again = sshd.start(keys, "two", port=server.port)
        await eventually(lambda: looks(collector.get_status("j")) > 2, 60)
        before = looks(collector.get_status("j"))
        await eventually(lambda: looks(collector.get_status("j")) > before + 2, 60)
        await collector.stop()
        again.stop()
        assert [one.step for one in collector.get_history("j", 0)] == [1]

    asyncio.run(main())


GPUS = "echo '0, GPU-a, 10, 1, 1024, 81559, 99.5, 50'; echo '1, GPU-b, 20, 1, 2048, 81559, 99.5, 50'"


@pytest.mark.parametrize(("script", "known"), [(GPUS, [10, 20]), ("exec sleep 20", [None, None])])
def test_gpus_are_asked_over_the_same_connection_and_a_driver_that_hangs_delays_no_look(
    keys: sshd.Keys, tmp_path: Path, script: str, known: list[int | None]
) -> None:
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    server = sshd.start(keys, f"gpu-{known[0]}", search_path=str(tool.parent))
    sshd.wait_until_up(server)
    keys.trust(server)

    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.1, collection_timeout=5)
        collector = create_metrics_collector({"0-1": table(server, keys, tmp_path)}, config)
        await collector.start_collection("j")
        await eventually(lambda: looks(collector.get_status("j")) > 20)
        if known[0] is not None:
            await eventually(lambda: collector.get_latest_metrics("j", 1))
        found = [collector.get_latest_metrics("j", rank) for rank in (0, 1)]
        assert [getattr(sample, "gpu_util", None) for sample in found] == known
        assert collector.get_statistics()["failed_collections"] == 0
        # the server has one session process of ours: everything goes through one connection
        assert len(children(server.process.pid)) == 1
        await collector.stop()

    asyncio.run(main())
    server.stop()


def looks(status: dict[str, object]) -> int:
    ranks = status["ranks"]
    assert isinstance(ranks, dict)
    return int(ranks[0]["looks"])


@pytest.mark.parametrize("where", ["here", "there"])
def test_training_is_started_collected_and_let_go_when_it_ends(
    server: sshd.Server, keys: sshd.Keys, tmp_path: Path, where: str
) -> None:
    folder = tmp_path / "jobs" / "{job}"
    target: object = folder if where == "here" else table(server, keys, folder)

    async def main() -> None:
        agent = UGROAgentWithHealthMonitoring(
            {"0-1": target}, MetricsCollectorConfig(collection_interval=0.05)
        )
        await agent.start_health_monitoring()
        assert agent.launch_training(job_name="test", ranks=[0, 1], command=[sys.executable, "-c", TRAINER])
        assert await agent.wait_for_training("test") == {0: 0, 1: 1}
        metrics = agent.get_training_metrics("test")
        assert isinstance(metrics, list)
        # each rank's last step is there although its process ended right after it
        assert [(one.rank, one.step) for one in metrics] == [(0, 3), (1, 3)]
        assert agent.get_job_metrics_statistics("test")["status"] == "stopped"
        assert agent.get_health_status()["status"] == "running"
        await agent.stop_health_monitoring()
        log = (tmp_path / "jobs" / "test" / "logs" / "rank_1.log").read_text()
        assert log == "step 1 2 1\nstep 2 2 1\nstep 3 2 1\n"

    asyncio.run(main())


@pytest.mark.parametrize("where", ["here", "there"])
def test_training_can_be_stopped(server: sshd.Server, keys: sshd.Keys, tmp_path: Path, where: str) -> None:
    target: object = tmp_path if where == "here" else table(server, keys, tmp_path)
    script = "echo $$ > pid; exec sleep 600"

    async def main() -> None:
        agent = UGROAgentWithHealthMonitoring({0: target}, MetricsCollectorConfig(collection_interval=0.05))
        await agent.start_health_monitoring()
        agent.launch_training("test", [0], ["sh", "-c", script])
        await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        pid = int((tmp_path / "pid").read_text())
        await agent.stop_training("test")
        await eventually(lambda: not Path(f"/proc/{pid}").exists())
        await agent.stop_health_monitoring()

    asyncio.run(main())


def test_the_dd_at_the_other_end_reads_a_growing_log_from_where_it_was(
    server: sshd.Server, keys: sshd.Keys, tmp_path: Path
) -> None:
    path = tmp_path / "metrics_rank0.jsonl"
    steps = 3000

    async def main() -> None:
        config = MetricsCollectorConfig(collection_interval=0.1, max_history_size=10_000)
        collector = create_metrics_collector({0: table(server, keys, tmp_path)}, config)
        await collector.start_collection("j")
        with path.open("w") as file:
            for step in range(steps):
                file.write(json.dumps({"rank": 0, "step": step, "training_loss": 1 / (step + 1)}) + "\n")
                if step % 300 == 0:
                    file.flush()
                    await asyncio.sleep(0.05)
        await eventually(lambda: len(collector.get_history("j", 0)) >= steps)
        await collector.stop()
        assert [one.step for one in collector.get_history("j", 0)] == list(range(steps))

    asyncio.run(main())

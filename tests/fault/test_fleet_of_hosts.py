"""Eight hosts with real ssh servers, 64 ranks: one host cut off, one hanging, one with a broken file.

All others keep their beat, breakers open and close again, and nothing is recorded twice.
"""

import json
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from support import netns, sshd
from support.recorder import JOBMETER, Home, events, leave, lines, merged, usage, wait_for

HOSTS, PER_HOST = 8, 8
RANKS = range(HOSTS * PER_HOST)
INTERVAL = 2.0
CUT, HANGING, BROKEN, LOGGING = 1, 2, 3, 4
BROKEN_RANK = 17
BEATS_IN_TROUBLE = 4
"""How long the faulty hosts stay so after their breakers opened."""
APPENDING = frozenset((1, 5, 6))
"""Hosts whose ranks append to their file; the others replace it, and host 4 has nothing but logs."""


def host_of(rank: int) -> int:
    return rank // PER_HOST + 1


def ranks_of(host: int) -> list[int]:
    return [rank for rank in RANKS if host_of(rank) == host]


def loss(rank: int, step: int) -> float:
    return round(rank + 1 / step, 4)


class Trainers:
    """64 ranks that write their numbers twice a second, each as its host does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.step = 0
        self.broken = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._train, daemon=True)
        for host in range(1, HOSTS + 1):
            (folder / f"host{host}" / "logs").mkdir(parents=True)

    def start(self) -> None:
        """Write a first step, then go on beside the test."""
        self._write_all()
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._end.set()
        self._thread.join()

    def _train(self) -> None:
        while not self._end.wait(0.5):
            self._write_all()

    def _write_all(self) -> None:
        self.step += 1
        for rank in RANKS:
            if rank == BROKEN_RANK and self.broken.is_set():
                self._path(rank).write_bytes(os.urandom(64) + b"\n")
            else:
                self._write(rank)

    def _path(self, rank: int) -> Path:
        return self.folder / f"host{host_of(rank)}" / f"metrics_rank{rank}.jsonl"

    def _write(self, rank: int) -> None:
        host, told = host_of(rank), loss(rank, self.step)
        if host == LOGGING:
            line = f"Epoch [1/3] Step [{self.step}/9999] Loss: {told:.4f} LR: 1.99e-04 Throughput: 152.00 tokens/s\n"
            with (self.folder / f"host{host}" / "logs" / f"rank_{rank}.log").open("a") as log:
                log.write(line)
            return
        record = {
            "timestamp": time.time(),
            "job_id": "J",
            "rank": rank,
            "step": self.step,
            "training_loss": told,
        }
        line = json.dumps(record) + "\n"
        path = self._path(rank)
        if host in APPENDING:
            with path.open("a") as file:
                file.write(line)
            return
        partial = path.with_suffix(".part")
        partial.write_text(line)
        partial.rename(path)


class Metronome:
    """How long this machine stood still: the most a short sleep overslept."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while True:
            before = time.monotonic()
            if self._end.wait(0.02):
                return
            self.worst = max(self.worst, time.monotonic() - before - 0.02)

    def stop(self) -> None:
        """Stop counting."""
        self._end.set()
        self._thread.join()


@pytest.fixture
def network(tmp_path: Path) -> Iterator[tuple[netns.Network, sshd.Keys]]:
    """Give eight hosts on a bridge, each with an ssh server, and the keys to them."""
    made = netns.Network(f"jm{os.getpid()}", HOSTS)
    keys = sshd.make_keys(tmp_path / "keys")
    servers: list[sshd.Server] = []
    try:
        made.make()
        for host in range(1, HOSTS + 1):
            before = netns.inside(made.host(host))
            servers.append(sshd.start(keys, f"h{host}", made.address(host), port=22, before=before))
            keys.trust(servers[-1])
        yield made, keys
    finally:
        made.remove()
        for server in servers:
            server.process.wait()


@pytest.fixture
def trainers(tmp_path: Path) -> Iterator[Trainers]:
    """Give 64 ranks at work."""
    made = Trainers(tmp_path / "data")
    made.start()
    yield made
    made.stop()


def write_hosts(path: Path, network: netns.Network, keys: sshd.Keys, data: Path) -> None:
    rows = [
        f'"{ranks_of(host)[0]}-{ranks_of(host)[-1]}" = "ssh://root@{network.address(host)}:22{data}/host{host}"'
        for host in range(1, HOSTS + 1)
    ]
    path.write_text(
        f"""
        [collect]
        collection_interval = {INTERVAL}
        collection_timeout = 4
        breaker_failures = 2
        breaker_seconds = 3
        breaker_longest_seconds = 4
        ssh_options = {json.dumps(keys.ssh_options())}
        [ranks]
        """
        + "\n".join(rows)
    )


def steps_by_rank(folder: Path) -> dict[int, list[int]]:
    """Read what is recorded so far, the last line perhaps not whole yet."""
    found: dict[int, list[int]] = defaultdict(list)
    path = folder / "steps.jsonl"
    for line in path.read_bytes().split(b"\n")[:-1] if path.exists() else ():
        record = json.loads(line)
        found[record["rank"]].append(record["step"])
    return found


def ranks_in(folder: Path, kind: str) -> set[int]:
    return {rank for event in events(folder, kind) for rank in event["details"]["ranks"]}


def beats(folder: Path, network: netns.Network) -> dict[int, list[tuple[float, float]]]:
    """Give, per host, when its looks began and ended on the monotonic clock."""
    by_name = {f"ssh://root@{network.address(host)}:22": host for host in range(1, HOSTS + 1)}
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for window in usage(folder):
        for target in window["measurements"].get("fleet_look", {}):
            found[by_name[target]].append(tuple(window["clock"]["fleet"]))
    return found


def jitters(stamps: list[float]) -> list[float]:
    """Give how far the gaps between looks are from the interval.

    The first look made the connection, the last is the parting one, off the beat: both are left out.
    """
    return [abs(later - earlier - INTERVAL) / INTERVAL for earlier, later in pairwise(stamps[1:-1])]


@pytest.fixture
def collecting(
    network: tuple[netns.Network, sshd.Keys], trainers: Trainers, home: Home, tmp_path: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Give the collection, begun in the hub."""
    write_hosts(tmp_path / "hosts.toml", *network, trainers.folder)
    words = ["collect", "--job", "J", "--ranks", str(tmp_path / "hosts.toml")]
    process = subprocess.Popen(
        [*netns.inside(network[0].hub), *JOBMETER, *words],
        env=home.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    yield process
    leave(process)


def test_faulty_hosts_disturb_nobody_and_come_back(
    network: tuple[netns.Network, sshd.Keys],
    trainers: Trainers,
    collecting: "subprocess.Popen[bytes]",
    home: Home,
) -> None:
    hosts, metronome, began = network[0], Metronome(), time.monotonic()
    folder = wait_for(lambda: next(iter(home.folders()), None))
    wait_for(lambda: len(steps_by_rank(folder)) == len(RANKS), 30)

    hosts.cut(CUT)
    netns.send(hosts.host(HANGING), signal.SIGSTOP)
    trainers.broken.set()
    failing = {*ranks_of(CUT), *ranks_of(HANGING), BROKEN_RANK}
    wait_for(lambda: ranks_in(folder, "breaker_open") >= failing, 30)
    opened_after = time.monotonic() - began
    seen = trainers.step
    wait_for(lambda: trainers.step > seen + 2 * BEATS_IN_TROUBLE * INTERVAL, 30)
    hosts.mend(CUT)
    netns.send(hosts.host(HANGING), signal.SIGCONT)
    trainers.broken.clear()
    wait_for(lambda: ranks_in(folder, "breaker_closed") == failing, 30)
    mended_at, closed_after = trainers.step, time.monotonic() - began
    wait_for(lambda: all(max(steps) > mended_at for steps in steps_by_rank(folder).values()))
    metronome.stop()
    collecting.send_signal(signal.SIGINT)
    done = home.finish(collecting)
    assert (done.code, done.stderr.count(b"Traceback")) == (0, 0)

    count = check_steps(folder)
    looks = beats(folder, hosts)
    healthy = [host for host in range(1, HOSTS + 1) if host not in (CUT, HANGING)]
    worst_begin = max(jitter for host in healthy for jitter in jitters([begin for begin, _ in looks[host]]))
    worst_answer = max(jitter for host in healthy for jitter in jitters([end for _, end in looks[host]]))
    print(
        f"\n{len(RANKS)} ranks on {HOSTS} hosts, interval {INTERVAL:g} s: {count} steps, none twice; "
        f"jitter of {sum(len(looks[host]) for host in healthy)} healthy looks at most {worst_begin:.1%} (begin) "
        f"and {worst_answer:.1%} (answer) of the interval; the machine itself stood still {metronome.worst:.3f} s; "
        f"breakers open after {opened_after:.1f} s, closed after {closed_after:.1f} s"
    )
    # a machine that stood still is no fault of the beat
    stood_still = metronome.worst / INTERVAL
    assert worst_begin - stood_still < 0.2
    assert worst_answer - stood_still < 0.2
    (broken,) = events(folder, "source_failed")
    assert broken["details"]["rank"] == BROKEN_RANK
    assert broken["details"]["error"].endswith("metrics_rank17.jsonl: not JSON")
    assert ranks_in(folder, "breaker_open") == failing
    assert merged(folder)["status"] == "completed"


def check_steps(folder: Path) -> int:
    """Nothing twice, nothing made up; of files that grow nothing is missing either."""
    records = lines(folder / "steps.jsonl")
    identities = [(record["rank"], record["step"]) for record in records]
    assert len(identities) == len(set(identities))
    for record in records:
        told = record["metrics"].get("training_loss", record["metrics"].get("Loss"))
        assert told == loss(record["rank"], record["step"])
    for rank, found in steps_by_rank(folder).items():
        if host_of(rank) in APPENDING or host_of(rank) == LOGGING:
            assert found == list(range(1, max(found) + 1))
    return len(records)

"""Traffic of a job in a network namespace of its own: a real one, with real packets."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from jobmeter.collectors import netns
from support.livejob import LiveJob

KEYS = frozenset(m.key for m in netns.MEASUREMENTS)
ALONE = """
import socket, subprocess, sys
def ip(*words): subprocess.run(["ip", *words], check=True)
ip("link", "add", "eth0", "type", "veth", "peer", "name", "veth1")
ip("addr", "add", "10.9.8.1/24", "dev", "eth0")
ip("link", "set", "eth0", "up")
ip("link", "set", "veth1", "up")
ip("neigh", "add", "10.9.8.7", "lladdr", "02:00:00:00:00:07", "dev", "eth0")
print("ready", flush=True)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for line in sys.stdin:
    for _ in range(int(line)): out.sendto(b"x" * 958, ("10.9.8.7", 9))
    print("sent", flush=True)
"""


@pytest.fixture
def alone() -> Iterator["subprocess.Popen[str]"]:
    """A process in a namespace of its own, with an interface nobody answers at."""
    process = subprocess.Popen(
        ["unshare", "-n", sys.executable, "-c", ALONE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def test_a_job_among_everyone_has_no_traffic_of_its_own() -> None:
    process = subprocess.Popen(["sleep", "100"])
    source = netns.attach(LiveJob(process.pid), KEYS)  # type: ignore[arg-type]  # dressed as a job
    assert source.read() == []
    process.kill()
    process.wait()
    source.close()


def test_what_a_namespace_sends_is_the_jobs(alone: "subprocess.Popen[str]") -> None:
    source = netns.attach(LiveJob(alone.pid), KEYS)  # type: ignore[arg-type]  # dressed as a job
    assert [key for key, _, _ in source.read()] == ["netns_rx", "netns_tx"]
    assert alone.stdin is not None
    assert alone.stdout is not None
    alone.stdin.write("50\n")
    alone.stdin.flush()
    assert alone.stdout.readline() == "sent\n"
    (_, _, received), (_, _, sent) = source.read()
    assert (
        50_000 <= sent < 55_000
    )  # 958 bytes, 28 of IP and UDP, 14 of Ethernet; the link itself says a little
    assert received < 5_000


def test_traffic_stays_counted_when_the_namespace_is_gone(alone: "subprocess.Popen[str]") -> None:
    job = LiveJob(alone.pid)
    source = netns.attach(job, KEYS)  # type: ignore[arg-type]  # dressed as a job
    before = source.read()
    job.processes.clear()
    assert source.read() == before


def test_nothing_is_remembered_of_a_namespace_that_is_gone(alone: "subprocess.Popen[str]") -> None:
    """Its number is given to another, whose bytes would be counted from those of the first."""
    job = LiveJob(alone.pid)
    process = job.processes[alone.pid]
    source = netns.NetnsSource(job, KEYS)  # type: ignore[arg-type]  # dressed as a job
    source.read()
    job.processes.clear()
    before = source.read()
    assert alone.stdin is not None
    assert alone.stdout is not None
    alone.stdin.write("50\n")
    alone.stdin.flush()
    assert alone.stdout.readline() == "sent\n"
    job.processes[alone.pid] = process  # as one that has the number now
    assert source.read() == before


def test_a_machine_without_namespaces_says_so(tmp_path: object) -> None:
    from jobmeter.probes.paths import Paths

    assert netns.missing(Paths(proc=str(tmp_path))) == (
        f"no {tmp_path}/self/ns/net: not Linux, or built without network namespaces"
    )
    assert netns.missing(Paths()) is None

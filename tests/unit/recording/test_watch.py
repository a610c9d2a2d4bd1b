"""What must be told at once: an OOM kill, memory near its limit, a process that ignores its children."""

import os
import signal
import subprocess
import sys

import pytest

from jobmeter.probes.paths import Paths
from jobmeter.recording.watch import Watch

MIB = 1 << 20


class FakeSummary:
    def __init__(self) -> None:
        self.now: dict[str, float] = {}

    def latest(self, key: str) -> float | None:
        return self.now.get(key)


class FakeSampler:
    def __init__(self) -> None:
        self.summary = FakeSummary()


class FakeProcess:
    def __init__(self, pid: int, *, moved: bool = True) -> None:
        self.pid = pid
        self.command = "held"
        self.moved = moved
        self.fresh = False


class FakeJob:
    def __init__(self) -> None:
        self.sent: list[int] = []
        self.task_clock_fd: int | None = None
        self.paths = Paths()
        self.processes: dict[int, FakeProcess] = {}

    def signal(self, number: int) -> bool:
        self.sent.append(number)
        return True


class Scene:
    """A watch over a job that is told what each sample says."""

    def __init__(self, on_memory: str | None = None, limit: int | None = 1000 * MIB) -> None:
        self.job, self.sampler = FakeJob(), FakeSampler()
        self.events: list[tuple[str, dict[str, object]]] = []
        context: dict[str, object] = {"limits": {"memory_bytes": limit}} if limit else {}
        self.watch = Watch(
            self.job,  # type: ignore[arg-type]  # only these parts are looked at
            self.sampler,  # type: ignore[arg-type]  # as above
            context,
            on_memory,
            lambda kind, details: self.events.append((kind, details)),
        )

    def look(self, **now: float) -> None:
        self.sampler.summary.now.update(now)
        self.watch.look()


def test_an_oom_kill_is_told_once_for_each() -> None:
    scene = Scene()
    scene.look(cgroup_oom_kill=0)
    assert scene.events == []
    scene.look(cgroup_oom_kill=1)
    scene.look(cgroup_oom_kill=1)
    scene.look(cgroup_oom_kill=3)
    assert scene.events == [
        ("oom_kill", {"count": 1, "key": "cgroup_oom_kill"}),
        ("oom_kill", {"count": 3, "key": "cgroup_oom_kill"}),
    ]


def test_the_enclosing_cgroup_counting_the_same_kill_is_not_a_second_one() -> None:
    scene = Scene()
    scene.look(cgroup_oom_kill=1, cgroup_outer_oom_kill=1)
    scene.look(cgroup_oom_kill=1, cgroup_outer_oom_kill=1)
    assert scene.events == [("oom_kill", {"count": 1, "key": "cgroup_oom_kill"})]


def test_a_kill_in_the_enclosing_cgroup_alone_is_told_too() -> None:
    scene = Scene()
    scene.look(cgroup_outer_oom_kill=2)
    assert scene.events == [("oom_kill", {"count": 2, "key": "cgroup_outer_oom_kill"})]


def test_the_job_is_signalled_once_when_memory_nears_its_limit() -> None:
    scene = Scene("90% signal:USR1")
    scene.look(proc_rss_total=899 * MIB)
    scene.look(proc_rss_total=900 * MIB)
    scene.look(proc_rss_total=950 * MIB)
    assert scene.job.sent == [signal.SIGUSR1]
    assert scene.events == [
        ("memory_threshold", {"used_bytes": 900 * MIB, "limit_bytes": 1000 * MIB, "signal": "SIGUSR1"})
    ]


def test_it_is_signalled_again_only_after_memory_fell_well_below() -> None:
    scene = Scene("50% signal:TERM")
    for used in (500, 460, 500, 449, 499, 500, 510):
        scene.look(proc_rss_total=used * MIB)
    assert scene.job.sent == [signal.SIGTERM, signal.SIGTERM]


def test_what_the_cgroup_cannot_reclaim_counts_before_what_processes_hold() -> None:
    scene = Scene("90% signal:USR1")
    scene.look(proc_rss_total=990 * MIB, cgroup_mem_unreclaimable=100 * MIB)
    assert scene.job.sent == []


@pytest.mark.parametrize(("on_memory", "limit"), [(None, 1000 * MIB), ("90% signal:USR1", None)])
def test_without_a_wish_or_a_limit_nothing_is_sent(on_memory: str | None, limit: int | None) -> None:
    scene = Scene(on_memory, limit)
    scene.look(proc_rss_total=2000 * MIB)
    assert scene.job.sent == []


def test_memory_that_was_not_measured_is_not_judged() -> None:
    scene = Scene("90% signal:USR1")
    scene.look(wait_cputime=1.0)
    assert scene.job.sent == []


def test_a_process_that_ignores_its_children_is_found() -> None:
    ignoring = "import signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    scene = Scene()
    scene.job.processes = {process.pid: FakeProcess(process.pid), os.getpid(): FakeProcess(os.getpid())}
    scene.look()
    assert scene.watch.ignorers == set()  # with a cgroup of its own nothing is lost
    scene.job.task_clock_fd = 9
    scene.job.processes[process.pid].moved = False
    scene.look()
    assert scene.watch.ignorers == set()  # it was looked at before
    scene.job.processes[process.pid].moved = True
    scene.look()
    assert scene.watch.ignorers == {"held"}
    process.communicate(b"\n")
    scene.look()  # gone meanwhile

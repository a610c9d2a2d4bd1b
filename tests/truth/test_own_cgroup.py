"""An own cgroup on this kernel, against oracles that are not the code under test.

Needs root and a cgroup tree that may be written. Every directory made here is removed again.
"""

import os
import resource
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import cgroup
from jobmeter.probes import cgroupfs
from jobmeter.probes.cgroupfs import OwnCgroup
from jobmeter.probes.paths import Paths
from support.cgroups import BURN, FILL_PRIVATE, FILL_SHARED, MIB, RealJob, finish, held, read, start, write

HERE = Paths()
ALL = frozenset(m.key for m in cgroup.MEASUREMENTS)
EIGHT_SHARERS = """
import mmap, os
held = mmap.mmap(-1, {bytes})
for at in range(0, {bytes}, 4096): held[at] = 1
told, tell = os.pipe()
for _ in range(7):
    if os.fork() == 0:
        sum(held[at] for at in range(0, {bytes}, 4096))
        os.write(tell, b'x')
        os.read(0, 1)
        os._exit(0)
seen = b''
while len(seen) < 7: seen += os.read(told, 7)
print('held', flush=True)
os.read(0, 1)
for _ in range(7): os.wait()
"""


@pytest.fixture
def own() -> Iterator[OwnCgroup]:
    made, reason = cgroupfs.create_own(HERE, cgroupfs.own_name("truth", os.getpid()))
    assert made is not None, reason
    yield made
    assert made.remove(), "the cgroup is left behind"


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[tuple[str, Paths]]:
    """A parent cgroup of 64 MiB, and a /proc in which the recorder already lives in it."""
    current = cgroupfs.locate(HERE).memory
    assert current is not None
    parent = f"{current.directory}/truth-limited-{os.getpid()}"
    os.mkdir(parent)
    name = "memory.limit_in_bytes" if current.version == 1 else "memory.max"
    write(f"{parent}/{name}", b"%d" % (64 * MIB))
    (tmp_path / "self").mkdir()
    path = parent.removeprefix(current.top)
    lines = [line for line in read("/proc/self", "cgroup").splitlines() if ":memory:" not in line]
    (tmp_path / "self/cgroup").write_text("\n".join([f"4:memory:{path}", *lines]))
    (tmp_path / "self/mountinfo").write_text(read("/proc/self", "mountinfo"))
    yield parent, Paths(proc=str(tmp_path))
    os.rmdir(parent)


def readings(job: RealJob) -> dict[str, float]:
    source = cgroup.attach(job, ALL)
    found = {key: float(value) for key, _, value in source.read()}
    source.close()
    return found


def leftovers(run: str) -> list[str]:
    """List what runs of that name left; other recorders may be at work in the same trees."""
    names = [name for place in cgroupfs.locate(HERE).every() for name in os.listdir(place.directory)]
    return [name for name in names if name.startswith(f"jobmeter-{run}") and name.endswith(f"-{os.getpid()}")]


def test_memory_is_the_sessions_own_while_the_cpu_trees_are_the_whole_machine() -> None:
    places = cgroupfs.locate(HERE)
    assert places.memory is not None
    assert places.cpuacct is not None
    assert (places.memory.version, places.memory.root) == (1, False)
    assert (places.cpuacct.version, places.cpuacct.root) == (1, True)
    assert str(os.getpid()) in read(places.memory.directory, "cgroup.procs").split()


def test_cpu_time_agrees_with_cpuacct_and_with_wait4(own: OwnCgroup) -> None:
    accounting = f"/sys/fs/cgroup/cpuacct/truth-{os.getpid()}"
    os.mkdir(accounting)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start(BURN.format(seconds=0.8), own, accounting)
    process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    by_cpuacct = int(read(accounting, "cpuacct.usage")) / 1e9
    os.rmdir(accounting)
    found = readings(RealJob(process.pid, own))
    by_wait = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert found["cgroup_cputime"] == pytest.approx(by_cpuacct, rel=0.005, abs=0.002)
    # wait4 also counts the fork and the way into the cgroup
    assert by_wait - 0.05 <= found["cgroup_cputime"] <= by_wait + 0.01
    assert found["cgroup_utime"] + found["cgroup_stime"] == pytest.approx(found["cgroup_cputime"], abs=0.002)


def test_three_hundred_short_processes_are_all_counted(own: OwnCgroup) -> None:
    storm = (
        "import os\nfor _ in range(300):\n  if os.fork() == 0: sum(range(60000)); os._exit(0)\n  os.wait()"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start(storm, own)
    process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    by_wait = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert by_wait - 0.05 <= readings(RealJob(process.pid, own))["cgroup_cputime"] <= by_wait * 1.005 + 0.02


def test_private_memory_is_anon_and_its_peak_outlives_it(own: OwnCgroup) -> None:
    process = start(FILL_PRIVATE.format(bytes=100 * MIB), own)
    held(process)
    during = readings(RealJob(process.pid, own))
    assert own.places.memory is not None
    usage = int(read(own.places.memory.directory, "memory.usage_in_bytes"))
    assert finish(process) == 0
    after = readings(RealJob(process.pid, own))
    assert during["cgroup_mem_anon"] == pytest.approx(100 * MIB, abs=8 * MIB)
    assert during["cgroup_mem_unreclaimable"] == pytest.approx(100 * MIB, abs=8 * MIB)
    assert during["cgroup_mem_current"] == pytest.approx(usage, abs=1 * MIB)
    assert during["cgroup_mem_shmem"] < 1 * MIB
    assert after["cgroup_mem_current"] < 20 * MIB
    assert 100 * MIB <= after["cgroup_mem_peak"] <= 120 * MIB


def test_memory_shared_by_eight_processes_counts_once_and_as_shared(own: OwnCgroup) -> None:
    process = start(EIGHT_SHARERS.format(bytes=64 * MIB), own)
    held(process)
    found = readings(RealJob(process.pid, own))
    pids = own.pids()
    process.communicate("x" * 8)
    assert len(pids) == 8
    assert found["cgroup_pids"] == 8
    assert found["cgroup_mem_shmem"] == pytest.approx(64 * MIB, abs=2 * MIB)
    assert found["cgroup_mem_file"] < 8 * MIB
    assert 64 * MIB <= found["cgroup_mem_unreclaimable"] <= 96 * MIB


def test_page_cache_is_in_the_charged_peak_but_is_not_needed_memory(own: OwnCgroup, tmp_path: Path) -> None:
    script = f"open({str(tmp_path / 'f')!r}, 'wb').write(bytes(60 << 20))\nprint('held', flush=True)\ninput()"
    process = start(script, own)
    held(process)
    found = readings(RealJob(process.pid, own))
    assert finish(process) == 0
    assert found["cgroup_mem_file"] == pytest.approx(60 * MIB, abs=4 * MIB)
    assert found["cgroup_mem_peak"] >= 60 * MIB
    assert found["cgroup_mem_unreclaimable"] < 16 * MIB


def test_shared_memory_alone_is_not_in_anon(own: OwnCgroup) -> None:
    process = start(FILL_SHARED.format(bytes=40 * MIB), own)
    held(process)
    found = readings(RealJob(process.pid, own))
    assert finish(process) == 0
    assert found["cgroup_mem_anon"] < 16 * MIB
    assert found["cgroup_mem_shmem"] == pytest.approx(40 * MIB, abs=2 * MIB)


def test_a_job_under_a_64_mib_parent_dies_at_64_mib_and_the_counter_proves_it(
    limited: tuple[str, Paths],
) -> None:
    parent, paths = limited
    own, reason = cgroupfs.create_own(paths, cgroupfs.own_name("oom", os.getpid()))
    assert own is not None, reason
    assert own.places.memory is not None
    assert own.places.memory.directory.startswith(f"{parent}/")
    assert cgroupfs.memory_limit(own.outer) == 64 * MIB
    source = cgroup.attach(RealJob(os.getpid(), own, paths), ALL)
    process = start(FILL_PRIVATE.format(bytes=300 * MIB), own)
    process.communicate()
    found = {key: value for key, _, value in source.read()}
    source.close()
    assert process.returncode == -9
    assert found["cgroup_oom_kill"] == 1
    assert found["cgroup_mem_max_events"] == int(read(parent, "memory.failcnt")) > 0
    assert int(read(parent, "memory.max_usage_in_bytes")) <= 64 * MIB
    assert own.remove()


def test_a_plain_kill_is_not_taken_for_an_oom_kill(own: OwnCgroup) -> None:
    process = start(FILL_PRIVATE.format(bytes=1 * MIB), own)
    held(process)
    process.kill()
    process.communicate()
    assert readings(RealJob(process.pid, own))["cgroup_oom_kill"] == 0


def test_the_enclosing_cgroup_is_read_under_its_own_keys_when_there_is_no_other() -> None:
    process = start(FILL_PRIVATE.format(bytes=50 * MIB))
    held(process)
    found = readings(RealJob(process.pid, None))
    current = cgroupfs.locate(HERE).memory
    assert current is not None
    usage = int(read(current.directory, "memory.usage_in_bytes"))
    assert finish(process) == 0
    assert found["cgroup_outer_mem_current"] == pytest.approx(usage, rel=0.1)
    assert found["cgroup_outer_mem_unreclaimable"] >= 50 * MIB
    assert "cgroup_outer_cputime" not in found, "cpuacct is the whole machine here"
    assert not any(key.startswith("cgroup_mem_") for key in found)


def test_a_process_joins_every_tree_and_a_dead_one_is_still_confirmed(own: OwnCgroup) -> None:
    process = start("input()", own)
    alive = own.confirmed(HERE, process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    zombie = own.confirmed(HERE, process.pid)
    process.communicate()
    for confirmed in (alive, zombie):
        assert [place.directory for place in confirmed.places.every()] == list(own.directories)


def test_a_process_that_never_joined_is_not_confirmed(own: OwnCgroup) -> None:
    process = start("input()")
    confirmed = own.confirmed(HERE, process.pid)
    finish(process)
    assert confirmed.places.every() == []


def test_processes_in_cgroups_the_job_made_below_are_still_its_own(own: OwnCgroup) -> None:
    assert own.places.unified is not None
    below = f"{own.places.unified.directory}/inner"
    os.mkdir(below)
    outside, inside = (
        start("input()", own),
        start(
            "input()",
            own,
        ),
    )
    write(f"{below}/cgroup.procs", str(inside.pid).encode())
    pids, count = own.pids(), readings(RealJob(outside.pid, own))["cgroup_pids"]
    finish(outside)
    finish(inside)
    assert sorted(pids) == sorted((outside.pid, inside.pid))
    assert count == 2


def test_a_cgroup_with_a_live_process_is_left_and_removed_later() -> None:
    made, reason = cgroupfs.create_own(HERE, cgroupfs.own_name("left", os.getpid()))
    assert made is not None, reason
    process = start("input()", made)
    while process.pid not in made.pids():
        select.select([], [], [], 0.001)
    busy = made.remove()
    finish(process)
    assert (busy, made.remove()) == (False, True)
    assert not any(os.path.exists(directory) for directory in made.directories)


def test_two_hundred_runs_leave_nothing_behind() -> None:
    for number in range(200):
        made, reason = cgroupfs.create_own(HERE, cgroupfs.own_name(f"many{number}", os.getpid()))
        assert made is not None, reason
        if number % 20 == 0:
            start("pass", made).communicate()
        assert leftovers("many"), "the check below would prove nothing"
        assert made.remove()
    assert leftovers("many") == []


def test_a_sweep_takes_what_a_dead_recorder_left_and_nothing_else() -> None:
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    alive, _ = cgroupfs.create_own(HERE, cgroupfs.own_name("sweep-alive", os.getpid()))
    stale, _ = cgroupfs.create_own(HERE, cgroupfs.own_name("sweep-dead", dead.pid))
    pinned, _ = cgroupfs.create_own(HERE, cgroupfs.own_name("sweep-pinned", dead.pid))
    assert alive is not None
    assert stale is not None
    assert pinned is not None
    orphan = start("print('held', flush=True)\ninput()", pinned)
    held(orphan)
    cgroupfs.sweep(HERE, alive.outer)
    young = [os.path.exists(path) for path in stale.directories]
    cgroupfs.sweep(HERE, alive.outer, min_age_s=0.0)
    exist = [all(os.path.exists(path) for path in own.directories) for own in (alive, stale, pinned)]
    finish(orphan)
    assert (young, exist) == ([True, True], [True, False, True])
    assert alive.remove()
    cgroupfs.sweep(HERE, alive.outer, min_age_s=0.0)
    assert not any(os.path.exists(path) for path in pinned.directories)


def test_what_a_finished_run_noted_can_be_discarded_from_anywhere() -> None:
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    stale, _ = cgroupfs.create_own(HERE, cgroupfs.own_name("noted", dead.pid))
    alive, _ = cgroupfs.create_own(HERE, cgroupfs.own_name("noted-alive", os.getpid()))
    assert stale is not None
    assert alive is not None
    gone = [cgroupfs.discard(HERE, directory) for directory in stale.directories]
    kept = [cgroupfs.discard(HERE, directory) for directory in alive.directories]
    assert (gone, kept) == ([True, True], [False, False])
    assert not any(os.path.exists(directory) for directory in stale.directories)
    assert alive.remove()


def test_only_directories_of_runs_are_ever_discarded(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    assert cgroupfs.discard(HERE, str(tmp_path / "precious")) is False
    assert (tmp_path / "precious").is_dir()


def test_an_unprivileged_user_is_told_why_there_is_no_own_cgroup() -> None:
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        own, reason = cgroupfs.create_own(HERE, cgroupfs.own_name("nobody", os.getpid()))
        os.write(tell, f"{own is None} {reason}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(tell)
    text = os.read(told, 4096).decode()
    os.close(told)
    assert text.startswith("True ")
    assert "memory: may not move processes in /sys/fs/cgroup/memory" in text


def test_no_scheduling_tree_is_ever_touched(own: OwnCgroup) -> None:
    trees = {directory.split("/")[4] for directory in own.directories}
    assert trees == {"memory", "unified"}

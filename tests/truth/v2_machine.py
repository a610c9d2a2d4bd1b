"""Check the own cgroup on a machine with pure cgroup v2; needs root, the standard library and nothing else.

    PYTHONPATH=src python3 tests/truth/v2_machine.py

Works below a directory of its own beside the current cgroup and removes it again. Prints one PASS or FAIL
line per check with its figures; the exit code is the number of failures.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from jobmeter.collectors import cgroup
from jobmeter.probes import cgroupfs
from jobmeter.probes.cgroupfs import OwnCgroup
from jobmeter.probes.paths import Paths

MIB = 1 << 20
ALL = frozenset(m.key for m in cgroup.MEASUREMENTS)
BURN = "import time\nwhile time.process_time() < 1.0: pass"
FILL = "held = b'x' * (%d << 20)\nprint('held', flush=True)\ninput()"
SHARE = """
import mmap, os
held = mmap.mmap(-1, 128 << 20)
for at in range(0, 128 << 20, 4096): held[at] = 1
told, tell = os.pipe()
for _ in range(7):
    if os.fork() == 0:
        sum(held[at] for at in range(0, 128 << 20, 4096)); os.write(tell, b'x'); os.read(0, 1); os._exit(0)
seen = b''
while len(seen) < 7: seen += os.read(told, 7)
print('held', flush=True)
os.read(0, 1)
for _ in range(7): os.wait()
"""
STORM = "import os\nfor _ in range(500):\n  if os.fork() == 0: sum(range(100000)); os._exit(0)\n  os.wait()"


class Job:
    """What the collector needs to know of a job."""

    def __init__(self, paths: Paths, pid: int, own_cgroup: OwnCgroup | None) -> None:
        self.paths = paths
        self.pid = pid
        self.own_cgroup = own_cgroup
        self.processes: dict[int, object] = {}


class Bench:
    """A cgroup with controllers made for the checks, a leaf in it, and a /proc that says we live in the leaf."""

    def __init__(self, top: str, base: str, proc: str) -> None:
        self.top = top
        self.directory = f"{base}/check-{os.getpid()}"
        self.proc = proc
        self.failures = 0
        os.mkdir(self.directory)
        write(f"{self.directory}/cgroup.subtree_control", b"+memory")
        os.makedirs(f"{proc}/self")
        with open(f"{proc}/self/mountinfo", "w") as copy:
            copy.write(read("/proc/self", "mountinfo"))

    def paths(self, leaf: str = "leaf") -> Paths:
        """Pretend that this process lives in a leaf of the bench; an empty name is the root cgroup."""
        directory = f"{self.directory}/{leaf}" if leaf else self.top
        if not os.path.isdir(directory):
            os.mkdir(directory)
        with open(f"{self.proc}/self/cgroup", "w") as file:
            file.write(f"0::{directory.removeprefix(self.top) or '/'}\n")
        return Paths(proc=self.proc)

    def check(self, what: str, passed: bool, figures: str) -> None:
        """Print one line."""
        self.failures += not passed
        print(f"{'PASS' if passed else 'FAIL'} {what}: {figures}", flush=True)

    def close(self) -> None:
        """Remove everything."""
        for name in os.listdir(self.directory):
            if os.path.isdir(f"{self.directory}/{name}"):
                os.rmdir(f"{self.directory}/{name}")
        os.rmdir(self.directory)


def write(path: str, text: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(text)


def read(directory: str, name: str) -> str:
    with open(f"{directory}/{name}") as file:
        return file.read()


def keyed(directory: str, name: str, key: str) -> int:
    return int(dict(line.split() for line in read(directory, name).splitlines())[key])


def make(paths: Paths, name: str) -> OwnCgroup:
    own, reason = cgroupfs.create_own(paths, cgroupfs.own_name(name, os.getpid()))
    if own is None:
        raise SystemExit(f"FAIL no own cgroup could be made: {reason}")
    return own


def start(script: str, join: Callable[[], object] | None) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-S", "-c", script], preexec_fn=join, stdin=pipe, stdout=pipe, text=True
    )


def held(process: "subprocess.Popen[str]") -> None:
    if process.stdout is None or process.stdout.readline() != "held\n":
        raise SystemExit("FAIL a job did not reach its memory")


def readings(job: Job) -> dict[str, float]:
    source = cgroup.attach(job, ALL)
    found = {key: float(value) for key, _, value in source.read()}
    source.close()
    return found


def waited_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def check_sibling(bench: Bench) -> None:
    own = make(bench.paths(), "sibling")
    beside = os.path.dirname(own.directories[0]) == bench.directory
    bench.check(
        "own cgroup is one sibling with memory", beside and own.places.memory is not None, own.directories[0]
    )
    bench.check("removed", own.remove() and not os.path.exists(own.directories[0]), own.name)


def check_cpu(bench: Bench, script: str, what: str) -> None:
    paths = bench.paths()
    own = make(paths, "cpu")
    parent_before, waited_before = keyed(bench.directory, "cpu.stat", "usage_usec"), waited_s()
    process = start(script, own.join)
    process.communicate()
    found = readings(Job(paths, process.pid, own))["cgroup_cputime"]
    parent = (keyed(bench.directory, "cpu.stat", "usage_usec") - parent_before) / 1e6
    waited = waited_s() - waited_before
    close = abs(found - parent) <= 0.002 and -0.05 <= found - waited <= 0.005 * waited + 0.01
    bench.check(what, close, f"own {found:.4f} s, parent's counter {parent:.4f} s, wait4 {waited:.4f} s")
    own.remove()


def check_private(bench: Bench) -> None:
    paths = bench.paths()
    own = make(paths, "private")
    process = start(FILL % 300, own.join)
    held(process)
    during = readings(Job(paths, process.pid, own))
    process.communicate("\n")
    peak, parent = (
        readings(Job(paths, process.pid, own))["cgroup_mem_peak"],
        int(read(bench.directory, "memory.peak")),
    )
    anon = during["cgroup_mem_anon"]
    bench.check("300 MiB private: anon", abs(anon / MIB - 300) < 12, f"{anon / MIB:.1f} MiB")
    close = 300 <= peak / MIB < 318 and abs(peak - parent) < 2 * MIB
    bench.check(
        "300 MiB private: peak", close, f"own {peak / MIB:.1f} MiB, parent's counter {parent / MIB:.1f} MiB"
    )
    confirmed = own.confirmed(Paths(), process.pid)
    bench.check("an ended job is confirmed by its counters", confirmed.places.memory is not None, own.name)
    own.remove()


def check_shared(bench: Bench) -> None:
    paths = bench.paths()
    own = make(paths, "shared")
    process = start(SHARE, own.join)
    held(process)
    found, listed = readings(Job(paths, process.pid, own)), len(own.pids())
    process.communicate("x" * 8)
    bench.check("8 processes are listed", listed == found["cgroup_pids"] == 8, f"{listed}")
    shmem, needed = found["cgroup_mem_shmem"] / MIB, found["cgroup_mem_unreclaimable"] / MIB
    bench.check("128 MiB shared by 8 count once", abs(shmem - 128) < 2, f"shmem {shmem:.1f} MiB")
    bench.check("and are needed memory", 128 <= needed < 180, f"unreclaimable {needed:.1f} MiB")
    own.remove()


def check_cache(bench: Bench) -> None:
    own, file = make(bench.paths(), "cache"), f"{bench.proc}/big"
    process = start(
        f"open({file!r}, 'wb').write(bytes(60 << 20))\nprint('held', flush=True)\ninput()", own.join
    )
    held(process)
    found = readings(Job(Paths(), process.pid, own))
    process.communicate("\n")
    os.unlink(file)
    cache, needed = found["cgroup_mem_file"] / MIB, found["cgroup_mem_unreclaimable"] / MIB
    bench.check("60 MiB written are file cache", abs(cache - 60) < 6, f"file {cache:.1f} MiB")
    bench.check("and not needed memory", needed < 30, f"unreclaimable {needed:.1f} MiB")
    own.remove()


def check_oom(bench: Bench) -> None:
    paths = bench.paths()
    write(f"{bench.directory}/memory.max", b"%d" % (64 * MIB))
    own = make(paths, "oom")
    source = cgroup.attach(Job(paths, os.getpid(), own), ALL)
    before = keyed(bench.directory, "memory.events", "oom_kill")
    process = start(FILL % 300, own.join)
    process.communicate()
    found = {key: value for key, _, value in source.read()}
    source.close()
    bench.check("the parent's limit is seen", cgroupfs.memory_limit(own.outer) == 64 * MIB, "64 MiB")
    bench.check("the job dies at it", process.returncode == -9, f"exit {process.returncode}")
    parent = keyed(bench.directory, "memory.events", "oom_kill") - before
    proven = found["cgroup_oom_kill"] == parent == 1
    bench.check(
        "the own counter proves the OOM kill", proven, f"own {found['cgroup_oom_kill']}, parent {parent}"
    )
    hits = found["cgroup_mem_max_events"]
    bench.check("hits of the limit are counted", isinstance(hits, int) and hits > 0, f"{hits}")
    own.remove()
    write(f"{bench.directory}/memory.max", b"max")


def check_limit_is_kept(bench: Bench) -> None:
    paths = bench.paths("tight")
    leaf = f"{bench.directory}/tight"
    write(f"{leaf}/memory.max", b"%d" % (64 * MIB))
    own, reason = cgroupfs.create_own(paths, cgroupfs.own_name("tight", os.getpid()))
    if own is None:
        raise SystemExit(f"FAIL no own cgroup in a limited one: {reason}")
    below = os.path.dirname(own.directories[0]) == leaf
    bench.check("a limit set here is not escaped", below and own.places.memory is None, reason)
    source = cgroup.attach(Job(paths, os.getpid(), own), ALL)
    process = start(FILL % 300, own.join)
    process.communicate()
    found = {key: value for key, _, value in source.read()}
    source.close()
    bench.check("the job still dies at 64 MiB", process.returncode == -9, f"exit {process.returncode}")
    kills = found.get("cgroup_outer_oom_kill")
    bench.check("the enclosing counter proves it", kills == 1, f"{kills}")
    peak = found.get("cgroup_outer_mem_peak")
    near = isinstance(peak, int) and 60 * MIB < peak <= 64 * MIB
    bench.check("the enclosing peak is that of this job", near, f"{peak}")
    cpu = found.get("cgroup_cputime")
    bench.check("CPU time is still the job's own", isinstance(cpu, float) and cpu > 0.005, f"{cpu} s")
    own.remove()


def check_nested(bench: Bench) -> None:
    outer = make(bench.paths(), "outer")
    inner = make(bench.paths(outer.name), "inner")
    inside = os.path.dirname(inner.directories[0]) == outer.directories[0]
    process = start(BURN.replace("1.0", "0.2"), inner.join)
    process.communicate()
    found = readings(Job(Paths(), process.pid, outer))["cgroup_cputime"]
    bench.check("a run inside a run stays inside", inside and found > 0.2, f"outer counts {found:.3f} s")
    inner.remove()
    bench.check("both are removed", outer.remove(), outer.name)


def check_outer_peak(bench: Bench) -> None:
    bench.paths("shared")
    leaf = f"{bench.directory}/shared"
    first = start(FILL % 200, lambda: write(f"{leaf}/cgroup.procs", b"0"))
    held(first)
    first.communicate("\n")
    paths = bench.paths("shared")
    os.makedirs(f"{bench.proc}/7", exist_ok=True)
    with open(f"{bench.proc}/7/cgroup", "w") as file:
        file.write(read(f"{bench.proc}/self", "cgroup"))
    source = cgroup.attach(Job(paths, 7, None), frozenset(("cgroup_outer_mem_peak",)))
    second = start(FILL % 50, lambda: write(f"{leaf}/cgroup.procs", b"0"))
    held(second)
    second.communicate("\n")
    found = {key: float(value) for key, _, value in source.read()}
    source.close()
    peak = found.get("cgroup_outer_mem_peak")
    whole = int(read(leaf, "memory.peak"))
    # before Linux 6.12 the mark of the first job hides that of the second: absent is right then
    right = peak is None or 50 <= peak / MIB < 80
    bench.check("an older, higher peak is not taken for the job's", right, f"{peak} of {whole} for all time")


def check_root(bench: Bench) -> None:
    own, reason = cgroupfs.create_own(bench.paths(""), cgroupfs.own_name("root", os.getpid()))
    if own is None:
        bench.check("below the root cgroup", False, reason)
        return
    enabled = read(bench.top, "cgroup.subtree_control").split()
    right = (own.places.memory is not None) == ("memory" in enabled)
    process = start(BURN.replace("1.0", "0.2"), own.join)
    process.communicate()
    found = readings(Job(bench.paths(""), process.pid, own))
    right = right and found["cgroup_cputime"] > 0.2 and not any("outer" in key for key in found)
    bench.check("below the root cgroup", right, f"{own.directories[0]}, root gives {enabled or 'nothing'}")
    if "cpu" in enabled:
        weight = int(read(own.directories[0], "cpu.weight"))
        bench.check(
            "it weighs one task per CPU", weight == 100 * (os.cpu_count() or 1), f"cpu.weight {weight}"
        )
    own.remove()


def check_residue_and_cost(bench: Bench) -> None:
    paths = bench.paths()
    costs = []
    for number in range(200):
        began = time.process_time()
        own = make(paths, f"many{number}")
        made = time.process_time()
        if number % 10 == 0:
            start("pass", own.join).communicate()
        removing = time.process_time()
        if not own.remove():
            bench.check("removed at once", False, own.name)
        costs.append(made - began + time.process_time() - removing)
    left = [name for name in os.listdir(bench.directory) if name.startswith("jobmeter-")]
    bench.check("200 runs leave nothing", not left, f"{len(left)} left")
    cost_us = sorted(costs)[100] * 1e6
    bench.check("making and removing costs under 1 ms CPU", cost_us < 1000, f"median {cost_us:.0f} us")


def check_read_cost(bench: Bench) -> None:
    paths = bench.paths()
    own = make(paths, "read")
    process = start("print('held', flush=True)\ninput()", own.join)
    held(process)
    source = cgroup.attach(Job(paths, process.pid, own), ALL)
    costs = []
    for _ in range(500):
        began = time.process_time_ns()
        keys = len(list(source.read()))
        costs.append(time.process_time_ns() - began)
    source.close()
    process.communicate("\n")
    own.remove()
    cost_us = sorted(costs)[250] / 1000
    bench.check(
        "one read of all keys costs under 100 us CPU", cost_us < 100, f"median {cost_us:.1f} us, {keys} keys"
    )


def check_sweep(bench: Bench) -> None:
    paths = bench.paths()
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    stale, _ = cgroupfs.create_own(paths, cgroupfs.own_name("stale", gone.pid))
    alive = make(paths, "alive")
    cgroupfs.sweep(Paths(), alive.outer, min_age_s=0.0)
    swept = stale is not None and not os.path.exists(stale.directories[0])
    kept = os.path.exists(alive.directories[0])
    bench.check("a sweep takes only what a dead recorder left", swept and kept, f"swept {swept}, kept {kept}")
    alive.remove()


def main() -> int:
    """Run every check."""
    here = cgroupfs.locate(Paths())
    if here.memory is None or here.memory is not here.unified or os.geteuid() != 0:
        print("FAIL this needs root on a machine with pure cgroup v2")
        return 1
    print(f"kernel {os.uname().release}, cgroup {here.memory.directory}, root {here.memory.root}")
    own, reason = cgroupfs.create_own(Paths(), cgroupfs.own_name("here", os.getpid()))
    print(f"where this process is: {own.directories if own else None}, {reason or 'everything is its own'}")
    if own is not None:
        own.remove()
    base = here.memory.directory if here.memory.root else os.path.dirname(here.memory.directory)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(here.memory.top, base, f"{folder}/proc")
        try:
            check_sibling(bench)
            check_cpu(bench, BURN, "CPU time of one busy process")
            check_cpu(bench, STORM, "CPU time of 500 short processes")
            check_private(bench)
            check_shared(bench)
            check_cache(bench)
            check_oom(bench)
            check_limit_is_kept(bench)
            check_nested(bench)
            check_outer_peak(bench)
            check_root(bench)
            check_sweep(bench)
            check_residue_and_cost(bench)
            check_read_cost(bench)
        finally:
            bench.close()
    print(f"{'PASS' if not bench.failures else 'FAIL'} {bench.failures} failures")
    return bench.failures


if __name__ == "__main__":
    sys.exit(main())

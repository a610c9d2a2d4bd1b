"""Jobs that die, and one that does not, recorded for the tests of a run's page; all at once: each takes seconds."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from support import cgroups, commands, faults, recorder

LIMIT_BYTES = 128 << 20
OFTEN = ("--sample-interval", "0.1s", "--report-interval", "0.2s")

GREEDY = """
import multiprocessing, os, time
import jobmeter

def load(queue):
    held = bytearray(b"x") * (24 << 20)
    parent = os.getppid()
    queue.put(1)
    while os.getppid() == parent:
        time.sleep(0.05)

if __name__ == "__main__":
    config = {"train": {"batch_size": 8, "lr": 1e-4}, "data": {"num_workers": 2}, "api_key": "sk-0123456789abcdef"}
    run = jobmeter.init(project="faults", config=config)
    queue = multiprocessing.get_context("fork").SimpleQueue()
    for _ in range(2):
        multiprocessing.get_context("fork").Process(target=load, args=(queue,), daemon=True).start()
    queue.get(), queue.get()
    held = []
    for step in range(200):
        held.append(bytearray(b"x") * (2 << 20))
        run.log({"loss": 2.0 / (step + 1)}, step=step)
        if step == 8:
            run.event("batch_size_changed", {"old": 4, "new": 8})
        time.sleep(0.05)
"""
DIVERGING = """
import time
import jobmeter
run = jobmeter.init(project="faults", config={"lr": 0.5, "batch_size": 16})
for step in range(60):
    run.log({"loss": 2.0 / (step + 1) if step < 30 else float("nan"), "grad_norm": 1.0 + step}, step=step)
    time.sleep(0.01)
run.finish()
"""
UNINSTALLED = """
print("2026-11-15 09:50:01,000 WARNING loading the model from a cold cache")
import flash_attn_that_nobody_installed
"""
FILLING = """
mkdir -p $1 && mount -t tmpfs -o size=1m none $1 && exec $0 -S -c '
import sys
file = open(sys.argv[1] + "/model.pt", "wb", buffering=0)
while True: file.write(bytes(65536))' $1
"""
ENDLESS = """
import time
end = time.monotonic() + 60
step = 0
while time.monotonic() < end:
    step += 1
    print(f"step {step} loss {2 / step:.4f}", flush=True)
    time.sleep(0.05)
"""
LAUNCHER = """
import os, subprocess, sys
given = {"WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}
ranks = [
    subprocess.Popen([sys.executable, sys.argv[1]], env=os.environ | given | {"RANK": str(n), "LOCAL_RANK": str(n)})
    for n in range(3)
]
sys.exit(max(rank.wait() for rank in ranks))
"""
RANK = """
import os, time
import jobmeter
rank = int(os.environ["RANK"])
pause = 0.1 if rank == 2 else 0.05
held = bytearray(b"x") * ((60 if rank == 1 else 10) << 20)
run = jobmeter.init(project="ranks", config={"lr": 1e-3})
due = time.monotonic()
for step in range(25):
    due += pause
    time.sleep(max(0.0, due - time.monotonic()))
    run.log({"loss": 0.5 + abs(step - 17) / 10, "tokens_per_second": 1000.0 / pause}, step=step)
run.finish()
"""


@contextmanager
def memory_limit() -> Iterator[str]:
    """Make a real memory cgroup with a limit."""
    place = cgroupfs.locate(Paths()).memory
    assert place is not None, "the machine needs the memory controller"
    directory = f"{place.directory}/run-page-{os.getpid()}"
    os.mkdir(directory)
    file = "memory.limit_in_bytes" if place.version == 1 else "memory.max"
    cgroups.write(f"{directory}/{file}", b"%d" % LIMIT_BYTES)
    yield directory
    # what the kernel left of the job ends a moment later, in the recorder's own group inside
    groups = [*Path(directory).glob("*/"), Path(directory)]
    for group in groups:
        recorder.wait_for(lambda path=group / "cgroup.procs": not path.read_text())
        group.rmdir()


def record_all(folder: Path) -> Path:
    """Record every job of this file into a home, and give the home."""
    home = folder / "home"
    python = (sys.executable,)
    for name, text in (
        ("greedy", GREEDY),
        ("diverging", DIVERGING),
        ("uninstalled", UNINSTALLED),
        ("endless", ENDLESS),
        ("launch", LAUNCHER),
        ("rank", RANK),
    ):
        (folder / f"{name}.py").write_text(text)
    path = {
        name: str(folder / f"{name}.py")
        for name in ("greedy", "diverging", "uninstalled", "endless", "launch")
    }
    with memory_limit() as limited:
        jobs = [
            _start(home, "oom", (*python, path["greedy"]), join=faults.inside(limited)),
            _start(home, "module", (*python, path["uninstalled"])),
            _start(home, "nan", (*python, path["diverging"])),
            _start(
                home, "disk", ("unshare", "-m", "sh", "-c", FILLING, sys.executable, str(folder / "small"))
            ),
            _start(home, "slow", ("--timeout", "1.5", "--", *python, path["endless"])),
            _start(home, "ranks", (*python, path["launch"], str(folder / "rank.py"))),
        ]
        codes = [job.wait(60) for job in jobs]
    assert codes == [137, 1, 0, 1, 124, 0], codes
    return home


def _start(
    home: Path, name: str, words: tuple[str, ...], *, join: Callable[[], None] | None = None
) -> "subprocess.Popen[bytes]":
    asked = words if "--" in words else ("--", *words)
    return subprocess.Popen(
        [*commands.COMMAND, "run", "-q", "--name", name, "--capture", "all", *OFTEN, *asked],
        env=commands.environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=join,
    )

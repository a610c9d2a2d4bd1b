"""Jobs that die, and one that does not, recorded for the tests of a run's page; all at once: each takes seconds."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support import cgroups, commands, faults, rank_jobs

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
    time.sleep(2)  # the recorder looks once more when the job is over, and is to find it

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


def record_all(folder: Path) -> Path:
    """Record every job of this file into a home, and give the home."""
    home = folder / "home"
    python = (sys.executable,)
    for name, text in (
        ("greedy", GREEDY),
        ("diverging", DIVERGING),
        ("uninstalled", UNINSTALLED),
        ("endless", ENDLESS),
        ("launch", rank_jobs.LAUNCHER),
        ("rank", rank_jobs.RANK),
    ):
        (folder / f"{name}.py").write_text(text)
    path = {
        name: str(folder / f"{name}.py")
        for name in ("greedy", "diverging", "uninstalled", "endless", "launch")
    }
    small = ("unshare", "-m", "sh", "-c", FILLING, sys.executable, str(folder / "small"))
    with cgroups.memory_limit() as limited, _ended() as jobs:
        jobs.append(_start(home, "oom", (*python, path["greedy"]), join=faults.inside(limited)))
        jobs.append(_start(home, "module", (*python, path["uninstalled"])))
        jobs.append(_start(home, "nan", (*python, path["diverging"])))
        jobs.append(_start(home, "disk", small))
        jobs.append(_start(home, "slow", ("--timeout", "1.5", "--", *python, path["endless"])))
        jobs.append(_start(home, "ranks", (*python, path["launch"], str(folder / "rank.py"))))
        codes = [job.wait(60) for job in jobs]
    assert codes == [137, 1, 0, 1, 124, 0], codes
    return home


@contextmanager
def _ended() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Hold recordings, and leave none behind: each is told to end its job where it has not ended."""
    jobs: list[subprocess.Popen[bytes]] = []
    try:
        yield jobs
    finally:
        for job in jobs:
            job.terminate()
        for job in jobs:
            job.wait(30)


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

"""Faults that show only after a while, provoked for real: a leak, a rank behind the others, data that comes late."""

import sys
from pathlib import Path

import pytest

from support import faults
from support.faults import Said
from support.recorder import Home

OFTEN = ("-q", "--capture", "all", "--sample-interval", "0.1", "--report-interval", "0.5")
LEAK = """
import time
held = []
for step in range(125):
    held.append(bytearray(b"x") * (2 << 20))
    time.sleep(0.2)
"""
# a CPU stands in for the card: the loop has nothing to do but wait for its worker
STARVED = """
import multiprocessing, time

def load(queue):
    while True:
        until = time.process_time() + 0.05
        while time.process_time() < until: pass
        queue.put(1)

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    fork.Process(target=load, args=(queue,), daemon=True).start()
    end, step = time.monotonic() + 5, 0
    while time.monotonic() < end or step < 10:
        queue.get()
        step += 1
        print(f"step {step} loss {1 / step:.4f}", flush=True)
"""
RANK = """
import os, time
import jobmeter

pause = 0.12 if os.environ["RANK"] == "2" else 0.05
run = jobmeter.init(project="faults")
due = time.monotonic()
for step in range(25):
    due += pause
    time.sleep(max(0.0, due - time.monotonic()))
    run.log({"loss": 2.0 / (step + 1)}, step=step)
run.finish()
"""
LAUNCHER = f"""
import os, subprocess, sys
given = os.environ | {{"WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}}
ranks = [subprocess.Popen([sys.executable, "-c", {RANK!r}], env=given | {{"RANK": str(n)}}) for n in range(4)]
sys.exit(max(rank.wait() for rank in ranks))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """Record the three side by side: two of them mostly sleep."""
    folder = tmp_path_factory.mktemp("faults")
    scripts = {"leak": LEAK, "starved": STARVED, "straggler": LAUNCHER}
    homes = {name: Home(folder / name) for name in scripts}
    started = {
        name: homes[name].start(*OFTEN, "--", *_script(folder, name, text)) for name, text in scripts.items()
    }
    return {name: faults.analyse(homes[name].finish(started[name], 120)) for name in scripts}


def _script(folder: Path, name: str, text: str) -> list[str]:
    (folder / f"{name}.py").write_text(text)
    return [sys.executable, str(folder / f"{name}.py")]


def test_memory_that_only_grows_is_a_leak(said: dict[str, Said]) -> None:
    found = said["leak"].finding("leak")
    assert (said["leak"].cause, found["severity"]) == ("completed", "warning")
    # 2 MiB at every fifth of a second, or a little less often on a busy machine
    assert 3 << 20 < found["figures"]["slope_bytes_per_second"] < 10.5 * (1 << 20)


def test_a_loop_that_waits_for_its_worker_is_starved(said: dict[str, Said]) -> None:
    found = said["starved"].finding("gpu_starved")
    assert (said["starved"].cause, found["severity"]) == ("completed", "warning")
    assert found["figures"]["workers"] == 1


def test_a_rank_that_takes_longer_is_a_straggler(said: dict[str, Said]) -> None:
    found = said["straggler"].finding("stragglers")
    assert (said["straggler"].cause, found["severity"], found["rank"]) == ("completed", "warning", 2)


def test_none_of_them_is_taken_for_another(said: dict[str, Said]) -> None:
    assert {name: one.alarming for name, one in said.items()} == {
        "leak": ["leak"],
        "starved": ["gpu_starved"],
        "straggler": ["stragglers"],
    }

"""A sleeping parent that only called `jobmeter.init()`, and two children that do the work, as data loaders do."""

import json
import subprocess
from pathlib import Path

import pytest

from support.recorder import JOBMETER, Home, wait_for
from support.training import script

WORKERS = """
import json, os, pathlib, resource, sys, time
import multiprocessing as mp

def work(held_mib, cpu_seconds, ready, measured):
    held = bytearray(held_mib << 20)
    for at in range(0, len(held), 4096): held[at] = 1
    ready.release()
    while time.process_time() < cpu_seconds: pass
    measured.acquire()

def pss(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:"))

run = jobmeter.init()
usage = next(run.folder.glob("usage.jsonl"), None)
deadline = time.monotonic() + 10
while usage is None and time.monotonic() < deadline:
    time.sleep(0.01)
    usage = next(run.folder.glob("usage.jsonl"), None)
context = mp.get_context("fork")
ready, measured = context.Semaphore(0), context.Semaphore(0)
before = time.process_time()
workers = [context.Process(target=work, args=(300, 2.5, ready, measured)) for _ in range(2)]
for worker in workers: worker.start()
for worker in workers: ready.acquire()
tree_pss = sum(pss(pid) for pid in (os.getpid(), *(worker.pid for worker in workers)))
for worker in workers: measured.release()
for worker in workers: worker.join()
children = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = children.ru_utime + children.ru_stime + time.process_time() - before
run.finish()
print(json.dumps({"cpu": cpu, "pss": tree_pss, "folder": str(run.folder)}))
"""


def headline(folder: Path) -> dict[str, dict[str, float]]:
    """Read what the recorder says the run used, once it has ended."""
    wait_for((folder / "info.json").exists)
    found: dict[str, dict[str, float]] = json.loads((folder / "info.json").read_text())["headline"]
    return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give an empty home, and a recorder that nobody traces."""
    return Home(tmp_path / "home", traced=False)


@pytest.mark.parametrize("how", ["alone", "joined"])
def test_the_work_of_the_children_is_the_runs(how: str, home: Home) -> None:
    words = [*JOBMETER, "run", "-q", *script(WORKERS)] if how == "joined" else script(WORKERS)
    done = subprocess.run(words, env=home.environ(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    truth = json.loads(done.stdout)
    found = headline(Path(truth["folder"]))
    assert truth["cpu"] > 4.9
    assert found["cpu_seconds"]["value"] == pytest.approx(truth["cpu"], rel=0.05)
    assert found["memory_peak_bytes"]["value"] == pytest.approx(truth["pss"], rel=0.05)


SHORT = """
import json, os, subprocess, sys, time
from pathlib import Path

older = subprocess.Popen([sys.executable, "-c", '''
import sys, time
while time.process_time() < 0.5: pass
print("burnt", flush=True)
sys.stdin.read()
'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
older.stdout.readline()
subprocess.run([sys.executable, "-S", "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
run = jobmeter.init()
begun = time.process_time()
Path("written").write_bytes(bytes(20 << 20))
while time.process_time() - begun < 0.1: run.log({"loss": 1.0})
used = time.process_time() - begun
run.finish()
older.stdin.close()
older.wait()
print(json.dumps({"cpu": used, "folder": str(run.folder)}))
"""


def test_a_run_that_ends_before_its_recorder_is_there_is_counted_from_its_begin(
    home: Home, tmp_path: Path
) -> None:
    done = subprocess.run(
        script(SHORT),
        env=home.environ(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    truth = json.loads(done.stdout)
    found = headline(Path(truth["folder"]))
    # neither what was reaped before nor what an older child had used; finishing costs the process a little itself
    assert found["cpu_seconds"]["value"] == pytest.approx(truth["cpu"], rel=0.05, abs=0.02)
    assert found["io_write_bytes"]["value"] >= 20 << 20

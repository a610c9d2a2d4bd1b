"""Jobs that stand still: what their processes wait in is written down while they do, and what analysis makes of it."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from support import faults, recorder
from support.recorder import Home

SOON = ("-q", "--capture", "all", "--sample-interval", "0.1", "--stall-seconds", "1")
WORK = "import time\nend = time.process_time() + 2.1\nwhile time.process_time() < end: sum(range(1000))\n"
DEADLOCK = f"""
import threading
{WORK}
lock = threading.Lock()

def wait_for_the_other_rank():
    lock.acquire()

lock.acquire()
wait_for_the_other_rank()
"""


def stall(home: Home) -> dict[str, Any]:
    """Wait for the first stall of the run and give it."""
    folder = recorder.wait_for(lambda: recorder.sampled(home.path), 30)
    path = folder / "events.jsonl"
    recorder.wait_for(lambda: path.exists() and b'"stall"' in path.read_bytes(), 30)
    return recorder.events(folder, "stall")[0]


def test_a_deadlock_is_a_hang_with_the_stack_it_hangs_in(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(DEADLOCK)
    process = home.start(*SOON, sys.executable, str(script))
    (waiter,) = stall(home)["details"]["processes"]
    process.send_signal(signal.SIGTERM)
    said = faults.analyse(home.finish(process))
    assert (waiter["state"], waiter["syscall"]) == ("S", "futex")
    assert waiter["stack"].splitlines()[1:3] == [
        f"    wait_for_the_other_rank (train.py:{line_of(DEADLOCK, '    lock.acquire()')})",
        f"    <module> (train.py:{line_of(DEADLOCK, 'wait_for_the_other_rank()')})",
    ]
    assert said.cause == "hang"
    assert said.sentence.endswith("waits in futex")
    assert "wait_for_the_other_rank" in said.report["verdict"]["evidence"][0]["quote"]
    summary = said.finished.run["summary"]
    # py-spy taken for the job's would add its time to what the cgroup counted
    assert abs(summary["wait_cputime"] - summary["cgroup_cputime"]) < 0.02
    assert summary["proc_peak_count"] == 1


def line_of(text: str, line: str) -> int:
    return text.splitlines().index(line) + 1


def test_a_stopped_job_is_seen_stopped_and_goes_on_unharmed(home: Home) -> None:
    more = "end = time.process_time() + 0.5\nwhile time.process_time() < end: sum(range(1000))\n"
    script = f"{WORK}print('worked', flush=True)\ntime.sleep(0.2)\n{more}print('done', flush=True)"
    process = home.start(*SOON, sys.executable, "-S", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"worked\n"
    (job,) = recorder.children(process.pid)
    os.kill(job, signal.SIGSTOP)
    (seen,) = stall(home)["details"]["processes"]
    os.kill(job, signal.SIGCONT)
    finished = home.finish(process)
    assert seen["state"] == "T"
    assert (finished.code, finished.stdout) == (0, b"done\n")
    assert [one["type"] for one in recorder.events(finished.folder)] == [
        "stopped",
        "stall",
        "continued",
        "stall_over",
    ]
    assert faults.analyse(finished).cause == "completed"


def test_sleep_does_not_hang(home: Home) -> None:
    process = home.start(*SOON, "sleep", "600")
    details = stall(home)["details"]
    process.send_signal(signal.SIGTERM)
    said = faults.analyse(home.finish(process))
    assert details["worked"] is False
    assert (said.cause, said.alarming) == ("killed_signal", [])

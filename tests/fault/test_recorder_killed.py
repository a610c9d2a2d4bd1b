"""The recorder dies or stands still: the job goes on, and the folder can be read."""

import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobmeter.runfolder import reader
from support.recorder import Home, children, leave, lines, records, sampled, wait_for

BUSY = """
import os, sys, time
for n in range(40):
    print(n, flush=True); time.sleep(0.005)
open(sys.argv[1], 'w').write('whole')
"""


def test_a_killed_recorder_never_takes_the_job_with_it(tmp_path: Path) -> None:
    """Thirty kills, from before the job began to after it ended; output goes to a file."""
    rng = random.Random(11)
    delays = [rng.uniform(0.0, 0.4) for _ in range(30)]

    def kill_after(case: tuple[int, float]) -> str:
        number, delay = case
        home = Home(tmp_path / f"home{number}", traced=False)
        log, done = tmp_path / f"log{number}", tmp_path / f"done{number}"
        with log.open("wb") as file:
            process = home.start(
                "-q",
                "--sample-interval",
                "0.02",
                sys.executable,
                "-S",
                "-c",
                BUSY,
                str(done),
                stdout=file,
                stderr=file,
            )
        time.sleep(delay)
        process.kill()
        process.wait()
        begun = bool(home.folders()) and "context" in records_of(home)
        if not begun:
            return "not begun"
        wait_for(done.exists)
        assert log.read_bytes() == b"".join(b"%d\n" % n for n in range(40))
        return reader.read_run(home.folders()[0]).status.value

    def records_of(home: Home) -> dict[str, object]:
        path = home.folders()[0] / "run.jsonl"
        return records(home.folders()[0]) if path.exists() else {}

    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(kill_after, enumerate(delays)))
    assert set(ends) <= {"not begun", "lost", "completed"}
    assert ends.count("lost") >= 5


def test_a_killed_recorder_leaves_a_run_that_reads_as_lost(home: Home) -> None:
    process = home.start("-q", "--capture", "none", "sleep", "0.8")
    folder = wait_for(lambda: sampled(home.path))
    (job,) = children(process.pid)
    leave(process)
    assert os.path.exists(f"/proc/{job}")
    found = reader.read_run(folder)
    assert (found.status.value, found.exit_code, found.command) == ("lost", None, ("sleep", "0.8"))
    os.kill(job, signal.SIGKILL)


def test_a_relayed_job_of_a_killed_recorder_meets_a_broken_pipe(home: Home, tmp_path: Path) -> None:
    """As in any pipeline whose reader died."""
    script = f"trap 'touch {tmp_path}/told; exit' PIPE; while :; do echo x; sleep 0.01; done"
    process = home.start("-q", "sh", "-c", script)
    wait_for(lambda: sampled(home.path))
    leave(process)
    wait_for((tmp_path / "told").exists)


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_a_recorder_that_stood_still_goes_on_where_it_was(own_cgroup: str, home: Home) -> None:
    script = "import time\nend = time.monotonic() + 2.6\nwhile time.monotonic() < end: time.sleep(0.001)"
    process = home.start(
        "-q", "--own-cgroup", own_cgroup, "--sample-interval", "0.1", sys.executable, "-c", script
    )
    wait_for(lambda: sampled(home.path))
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.0)  # standing still is what is tested
    process.send_signal(signal.SIGCONT)
    done = home.finish(process)
    assert done.code == 0
    spans = [line["clock"]["wait"] for line in lines(done.folder / "usage.jsonl") if "wait" in line["clock"]]
    assert max(end - begin for begin, end in spans) >= 1.8
    # skipped moments are not made up for: at most the early looks and one per tenth of the rest
    assert len(spans) <= 5 + 12
    total = sum(line["measurements"].get("wait_cputime", 0) for line in lines(done.folder / "usage.jsonl"))
    assert total == pytest.approx(done.run["summary"]["wait_cputime"], abs=1e-3)

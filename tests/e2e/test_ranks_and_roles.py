"""Ranks and roles of real processes: a launcher, two ranks, forked and spawned workers, and bystanders."""

import sys
from collections import Counter
from pathlib import Path

from support.recorder import Home, lines, merged

RANK = """
import multiprocessing, os, subprocess, sys, time
def load(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(20000))
if __name__ == "__main__":
    forked = multiprocessing.get_context("fork").Process(target=load, args=(2.5,))
    spawned = multiprocessing.get_context("spawn").Process(target=load, args=(2.0,))
    forked.start(); spawned.start()
    beside = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(2.5)"])
    forked.join(); spawned.join(); beside.wait()
"""


def labels(folder: Path, key: str) -> dict[str, str]:
    """Read the last label of each process."""
    found: dict[str, str] = {}
    for line in lines(folder / "usage.jsonl"):
        found.update(line["measurements"].get(key, {}))
    return found


def test_ranks_and_roles_are_told_apart(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    launch = " ".join(
        f"RANK={rank} WORLD_SIZE=2 LOCAL_RANK={rank} {sys.executable} {script} &" for rank in range(2)
    )
    done = home.run(
        "-q", "--sample-interval", "0.2", "--report-interval", "0.5", "sh", "-c", f"{launch} wait"
    )
    assert done.code == 0
    roles, ranks = labels(done.folder, "proc_role"), labels(done.folder, "proc_rank")
    counted = Counter((ranks.get(process), role) for process, role in roles.items())
    # each rank: the loop, a forked and a spawned worker, and two that are neither (tracker, bystander)
    expected = {
        (rank, role): n for rank in ("0", "1") for role, n in (("main", 1), ("worker", 2), ("other", 2))
    }
    assert counted == expected


def test_a_build_has_neither(home: Home) -> None:
    done = home.run(
        "-q", "--sample-interval", "0.1", "--report-interval", "0.3", "sh", "-c", "sleep 1 & wait"
    )
    assert (labels(done.folder, "proc_role"), labels(done.folder, "proc_rank")) == ({}, {})


def test_recorders_that_one_launcher_started_share_a_job(home: Home) -> None:
    step = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3", "SLURM_STEP_NUM_TASKS": "2"}
    for rank in ("0", "1"):
        environ = home.environ(**step, SLURM_PROCID=rank)
        assert home.run("-q", "true", env=environ).code == 0
    assert {merged(folder)["job_id"] for folder in home.folders()} == {"slurm-77.3"}


def test_a_batch_script_is_a_job_of_its_own(home: Home) -> None:
    done = home.run("-q", "true", env=home.environ(SLURM_JOB_ID="77", SLURM_PROCID="0", SLURM_NTASKS="2"))
    assert done.run["job_id"] == done.run["run_id"]

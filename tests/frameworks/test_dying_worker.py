"""A worker of a real DataLoader is killed: the verdict names it, not the exception that its loop died of."""

import sys
from pathlib import Path

from support import faults
from support.recorder import Home

JOB = Path(__file__).parent / "jobs" / "dying_worker.py"


def test_whatever_its_loop_dies_of_the_worker_is_named(tmp_path: Path) -> None:
    said = faults.provoke(Home(tmp_path / "home"), sys.executable, str(JOB))
    assert said.finished.code == 1
    # the loop hears of the death, or fails to fetch a batch of the dead before that: it is a race
    assert said.cause == "worker_killed", said.finished.stderr.decode()
    assert said.sentence.startswith("a worker process ")

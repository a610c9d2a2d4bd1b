"""The table of live processes against real ones."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.recording.processes import ProcessTable
from support.recorder import wait_for

LEAVE_A_ZOMBIE = """
import os, sys, time
if os.fork() == 0:
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
    os._exit(0)
sys.stdin.read()
"""


@pytest.fixture
def parent() -> Iterator["subprocess.Popen[bytes]"]:
    """Give a process whose only child burned 0.2 s, ended, and was never waited for."""
    process = subprocess.Popen([sys.executable, "-S", "-c", LEAVE_A_ZOMBIE], stdin=subprocess.PIPE)
    wait_for(lambda: " Z " in stat_of_child(process.pid))
    yield process
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def stat_of_child(pid: int) -> str:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return Path(f"/proc/{children[0]}/stat").read_text() if children else ""


def test_a_zombie_that_a_cgroup_does_not_list_is_counted(parent: "subprocess.Popen[bytes]") -> None:
    table = ProcessTable(
        "/proc", os.getpid(), parent.pid, list_pids=lambda: [parent.pid], reaped_ns=lambda: 0
    )
    try:
        assert table.refresh(full=True)
        assert len(table.live) == 2
        assert 0.2e9 <= table.cpu_ns < 0.5e9
    finally:
        table.close()

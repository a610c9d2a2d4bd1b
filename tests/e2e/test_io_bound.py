"""A job whose disk is slow, provoked for real: the block layer holds its writes back."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from support import cgroups, faults
from support.faults import provoke
from support.recorder import Home

WRITE = """
import mmap, os, sys, time
held = mmap.mmap(-1, 1 << 16)
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
for place in range(64):
    os.pwrite(file, held, place << 16)
"""


@pytest.fixture
def slow_disk(tmp_path: Path) -> Iterator[str]:
    """Give a real cgroup that may write 1 MiB/s to the disk of the test's folder."""
    place = cgroupfs.locate(Paths()).io
    assert place is not None, "the machine needs the controller of block devices"
    device = tmp_path.stat().st_dev
    directory = f"{place.directory}/slow-{os.getpid()}"
    os.mkdir(directory)
    name = f"{os.major(device)}:{os.minor(device)}"
    file, limit = ("blkio.throttle.write_bps_device", "") if place.version == 1 else ("io.max", "wbps=")
    cgroups.write(f"{directory}/{file}", f"{name} {limit}{1 << 20}".encode())
    yield directory
    os.rmdir(directory)


def test_a_job_that_waits_for_its_disk(home: Home, tmp_path: Path, slow_disk: str) -> None:
    said = provoke(
        home,
        *("--sample-interval", "0.1", "--report-interval", "0.5", sys.executable, "-S", "-c", WRITE),
        str(tmp_path / "large"),
        preexec_fn=faults.inside(slow_disk),
    )
    found = said.finding("io_bound")
    assert (said.cause, found["severity"], found["figures"]["scope"]) == ("completed", "warning", "job")
    # 4 MiB at 1 MiB/s, nearly all of it waited for
    assert found["figures"]["waited_seconds"] >= 2.0
    assert found["figures"]["wait_ratio"] > 0.5

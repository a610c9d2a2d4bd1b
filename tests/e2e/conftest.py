"""A home of its own for every recording."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from support import cgroups
from support.recorder import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give an empty home."""
    return Home(tmp_path / "home")


@pytest.fixture
def memory_limit() -> Iterator[str]:
    """Give a real memory cgroup limited to 128 MiB."""
    place = cgroupfs.locate(Paths()).memory
    assert place is not None, "the machine needs the memory controller"
    directory = f"{place.directory}/limited-{os.getpid()}"
    os.mkdir(directory)
    file = "memory.limit_in_bytes" if place.version == 1 else "memory.max"
    cgroups.write(f"{directory}/{file}", b"%d" % (128 << 20))
    yield directory
    os.rmdir(directory)

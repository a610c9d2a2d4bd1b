"""A home of its own for every recording."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import cgroups
from support.recorder import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give an empty home."""
    return Home(tmp_path / "home")


@pytest.fixture
def memory_limit() -> Iterator[str]:
    """Give a real memory cgroup limited to 128 MiB."""
    with cgroups.memory_limit() as directory:
        yield directory

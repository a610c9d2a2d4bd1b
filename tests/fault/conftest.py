"""A home of its own for every recording that shall break."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from support.recorder import Home


@pytest.fixture(scope="session", autouse=True)
def no_residue() -> Iterator[None]:
    """Remove the cgroups that killed recorders left, as the next run on a real machine would."""
    yield
    cgroupfs.sweep(Paths(), cgroupfs.locate(Paths()), min_age_s=0.0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give an empty home."""
    return Home(tmp_path / "home", traced=False)

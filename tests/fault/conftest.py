"""A home of its own for every recording that shall break."""

from pathlib import Path

import pytest

from support.recorder import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Give an empty home."""
    return Home(tmp_path / "home", traced=False)

"""Real files that nobody on this project wrote: read in place, never copied into the project."""

import os
from pathlib import Path

import pytest

ROOT = Path(
    os.environ.get("JOBMETER_CORPUS") or Path(__file__).parents[2] / ".." / "shared" / "corpus"
).resolve()


def folder(name: str) -> Path:
    """Find one folder of the corpus; a test without it says so."""
    found = ROOT / name
    if not found.is_dir():
        pytest.fail(f"no corpus folder {name}: set JOBMETER_CORPUS")
    return found

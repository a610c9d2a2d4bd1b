"""Homes that cannot be read, and JSON that any reader takes."""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter.cli import common
from jobmeter.errors import UsageError

NOBODY = 65534


def find(home: Path) -> str:
    return common.home_of(argparse.Namespace(home=str(home)))


@contextmanager
def nobody() -> Iterator[None]:
    """Do without the rights of root for a moment."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_home_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    assert find(tmp_path / "new") == str(tmp_path / "new")


def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    (tmp_path / "runs").mkdir(mode=0o700)
    with nobody(), pytest.raises(UsageError, match=f"cannot read the runs in {tmp_path}: permission denied"):
        find(tmp_path)


def test_a_month_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    (tmp_path / "runs" / "2026-11").mkdir(parents=True)
    (tmp_path / "runs" / "2026-11").chmod(0o700)
    with nobody(), pytest.raises(UsageError, match=f"cannot read the runs in {tmp_path}: permission denied"):
        find(tmp_path)


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a directory"):
        find(tmp_path / "file")


def test_a_home_with_a_nul_in_it_is_refused() -> None:
    with pytest.raises(UsageError, match="null byte"):
        find(Path("/tmp/\0x"))


def test_a_deleted_working_directory_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find(tmp_path) == str(tmp_path)


def test_json_is_strict_whatever_was_measured() -> None:
    text = common.json_text({"a": float("nan"), "b": [float("inf"), 1.5], "c": "caf\udce9"})
    assert text == '{"a": null, "b": [null, 1.5], "c": "caf\\udce9"}'
    assert json.loads(text)["c"] == "caf\udce9"

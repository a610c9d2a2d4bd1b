"""Where runs are kept, and whose `.jobmeter/` is trusted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobmeter.config import home

NOBODY = 65534


def test_the_flag_wins_over_everything(tmp_path: Path) -> None:
    (tmp_path / ".jobmeter").mkdir()
    environ = {"JOBMETER_HOME": "/variable", "XDG_DATA_HOME": "/xdg"}
    assert home.find_home(str(tmp_path), environ, "/flag") == "/flag"
    assert home.find_home(str(tmp_path), environ, None) == "/variable"
    assert home.find_home(str(tmp_path), {"XDG_DATA_HOME": "/xdg"}, None) == f"{tmp_path}/.jobmeter"


def test_without_a_project_it_is_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    assert home.find_home(str(tmp_path), {"XDG_DATA_HOME": "/xdg"}, None) == "/xdg/jobmeter"
    assert home.find_home(str(tmp_path), {}, None) == "/home/u/.local/share/jobmeter"
    assert home.find_home(str(tmp_path), {"XDG_DATA_HOME": ""}, None) == "/home/u/.local/share/jobmeter"


def test_a_relative_home_is_below_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    assert home.find_home("/somewhere", {}, "runs") == "/somewhere/runs"
    assert home.find_home("/work", {}, "~/runs") == "/home/u/runs"


def test_the_nearest_project_folder_upwards_is_found(tmp_path: Path) -> None:
    (tmp_path / ".jobmeter").mkdir()
    (tmp_path / "a/b").mkdir(parents=True)
    assert home.project_folder(str(tmp_path / "a/b")) == f"{tmp_path}/.jobmeter"
    (tmp_path / "a/.jobmeter").mkdir()
    assert home.project_folder(str(tmp_path / "a/b")) == f"{tmp_path}/a/.jobmeter"


def test_a_file_of_that_name_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".jobmeter").write_text("")
    assert home.project_folder(str(tmp_path)) is None


@pytest.mark.parametrize("cwd", ["/", ""])
def test_the_search_ends_at_the_top(cwd: str) -> None:
    assert home.project_folder(cwd) is None


def test_another_users_folder_is_not_trusted(tmp_path: Path) -> None:
    """Who plants `/tmp/.jobmeter` must not get to read what root records below /tmp."""
    folder = tmp_path / ".jobmeter"
    folder.mkdir()
    assert home.project_folder(str(tmp_path)) == str(folder)
    os.chown(folder, NOBODY, NOBODY)
    assert home.project_folder(str(tmp_path)) is None


def test_roots_folder_is_trusted_by_everybody(tmp_path: Path) -> None:
    shared = Path("/var/tmp") / f"jobmeter-home-{os.getpid()}"
    (shared / ".jobmeter").mkdir(parents=True)
    try:
        source = Path(home.__file__).read_text()
        script = f"{source}\nos.setuid({NOBODY})\nprint(project_folder({str(shared)!r}))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    finally:
        (shared / ".jobmeter").rmdir()
        shared.rmdir()
    assert done.stdout == f"{shared}/.jobmeter\n"

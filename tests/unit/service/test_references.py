"""Runs by the names that people give them, and what is said of a name that means something else."""

import os
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import runs
from support import folders

FIRST, SECOND, OTHER = "20261101T000000Z-aaaaaa", "20261102T000000Z-bbbbbb", "20261203T000000Z-cccccc"


@pytest.fixture
def home(tmp_path: Path) -> str:
    kept = tmp_path / "home"
    for day, run_id, name in ((1, FIRST, "nightly"), (2, SECOND, "nightly"), (3, OTHER, "exp/one")):
        folders.write_run(kept, run_id=run_id, started=folders.STARTED + day, start={"name": name})
    return str(kept)


def refusal(home: str, ref: str) -> tuple[str, str]:
    with pytest.raises(UsageError) as raised:
        runs.find(home, ref)
    return str(raised.value), raised.value.hint


def test_a_name_means_the_newest_run_of_that_name(home: str) -> None:
    assert runs.find(home, "nightly").run_id == SECOND


def test_a_name_may_look_like_a_path(home: str) -> None:
    assert runs.find(home, "exp/one").run_id == OTHER


def test_a_name_may_be_that_of_a_folder_that_is_here(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nightly").mkdir()
    monkeypatch.chdir(tmp_path)
    assert runs.find(home, "nightly").run_id == SECOND


def test_a_run_folder_needs_no_slash(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write_run(tmp_path / "elsewhere", run_id=FIRST, start={"name": "sent"})
    folders.folder_of(tmp_path / "elsewhere", FIRST).rename(tmp_path / "sent-run")
    monkeypatch.chdir(tmp_path)
    assert runs.find(home, "sent-run").name == "sent"


def test_the_beginning_of_an_id_comes_before_a_name_and_the_other_is_told(home: str) -> None:
    folders.write_run(Path(home), run_id="20261204T000000Z-dddddd", start={"name": "202612"})
    folders.write_run(Path(home), run_id="20261205T000000Z-eeeeee", start={"name": "20261203"})
    told: list[str] = []
    assert runs.find(home, "20261203", warn=told.append).run_id == OTHER
    assert told == [
        (
            f"20261203 is taken as the beginning of {OTHER}; "
            "the newest run named 20261203 is 20261205T000000Z-eeeeee"
        )
    ]
    assert refusal(home, "202612") == (
        "several runs begin with 202612",
        (
            f"say more of the id: {OTHER}, 20261205T000000Z-eeeeee, 20261204T000000Z-dddddd; "
            "the newest run named 202612 is 20261204T000000Z-dddddd"
        ),
    )


def test_last_is_last_whatever_a_run_is_called(home: str) -> None:
    folders.write_run(
        Path(home), run_id="20260101T000000Z-ffffff", started=folders.STARTED - 9, start={"name": "last"}
    )
    assert runs.find(home, "last").run_id == OTHER


def test_a_file_is_no_run(home: str, tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("a line\n")
    assert refusal(home, str(log)) == (f"{log} is a file, not a run", f"jobmeter analyze {log} reads a log")


def test_a_file_of_a_run_names_its_folder(home: str) -> None:
    folder = folders.folder_of(Path(home), FIRST)
    file = folder / "run.jsonl"
    assert refusal(home, str(file)) == (f"{file} is a file of a run", f"name its folder: {folder}")


def test_a_folder_of_runs_names_them(home: str) -> None:
    month = folders.folder_of(Path(home), FIRST).parent
    assert refusal(home, str(month)) == (
        f"{month} is not a run folder",
        f"it holds the run folders {month}/{FIRST}, {month}/{SECOND}",
    )


def test_a_home_is_no_run(home: str) -> None:
    assert refusal(home, home) == (
        f"{home} is not a run folder",
        f"its runs are found with --home {home}: jobmeter ls --home {home}",
    )


def test_six_logs_are_five_and_more(home: str, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(6):
        (many / f"{number}.log").write_text("a line\n")
        os.utime(many / f"{number}.log", (number, number))
    listed = ", ".join(f"{many}/{number}.log" for number in (5, 4, 3, 2, 1))
    assert refusal(home, str(many)) == (
        f"{many} is not a run folder",
        f"it holds the logs {listed}, ...: jobmeter analyze {many}/5.log",
    )

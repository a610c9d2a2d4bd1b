from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.run import Status
from jobmeter.service import lifecycle, runs
from support import folders

LIVE = "20261117T000000Z-bbbbbb"


@pytest.fixture
def home(tmp_path: Path) -> str:
    folders.write_run(tmp_path / "home", seconds=3)
    return str(tmp_path / "home")


def notes(home: str) -> Path:
    return folders.folder_of(Path(home), folders.RUN_ID) / "notes.jsonl"


def test_tags_are_set_changed_and_taken_off(home: str) -> None:
    runs.list_runs(home)
    assert lifecycle.tag(home, "last", {"team": "vision", "k": None}).tags == {"team": "vision"}
    assert lifecycle.tag(home, "last", {"team": "sound"}).tags == {"team": "sound"}
    assert runs.list_runs(home)[0].tags == {"team": "sound"}
    assert len(notes(home).read_bytes().splitlines()) == 2
    assert notes(home).stat().st_mode & 0o777 == 0o600


def test_notes_names_and_projects_are_added(home: str) -> None:
    lifecycle.note(home, "last", "the disk was slow")
    lifecycle.rename(home, "last", "slow one")
    run = lifecycle.move_to_project(home, "last", "disks")
    assert (run.notes, run.name, run.project) == (("the disk was slow",), "slow one", "disks")
    assert b'"timestamp":"20' in notes(home).read_bytes()


def test_a_name_of_bytes_that_are_no_utf8_is_kept(home: str) -> None:
    assert lifecycle.rename(home, "last", "caf\udce9").name == "caf\udce9"


def test_a_note_after_a_torn_line_is_on_a_line_of_its_own(home: str) -> None:
    notes(home).write_bytes(b'{"type":"note","te')
    assert lifecycle.note(home, "last", "whole").notes == ("whole",)


@pytest.mark.parametrize("key", ["", "a=b", "new\nline"])
def test_a_tag_needs_a_name(home: str, key: str) -> None:
    with pytest.raises(UsageError):
        lifecycle.tag(home, "last", {key: "x"})


def test_a_folder_outside_the_home_can_be_tagged(home: str, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folders.folder_of(Path(home), folders.RUN_ID).rename(folder)
    assert lifecycle.tag(home, str(folder), {"a": "b"}).tags == {"k": "v", "a": "b"}
    assert not Path(home, "changes.jsonl").exists()


def test_a_removed_run_can_be_restored(home: str) -> None:
    runs.list_runs(home)
    lifecycle.remove(home, folders.RUN_ID[:10])
    assert runs.list_runs(home) == []
    assert [folder.name for folder in lifecycle.binned(home)] == [folders.RUN_ID]
    assert Path(home, "bin").stat().st_mode & 0o777 == 0o700
    assert lifecycle.restore(home, folders.RUN_ID[:10]).run_id == folders.RUN_ID
    assert [run.run_id for run in runs.list_runs(home)] == [folders.RUN_ID]
    assert lifecycle.binned(home) == []


def test_the_bin_holds_two_runs_of_one_id(home: str) -> None:
    lifecycle.remove(home, "last")
    folders.write_run(Path(home), seconds=1)
    lifecycle.remove(home, "last")
    assert len(lifecycle.binned(home)) == 2
    newest = lifecycle.binned(home)[1].name
    assert lifecycle.restore(home, newest).run_id == folders.RUN_ID
    with pytest.raises(UsageError, match="is there already"):
        lifecycle.restore(home, folders.RUN_ID)


def test_a_live_run_is_not_removed(home: str) -> None:
    folders.write_run(Path(home), run_id=LIVE, seconds=1, ended=False, start=folders.this_recorder())
    with pytest.raises(UsageError) as raised:
        lifecycle.remove(home, LIVE)
    assert str(raised.value) == f"run {LIVE} is running"
    assert runs.find(home, LIVE).status is Status.RUNNING


def test_what_is_not_in_the_bin_cannot_be_restored(home: str) -> None:
    with pytest.raises(UsageError) as raised:
        lifecycle.restore(home, "x")
    assert (str(raised.value), raised.value.hint) == ("no run x in the bin", "the bin is empty")


def test_a_folder_that_is_not_ours_is_not_removed(home: str, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folders.folder_of(Path(home), folders.RUN_ID).rename(folder)
    with pytest.raises(UsageError, match="is not in the home"):
        lifecycle.remove(home, str(folder))
    assert folder.exists()

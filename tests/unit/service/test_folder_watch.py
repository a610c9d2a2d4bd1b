"""Which run folders came, went or changed, without listing all of them."""

import os
import shutil
from pathlib import Path

import pytest

from jobmeter.service import folder_watch
from support import folders

ONE, TWO = "20261115T095001Z-7f3a9c", "20261015T095001Z-000001"
LATER = 4e9
"""A moment long after every file was written."""


@pytest.fixture
def watch(tmp_path: Path) -> folder_watch.Watch:
    return folder_watch.Watch(tmp_path)


def test_a_home_that_is_not_there_has_no_runs(watch: folder_watch.Watch) -> None:
    assert watch.look(LATER) == folder_watch.Seen([], [], [])


def test_what_came_is_told_once(tmp_path: Path, watch: folder_watch.Watch) -> None:
    folders.write_run(tmp_path, seconds=1)
    assert watch.look(LATER).new == [ONE]
    assert watch.look(LATER) == folder_watch.Seen([], [], [])
    folders.write_run(tmp_path, run_id=TWO, seconds=1)
    assert watch.look(LATER).new == [TWO]
    assert watch.names == {ONE: "2026-11", TWO: "2026-10"}


def test_what_went_is_told_once(tmp_path: Path, watch: folder_watch.Watch) -> None:
    gone = folders.write_run(tmp_path, seconds=1)
    month = folders.write_run(tmp_path, run_id=TWO, seconds=1).parent
    watch.look(LATER)
    shutil.rmtree(gone)
    assert watch.look(LATER).gone == [ONE]
    shutil.rmtree(month)
    assert watch.look(LATER).gone == [TWO]
    assert watch.look(LATER) == folder_watch.Seen([], [], [])


def test_a_run_that_moved_to_another_month_did_not_go(tmp_path: Path, watch: folder_watch.Watch) -> None:
    folder = folders.write_run(tmp_path, seconds=1)
    watch.look(LATER)
    (tmp_path / "runs" / "2026-12").mkdir()
    folder.rename(tmp_path / "runs" / "2026-12" / ONE)
    looks = [watch.look(LATER) for _ in range(2)]
    assert watch.names == {ONE: "2026-12"}
    assert watch.folder(ONE) == tmp_path / "runs" / "2026-12" / ONE
    assert [name for look in looks for name in look.new] in ([], [ONE])


def test_a_folder_becomes_a_run_when_its_record_is_there(tmp_path: Path, watch: folder_watch.Watch) -> None:
    folder = folders.folder_of(tmp_path, ONE)
    folder.mkdir(parents=True)
    assert watch.look(LATER).new == []
    assert watch.is_waiting()
    folders.append(folder / "run.jsonl", folders.start_record())
    os.utime(folder, (1.0, 1.0))  # another time, whatever the clock of the file system is worth
    assert watch.look(LATER).new == [ONE]
    assert not watch.is_waiting()


def test_what_changed_within_the_last_seconds_is_listed_again(
    tmp_path: Path, watch: folder_watch.Watch
) -> None:
    month = folders.write_run(tmp_path, seconds=1).parent
    stamp = month.stat()
    watch.look(stamp.st_mtime)
    folders.write_run(tmp_path, run_id="20261115T095001Z-000002", seconds=1)
    os.utime(month, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))  # within one tick of the file system's clock
    assert watch.look(stamp.st_mtime).new == ["20261115T095001Z-000002"]


def test_an_old_month_that_did_not_change_is_not_listed(
    tmp_path: Path, watch: folder_watch.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.write_run(tmp_path, seconds=1)
    folders.write_run(tmp_path, run_id=TWO, seconds=1)
    watch.look(LATER)
    listed: list[str] = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(str(path)) or real(path))
    folders.write_run(tmp_path, run_id="20261115T095001Z-000002", seconds=1)
    assert watch.look(LATER).new == ["20261115T095001Z-000002"]
    assert str(tmp_path / "runs" / "2026-11") in listed
    assert str(tmp_path / "runs" / "2026-10") not in listed


def test_names_that_are_no_ids_and_stray_files_are_left_out(
    tmp_path: Path, watch: folder_watch.Watch
) -> None:
    month = folders.write_run(tmp_path, seconds=1).parent
    (month / "not a run").mkdir()
    (month / ".hidden").mkdir()
    (tmp_path / "runs" / "README").write_text("x")
    (tmp_path / "runs" / ".cache").mkdir()
    assert watch.look(LATER).new == [ONE]
    assert watch.names == {ONE: "2026-11"}


def test_ended_runs_that_somebody_changed_are_named(tmp_path: Path, watch: folder_watch.Watch) -> None:
    folders.write_run(tmp_path, seconds=1)
    changes = tmp_path / "changes.jsonl"
    folders.append(changes, {"run_id": ONE})
    watch.skip_changes()
    assert watch.look(LATER).changed == []
    folders.append(changes, {"run_id": ONE}, {"run_id": ONE}, {"run_id": "unknown"}, "no record")
    assert watch.look(LATER).changed == [ONE]
    assert watch.look(LATER).changed == []
    changes.write_bytes(folders.dump({"run_id": ONE}))  # begun anew
    assert watch.look(LATER).changed == [ONE]


def test_sizes_tell_a_run_that_grew(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=1)
    before = folder_watch.sizes(folder)
    assert before == folder_watch.sizes(folder)
    folders.append(folder / "usage.jsonl", {})
    assert before != folder_watch.sizes(folder)
    assert folder_watch.sizes(tmp_path / "gone") == ()

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from jobmeter.model.run import Status
from jobmeter.service import index
from jobmeter.stores import Store, checksums, sqlite
from support import folders
from support.homes import answers

OTHER = "20261116T000000Z-aaaaaa"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def opened(home: Path, path: Path, warnings: list[str]) -> Iterator[index.Index]:
    with index.open_index(home, path=path, warn=warnings.append) as found:
        yield found


def status(opened: index.Index, run_id: str = folders.RUN_ID) -> Status | None:
    run = opened.ask(lambda store: store.brief(run_id))
    return None if run is None else run.status


def points(opened: index.Index, key: str = "wait_cputime") -> int:
    return sum(len(series.times) for series in opened.ask(lambda store: store.series(folders.RUN_ID, [key])))


def test_a_home_that_is_not_there_has_no_runs(opened: index.Index, warnings: list[str]) -> None:
    done = opened.refresh()
    assert (done.indexed, done.forgotten, warnings) == ([], [], [])


def test_new_runs_are_indexed_once(home: Path, opened: index.Index) -> None:
    folders.write_run(home)
    assert opened.refresh().indexed == [folders.RUN_ID]
    assert opened.refresh().indexed == []
    folders.write_run(home, run_id=OTHER)
    assert opened.refresh().indexed == [OTHER]
    assert points(opened) == 60


def test_an_ended_run_is_never_looked_at_again(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home)
    opened.refresh()
    for file in folder.iterdir():
        file.unlink()
    assert opened.refresh().indexed == []
    assert status(opened) is Status.COMPLETED


def test_a_live_run_is_followed_to_its_end(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=0, ended=False, start=folders.this_recorder())
    opened.refresh()
    assert (status(opened), points(opened)) == (Status.RUNNING, 0)
    for count, line in enumerate(folders.usage(20, processes=0), 1):
        folders.append(folder / "usage.jsonl", line)
        opened.refresh()
        assert points(opened) == count
    folders.append(folder / "events.jsonl", {"timestamp": "2026-11-15T09:50:20Z", "type": "stopped"})
    opened.refresh()
    assert status(opened) is Status.PAUSED
    folders.append(folder / "run.jsonl", folders.end_record(20))
    opened.refresh()
    assert status(opened) is Status.COMPLETED
    assert [event.type for event in opened.ask(lambda store: store.events(folders.RUN_ID))] == ["stopped"]
    assert opened.refresh().indexed == []


def test_half_a_line_waits_for_its_other_half(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=0, ended=False, start=folders.this_recorder())
    line = folders.dump(next(folders.usage(1, processes=0)))
    for byte in (line[:50], line[50:-1]):
        with (folder / "usage.jsonl").open("ab") as file:
            file.write(byte)
        opened.refresh()
        assert points(opened) == 0
    with (folder / "usage.jsonl").open("ab") as file:
        file.write(b"\n")
    opened.refresh()
    assert points(opened) == 1


def test_a_run_without_an_end_is_summed_up_from_its_windows(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=3, processes=0, ended=False, start=folders.dead_recorder())
    opened.refresh()
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    lines = [line["measurements"] for line in folders.usage(3, processes=0)]
    assert run.status is Status.LOST
    assert run.summary["wait_cputime"] == round(sum(line["wait_cputime"] for line in lines), 6)  # type: ignore[index, misc]
    assert run.summary["proc_peak_rss_total"] == max(line["proc_rss_total"] for line in lines)  # type: ignore[index, type-var]
    assert "proc_rss" not in run.summary
    assert folder.exists()
    assert run.headline["cpu_seconds"].value == run.summary["cgroup_cputime"]
    assert not run.headline["cpu_seconds"].exact


def test_an_ended_run_has_the_numbers_of_its_recorder(home: Path, opened: index.Index) -> None:
    folders.write_run(home)
    opened.refresh()
    run = opened.ask(lambda store: store.run(folders.RUN_ID))
    assert run is not None
    cpu = run.headline["cpu_seconds"]
    assert (cpu.value, cpu.low, cpu.high, cpu.keys, cpu.exact) == (
        45.678901,
        45.678901,
        45.678901,
        ("wait_cputime",),
        True,
    )
    assert dict(opened.ask(lambda store: next(iter(store.fields())))[1])["cpu_seconds"] == 45.678901


def test_lines_that_cannot_be_read_are_counted(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, end={"dropped": {"usage": 2}})
    for name in ("usage.jsonl", "events.jsonl", "run.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(b"garbage\n")
    opened.refresh()
    run = opened.ask(lambda store: store.brief(folders.RUN_ID))
    assert run is not None
    assert run.provenance.dropped == {"usage": 2, "unreadable_lines": 3}
    assert points(opened) == 60


def test_a_folder_that_is_gone_is_forgotten(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home)
    opened.refresh()
    folder.rename(home / "elsewhere")
    assert opened.refresh().forgotten == [folders.RUN_ID]
    assert status(opened) is None


def test_a_file_that_became_shorter_is_another_file(home: Path, opened: index.Index) -> None:
    folder = folders.write_run(home, seconds=30, ended=False, start=folders.this_recorder())
    opened.refresh()
    (folder / "usage.jsonl").write_bytes(b"".join(map(folders.dump, folders.usage(7, processes=0))))
    opened.refresh()
    assert points(opened) == 7


def test_the_folder_names_the_run(home: Path, opened: index.Index) -> None:
    folders.write_run(home).rename(home / "runs" / "2026-11" / "copy")
    folders.write_run(home)
    opened.refresh()
    assert opened.ask(lambda store: store.run_ids()) == {"copy", folders.RUN_ID}


def test_an_index_built_again_gives_the_same_answers(home: Path, path: Path, tmp_path: Path) -> None:
    folders.write_run(home, seconds=700, processes=2)
    folder = folders.write_run(home, run_id=OTHER, seconds=0, ended=False, start=folders.this_recorder())
    for line in folders.usage(130):
        folders.append(folder / "usage.jsonl", line)
        if "proc" in line["clock"] and len(line["clock"]) == 1:  # type: ignore[operator, arg-type]
            answers(home, path)
    grown = answers(home, path)
    assert grown == answers(home, tmp_path / "anew.db")
    with index.open_index(home, path=path) as opened:
        assert sorted(opened.rebuild().indexed) == [folders.RUN_ID, OTHER]
    assert grown == answers(home, path, refresh=False)


def test_another_index_of_the_home_learns_of_changes(home: Path, opened: index.Index, tmp_path: Path) -> None:
    folder = folders.write_run(home)
    opened.refresh()
    with index.open_index(home, path=tmp_path / "other.db") as other:
        other.refresh()
        folders.append(folder / "notes.jsonl", {"type": "name", "name": "better"})
        folders.append(home / index.CHANGES, {"run_id": folders.RUN_ID})
        for each in (opened, other):
            assert each.refresh().indexed == [folders.RUN_ID]
            assert each.refresh().indexed == []
            run = each.ask(lambda store: store.brief(folders.RUN_ID))
            assert run is not None
            assert run.name == "better"


@pytest.mark.parametrize("name", ["a b", "-rf", "new\nline", "caf\udce9", "x" * 240, "\x1b[31m", "*"])
def test_a_name_that_is_no_run_id_is_ignored(
    home: Path, opened: index.Index, name: str, warnings: list[str]
) -> None:
    folder = folders.write_run(home)
    os.rename(folder, os.fsencode(folder.parent) + b"/" + os.fsencode(name))
    folders.write_run(home, run_id=OTHER)
    done = opened.refresh()
    assert (done.indexed, done.ignored, warnings) == ([OTHER], {name: "its name is no run id"}, [])


def test_things_that_are_no_runs_are_ignored(home: Path, opened: index.Index) -> None:
    folders.write_run(home)
    (home / "runs" / "README").write_text("months")
    (home / "runs" / "2026-11" / "notes.txt").write_text("a file")
    (home / "runs" / "2026-11" / "empty").mkdir()
    (home / "runs" / "2026-11" / ".hidden").mkdir()
    done = opened.refresh()
    assert done.indexed == [folders.RUN_ID]
    assert done.ignored == {"notes.txt": "it holds no run", "empty": "it holds no run"}


def test_a_folder_that_cannot_be_read_is_named_and_the_others_are_listed(
    home: Path, opened: index.Index, warnings: list[str]
) -> None:
    folders.write_run(home)
    (home / "runs" / "2026-11" / "loop").symlink_to("loop")
    second = folders.write_run(home, run_id=OTHER)
    (second / "run.jsonl").unlink()
    (second / "run.jsonl").symlink_to("run.jsonl")
    done = opened.refresh()
    assert done.indexed == [folders.RUN_ID]
    assert done.unreadable == {
        "loop": "too many levels of symbolic links",
        OTHER: "too many levels of symbolic links",
    }
    assert warnings == ["cannot read run folder loop and 1 more: too many levels of symbolic links"]


def test_an_index_that_is_no_database_is_set_aside(home: Path, path: Path) -> None:
    folders.write_run(home)
    path.write_bytes(b"not a database" * 1000)
    warnings: list[str] = []
    with index.open_index(home, path=path, warn=warnings.append) as opened:
        opened.refresh()
        assert status(opened) is Status.COMPLETED
    assert len(warnings) == 1
    assert "set aside as index.db.corrupt-" in warnings[0]
    (aside,) = path.parent.glob("index.db.corrupt-*")
    assert aside.read_bytes().startswith(b"not a database")


def test_an_index_of_a_newer_version_is_read_and_left_alone(home: Path, path: Path) -> None:
    folders.write_run(home)
    before = answers(home, path)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.execute("ALTER TABLE run ADD COLUMN mood TEXT")
    connection.close()
    folders.write_run(home, run_id=OTHER)
    warnings: list[str] = []
    with index.open_index(home, path=path, warn=warnings.append) as opened:
        opened.refresh()
        assert opened.ask(lambda store: store.briefs()) == before["briefs"]
    assert len(warnings) == 1
    assert "has schema 99, this jobmeter knows 5: it is read as it is" in warnings[0]


def test_a_run_indexed_before_a_field_was_known_gets_it(home: Path, path: Path) -> None:
    """GPU and energy became fields when there already were indexes: they asked the folder never again."""
    gpu = {"summary": {"nvml_mean_util": 71.5, "nvml_energy": 360.0}}
    folders.write_run(home, seconds=1, end=gpu)
    with index.open_index(home, path=path) as opened:
        opened.refresh()
    connection = apsw.Connection(str(path), vfs=checksums.vfs())
    connection.execute("UPDATE run SET final = 1, fields = json_remove(fields, '$.gpu_util', '$.energy')")
    connection.execute("DROP TABLE report; DROP INDEX run_by_key; ALTER TABLE run DROP COLUMN job_key")
    connection.pragma("user_version", 3)
    connection.close()
    with index.open_index(home, path=path) as opened:
        opened.refresh()
        ((_, known),) = opened.ask(lambda store: list(store.fields()))
    assert (known["gpu_util"], known["energy"]) == (71.5, 360.0)


def test_where_no_index_can_be_kept_the_folders_are_read(
    home: Path, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    folders.write_run(home)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with index.open_index(home, warn=warnings.append) as opened:
        opened.refresh()
        assert (status(opened), points(opened)) == (Status.COMPLETED, 60)
    assert len(warnings) == 1
    assert warnings[0].startswith("no index can be kept: ")


def test_the_index_is_private(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.write_run(home)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with index.open_index(home) as opened:
        opened.refresh()
        (folder,) = (tmp_path / "cache" / "jobmeter").iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {
            "index.db": 0o600,
            "index.db-wal": 0o600,
            "index.db-shm": 0o600,
            "index.lock": 0o600,
        }


def test_the_index_of_a_kept_home_is_read_and_not_kept_up_twice(
    home: Path, path: Path, opened: index.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.write_run(home)
    returned: list[Store] = []
    reader = sqlite.open_store(path)
    monkeypatch.setitem(
        index.KEPT,
        os.path.realpath(home),
        lambda: index.KeptIndex(home, reader, give_back=returned.append),
    )
    with index.open_index(home) as kept:
        assert kept.refresh().indexed == []
        assert opened.refresh().indexed == [folders.RUN_ID]
        kept.search(folders.RUN_ID)
        assert status(kept) is Status.COMPLETED
    assert returned == [reader]
    reader.close()

import gzip
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import garbage, index, lifecycle, runs
from jobmeter.service.garbage import Keep
from support import folders
from support.homes import answers

DAY = 86400.0
NOW = folders.STARTED + 100 * DAY


def run_id(day: int) -> str:
    return f"202611{day:02}T000000Z-00000{day % 10}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Five runs, ended 1 to 5 days ago, newest first by their number."""
    folder = tmp_path / "home"
    for age in range(1, 6):
        folders.write_run(folder, run_id=run_id(20 - age), seconds=30, started=NOW - age * DAY - 30)
    return folder


def left(home: Path) -> list[str]:
    return [run.run_id for run in runs.list_runs(str(home))]


@pytest.mark.parametrize(
    ("texts", "keep"),
    [
        (["100"], Keep(count=100)),
        (["30d"], Keep(seconds=30 * DAY)),
        (["20GiB"], Keep(size_bytes=20 * 2**30)),
        (["5", "2w", "1G"], Keep(count=5, seconds=14 * DAY, size_bytes=2**30)),
        ([], Keep()),
    ],
)
def test_rules_are_read_as_people_type_them(texts: list[str], keep: Keep) -> None:
    assert garbage.parse_keep(texts) == keep


@pytest.mark.parametrize("texts", [["many"], ["-5"], ["5%"], ["5", "6"], [""]])
def test_rules_that_make_no_sense_are_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        garbage.parse_keep(texts)


def test_a_run_cannot_have_a_directory_outside_of_the_cgroups_removed(tmp_path: Path) -> None:
    directory = tmp_path / "jobmeter-x-4194305"
    directory.mkdir()
    noted = {"own_cgroup": [f"/sys/fs/cgroup/../../..{directory}"]}
    folders.write_run(tmp_path / "home", context={"provenance": noted}, end={"status": "lost"})
    garbage.collect_garbage(str(tmp_path / "home"), Keep())
    assert directory.is_dir()


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (Keep(), 5),
        (Keep(count=2), 2),
        (Keep(count=0), 0),
        (Keep(seconds=3.5 * DAY), 3),
        (Keep(count=1, seconds=3.5 * DAY), 3),
        (Keep(count=4, seconds=1.5 * DAY), 4),
    ],
)
def test_the_newest_and_the_young_are_kept(home: Path, keep: Keep, kept: int) -> None:
    done = garbage.collect_garbage(str(home), keep, now=NOW)
    expected = [run_id(20 - age) for age in range(1, 6)]
    assert left(home) == expected[:kept]
    assert done.removed == expected[kept:]


def test_a_size_is_kept_to(home: Path) -> None:
    size = runs.list_runs(str(home))[0].disk_bytes or 0
    done = garbage.collect_garbage(str(home), Keep(size_bytes=int(2.5 * size)), now=NOW)
    assert len(left(home)) == 2
    assert done.freed_bytes > 3 * size
    assert not list(home.glob(".deleting-*"))


def test_a_dry_run_changes_nothing(home: Path) -> None:
    before = answers(home, home / "index.db")
    done = garbage.collect_garbage(str(home), Keep(count=1), dry_run=True, now=NOW)
    assert done.removed == [run_id(20 - age) for age in (2, 3, 4, 5)]
    assert done.compressed == []
    assert answers(home, home / "other.db") == before


def test_a_live_run_is_never_touched(home: Path) -> None:
    live = "20261101T000000Z-bbbbbb"
    start = folders.this_recorder()
    folder = folders.write_run(
        home, run_id=live, seconds=30, started=NOW - 50 * DAY, ended=False, start=start
    )
    garbage.collect_garbage(str(home), Keep(count=0), now=NOW)
    assert left(home) == [live]
    assert (folder / "usage.jsonl").exists()


def test_the_bin_is_emptied(home: Path) -> None:
    lifecycle.remove(str(home), run_id(19))
    done = garbage.collect_garbage(str(home), Keep(), now=NOW)
    assert done.emptied == [run_id(19)]
    assert lifecycle.binned(str(home)) == []
    assert len(left(home)) == 4


def test_closed_runs_are_compressed_and_read_alike(home: Path) -> None:
    folder = folders.folder_of(home, run_id(17))
    (folder / "stderr").write_bytes(b"warning\n" * 5000)
    (folder / "stdout").write_bytes(b"tiny\n")
    before = runs.view(str(home), run_id(17))
    done = garbage.collect_garbage(str(home), Keep(), now=NOW)
    # the newest ended a day ago to the second: not yet
    assert done.compressed == [run_id(20 - age) for age in (2, 3, 4, 5)]
    assert sorted(path.name for path in folder.iterdir()) == [
        "run.jsonl",
        "stderr.gz",
        "stdout",
        "usage.jsonl.gz",
    ]
    assert gzip.decompress((folder / "stderr.gz").read_bytes()) == b"warning\n" * 5000
    assert (folder / "stderr.gz").stat().st_mode & 0o777 == 0o600
    after = runs.view(str(home), run_id(17))
    assert (after.series, after.processes) == (before.series, before.processes)
    assert after.run.disk_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert done.freed_bytes > 0
    again = garbage.collect_garbage(str(home), Keep(), now=NOW)
    assert (again.compressed, again.freed_bytes) == ([], 0)


def test_what_another_process_is_compressing_is_not_written_into(tmp_path: Path) -> None:
    path, theirs = tmp_path / "usage.jsonl", tmp_path / ".usage.jsonl.gz.part"
    path.write_bytes(b"line\n" * 10_000)
    theirs.write_bytes(b"half")
    garbage.compress(path)
    assert theirs.read_bytes() == b"half"
    assert gzip.decompress((tmp_path / "usage.jsonl.gz").read_bytes()) == b"line\n" * 10_000


def test_what_another_process_removed_frees_nothing(tmp_path: Path) -> None:
    assert garbage.compress(tmp_path / "usage.jsonl") == 0
    assert garbage.delete(tmp_path, tmp_path / "gone") == 0
    assert list(tmp_path.iterdir()) == []


def test_steps_are_compressed_and_read_alike(home: Path) -> None:
    folder = folders.folder_of(home, run_id(17))
    told = [{"step": n, "rank": 1, "source": "sdk", "metrics": {"loss": n}} for n in range(500)]
    folders.append(folder / "steps.1.jsonl", *told)
    garbage.collect_garbage(str(home), Keep(), now=NOW)
    assert (folder / "steps.1.jsonl.gz").exists()
    assert not (folder / "steps.1.jsonl").exists()
    with index.open_index(home) as opened:
        opened.rebuild()
    assert runs.step_series(str(home), run_id(17), "loss").values == tuple(range(500))


def test_an_index_built_from_compressed_runs_is_the_same(home: Path, tmp_path: Path) -> None:
    garbage.collect_garbage(str(home), Keep(), now=NOW)
    grown = runs.view(str(home), run_id(16))
    found = answers(home, tmp_path / "anew.db")
    assert found[run_id(16)][0] == grown.run  # type: ignore[index]
    assert found[run_id(16)][1] == [grown.series[name] for name in sorted(grown.series)]  # type: ignore[index]

"""The files of a run: whole records or none, whatever the disk does."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter.errors import RecordError
from jobmeter.runfolder import writer

NOVEMBER = 1794736201.1239
"""2026-11-15T09:50:01.123Z and a bit"""


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Let files grow to `size` bytes and not further: writes come back short, then fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_record_is_one_line(tmp_path: Path) -> None:
    file = writer.LineFile(str(tmp_path / "run.jsonl"))
    assert file.append({"type": "start", "command": ["a\nb"]})
    assert file.append_line('["stdout", 1]')
    file.close()
    assert (
        tmp_path / "run.jsonl"
    ).read_bytes() == b'{"type": "start", "command": ["a\\nb"]}\n["stdout", 1]\n'
    assert stat.S_IMODE((tmp_path / "run.jsonl").stat().st_mode) == 0o600


def test_a_file_without_records_is_not_made(tmp_path: Path) -> None:
    writer.LineFile(str(tmp_path / "events.jsonl")).close()
    assert list(tmp_path.iterdir()) == []


def test_half_a_record_takes_nothing_of_another_writer_back(tmp_path: Path) -> None:
    """The SDK wrote the start of the run whose recorder goes on in the same file."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"start\n")
    file = writer.LineFile(str(path))
    with disk_of(20):
        assert not file.append_line("2" * 29)
        assert file.append_line("3" * 9)
    file.close()
    assert path.read_bytes() == b"start\n333333333\n"


def test_half_a_record_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    file = writer.LineFile(str(path))
    with disk_of(50):
        assert file.append_line("1" * 29)
        assert not file.append_line("2" * 29)
        assert path.read_bytes() == b"1" * 29 + b"\n"
        assert file.append_line("3" * 9)
    assert file.dropped == 1
    assert file.append_line("4" * 29)
    assert path.read_text().split() == ["1" * 29, "3" * 9, "4" * 29]


def test_a_full_disk_costs_records_until_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    file = writer.LineFile(str(path))
    with disk_of(10):
        assert file.append_line("1" * 9)
        assert not file.append_line("2" * 9)
        assert not file.append_line("3" * 9)
    assert file.append_line("4" * 9)
    assert file.dropped == 2
    assert path.read_text().split() == ["1" * 9, "4" * 9]


def test_half_a_record_that_cannot_be_taken_back_is_not_glued_to_the_next() -> None:
    """A pipe stands for a disk that answers ftruncate with an error."""
    reader, inlet = os.pipe()
    os.set_blocking(inlet, False)
    lines = writer.WholeLines(inlet)
    assert not lines.write(b"1" * 100_000 + b"\n")
    torn = os.read(reader, 200_000)
    assert 0 < len(torn) < 100_000
    assert lines.write(b"222222222\n")
    assert lines.write(b"333333333\n")
    assert os.read(reader, 100) == b"\n222222222\n333333333\n"
    os.close(inlet)
    os.close(reader)


def test_a_folder_that_could_not_be_made_counts_what_it_loses() -> None:
    folder = writer.RunFolder(None, "id")
    assert not folder.run.append({"type": "start"})
    assert not folder.usage.append({})
    assert not folder.usage.append({})
    folder.write_info("{}\n")
    folder.close()
    assert folder.dropped() == {"run": 1, "usage": 2}


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = writer.create(str(tmp_path / "new" / "home"), NOVEMBER)
    finally:
        os.umask(before)
    assert folder.path is not None
    made = Path(folder.path)
    assert made.parent == tmp_path / "new/home/runs/2026-11"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made, *list(made.parents)[:3])] == [0o700] * 4
    assert made.name == folder.run_id
    assert folder.run_id.startswith("20261115T095001Z-")
    assert len(folder.run_id) == 23


def test_two_recorders_of_the_same_moment_have_two_folders(tmp_path: Path) -> None:
    ids = {writer.create(str(tmp_path), NOVEMBER).run_id for _ in range(50)}
    assert len(ids) == 50


def test_times_are_written_with_milliseconds() -> None:
    assert writer.timestamp(NOVEMBER) == "2026-11-15T09:50:01.123Z"
    assert writer.timestamp(0.9999) == "1970-01-01T00:00:00.999Z"


def test_times_asked_for_one_after_the_other_are_those_asked_for_alone() -> None:
    stamps = writer.Stamps()
    for wall in (0.0, 9.0009, 59.9999, 60.0, 61.05, 3599.5, 3600.0, 59.25, NOVEMBER, NOVEMBER + 0.877, 4e9):
        assert stamps.at(wall) == writer.timestamp(wall)
    assert stamps.at(61.05) == "1970-01-01T00:01:01.050Z"


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(RecordError) as caught:
        writer.create(str(tmp_path / "home"), NOVEMBER)
    assert str(caught.value) == f"cannot keep runs in {tmp_path}/home: not a directory"
    assert caught.value.hint == "choose a writable folder with --home or JOBMETER_HOME"


def test_a_home_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"^cannot keep runs in /proc/nowhere: no such file or directory$"):
        writer.create("/proc/nowhere", NOVEMBER)


def test_a_home_whose_name_is_no_text_is_still_named() -> None:
    with pytest.raises(RecordError, match=r"^cannot keep runs in /proc/\\udcff: "):
        writer.create("/proc/\udcff", NOVEMBER)


def test_info_is_whole_or_absent(tmp_path: Path) -> None:
    folder = writer.RunFolder(str(tmp_path), "id")
    with disk_of(100):
        folder.write_info("x" * 200)
        assert list(tmp_path.iterdir()) == []
    with disk_of(0):
        folder.write_info("x")
        assert list(tmp_path.iterdir()) == []
    folder.write_info('{"whole": true}\n')
    assert [path.name for path in tmp_path.iterdir()] == ["info.json"]
    assert json.loads((tmp_path / "info.json").read_text()) == {"whole": True}
    assert folder.dropped() == {"run": 2}


def test_info_in_a_folder_that_was_removed_is_no_reason_to_fail(tmp_path: Path) -> None:
    folder = writer.RunFolder(str(tmp_path / "gone"), "id")
    folder.write_info("{}")
    assert folder.dropped() == {"run": 1}


def test_info_that_cannot_take_its_place_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "info.json").mkdir()
    folder = writer.RunFolder(str(tmp_path), "id")
    folder.write_info("{}")
    assert folder.dropped() == {"run": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["info.json"]


def test_a_real_full_disk_keeps_whole_records_only(tmp_path: Path) -> None:
    """A file system of 64 KiB, filled by someone else and freed again."""
    script = f"""
import os, sys
from jobmeter.runfolder import writer
home = {str(tmp_path)!r}
folder = writer.create(home, 0.0)
hog = open(home + '/hog', 'wb', buffering=0)
kept = [folder.usage.append_line(str(n) * 900) for n in range(9)]
try:
    while True: hog.write(b'x' * 4096)
except OSError:
    hog.truncate(hog.tell() // 4096 * 4096)
kept += [folder.usage.append_line(str(n) * 900) for n in range(9)]
os.truncate(home + '/hog', 0)
kept += [folder.usage.append_line(str(n) * 900) for n in range(9)]
lines = open(folder.path + '/usage.jsonl').read().splitlines()
assert [len(set(line)) == 1 and len(line) == 900 for line in lines] == [True] * sum(kept), lines
assert folder.usage.dropped == kept.count(False) > 0
assert all(kept[:9]) and all(kept[-9:])
try:
    while True: hog.write(b'x' * 4096)
except OSError:
    pass
full = writer.create(home, 0.0)
print(full.path, full.run.append({{'type': 'start'}}), full.dropped())
"""
    mount = 'mount -t tmpfs -o size=64k,nr_inodes=6 none "$0" && exec "$1" -c "$2"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, str(tmp_path), sys.executable, script],
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "None False {'run': 1}\n"

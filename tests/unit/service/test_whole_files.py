"""A file is there whole or as it was, whatever goes wrong while it is written."""

import os
import stat
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import whole_files


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    with whole_files.writing(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plot.svg"]


def test_what_stood_there_is_kept_when_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    path.write_bytes(b"old")
    with pytest.raises(UsageError, match=r"plot\.svg: no space left on device"), whole_files.writing(path):
        raise OSError(28, "No space left on device")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plot.svg"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with whole_files.writing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_file_in_the_place_of_a_folder_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match=r"file/plot\.svg: not a directory"),
        whole_files.writing(tmp_path / "file" / "plot.svg"),
    ):
        pass


def test_a_pipe_is_written_to_and_not_replaced_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_files.writing(path) as file:
            file.write(b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.touch()
    path.chmod(0o600)
    with whole_files.writing(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_left_behind_where_writing_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), whole_files.writing(tmp_path / "plot.svg"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_link_where_the_unfinished_file_goes_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / f".plot.svg.{os.getpid()}.part").symlink_to("precious")
    with whole_files.writing(tmp_path / "plot.svg") as file:
        file.write(b"new")
    assert (tmp_path / "precious").read_bytes() == b"old"
    assert (tmp_path / "plot.svg").read_bytes() == b"new"


def test_links_in_a_circle_are_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with (
        pytest.raises(UsageError, match="loop: too many levels of symbolic links"),
        whole_files.writing(tmp_path / "loop"),
    ):
        raise AssertionError

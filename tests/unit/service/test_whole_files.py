"""A file is there whole or as it was, whatever goes wrong while it is written."""

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

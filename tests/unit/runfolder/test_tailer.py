import gzip
import os
from pathlib import Path

import pytest

from jobmeter.runfolder import tailer


def everything(folder: Path, name: str, offset: int = 0, *, closed: bool = False) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    end = offset
    for piece in tailer.pieces(folder, name, offset, closed=closed):
        found += piece.lines
        end = piece.end
    return found, end


def test_only_whole_lines_are_given_and_the_rest_waits(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo\nthr")
    assert everything(tmp_path, "a") == ([b"one", b"two"], 8)
    with file.open("ab") as more:
        more.write(b"ee\n")
    assert everything(tmp_path, "a", 8) == ([b"three"], 14)
    assert everything(tmp_path, "a", 14) == ([], 14)


def test_the_last_line_of_a_closed_file_needs_no_newline(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo")
    assert everything(tmp_path, "a", closed=True) == ([b"one", b"two"], 7)
    assert [piece.torn for piece in tailer.pieces(tmp_path, "a", closed=True)] == [False, True]


def test_offsets_stay_true_when_a_file_is_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n"))
    assert everything(tmp_path, "a") == ([b"one", b"two", b"three"], 14)
    assert everything(tmp_path, "a", 8) == ([b"three"], 14)


def test_the_plain_file_counts_while_both_are_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"plain\n")
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"packed\n"))
    assert everything(tmp_path, "a")[0] == [b"plain"]


def test_a_cut_gzip_file_gives_the_lines_before_the_cut(tmp_path: Path) -> None:
    text = b"".join(b"line %d %s\n" % (number, os.urandom(20).hex().encode()) for number in range(5000))
    packed = gzip.compress(text)
    (tmp_path / "a.gz").write_bytes(packed[: len(packed) // 2])
    found, end = everything(tmp_path, "a")
    assert 1000 < len(found) < 5000
    assert text.startswith(b"\n".join(found))
    assert end == sum(len(line) + 1 for line in found)


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert everything(tmp_path, "a")[0] == [b"one", b"two"]


def test_lines_longer_than_a_block_are_put_together(tmp_path: Path) -> None:
    long = b"x" * (tailer.BLOCK_BYTES + 5)
    (tmp_path / "a").write_bytes(b"one\n" + long + b"\ntwo\n")
    assert everything(tmp_path, "a") == ([b"one", long, b"two"], len(long) + 9)


def test_a_line_without_end_is_skipped_in_bounded_memory(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"one\n")
        file.truncate(tailer.MAX_LINE_BYTES + 3 * tailer.BLOCK_BYTES)
    with (tmp_path / "a").open("ab") as file:
        file.write(b"\ntwo\n")
    pieces = list(tailer.pieces(tmp_path, "a"))
    assert sum(piece.skipped for piece in pieces) == 1
    assert pieces[-1].lines[-1] == b"two"
    assert pieces[-1].end == (tmp_path / "a").stat().st_size
    assert max(len(line) for piece in pieces for line in piece.lines) <= 4 * tailer.BLOCK_BYTES


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert everything(tmp_path, "a", closed=True) == ([], 0)
    assert tailer.size(tmp_path, "a") is None


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    assert everything(tmp_path, "a") == ([], 0)


def test_a_directory_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert everything(tmp_path, "a") == ([], 0)


def mapped(folder: Path, offset: int = 0, *, closed: bool = False) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    end = offset
    for piece in tailer.pieces(folder, "a", offset, closed=closed, mapped=True):
        found += piece.lines
        end = piece.end
    return found, end


@pytest.mark.parametrize("closed", [False, True])
def test_zero_bytes_where_a_line_would_begin_end_a_mapped_file(tmp_path: Path, closed: bool) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\n" + bytes(4096))
    assert mapped(tmp_path, closed=closed) == ([b"one", b"two"], 8)
    assert mapped(tmp_path, 8, closed=closed) == ([], 8)


def test_zero_bytes_that_became_lines_are_read_later(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\n" + bytes(100))
    assert mapped(tmp_path) == ([b"one"], 4)
    with file.open("r+b") as more:
        more.seek(4)
        more.write(b"two\nthr")
    assert mapped(tmp_path, 4) == ([b"two"], 8)
    with file.open("r+b") as more:
        more.seek(8)
        more.write(b"three\n")
        more.truncate(14)
    assert mapped(tmp_path, 8) == ([b"three"], 14)


def test_a_line_cut_off_by_a_kill_is_torn_and_not_garbage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'one\n{"step":1,"metr' + bytes(5000))
    assert mapped(tmp_path) == ([b"one"], 4)
    pieces = list(tailer.pieces(tmp_path, "a", closed=True, mapped=True))
    assert [(piece.lines, piece.torn) for piece in pieces] == [
        ([b"one"], False),
        ([b'{"step":1,"metr'], True),
    ]


def test_a_line_of_which_some_bytes_are_still_missing_waits(tmp_path: Path) -> None:
    # the bytes of a line need not become visible in their order
    (tmp_path / "a").write_bytes(b"one\ntw\0\nthree\n" + bytes(50))
    assert mapped(tmp_path) == ([b"one"], 4)
    assert mapped(tmp_path, closed=True) == ([b"one", b"tw\0", b"three"], 14)


def test_a_mapped_file_larger_than_a_block_ends_at_its_zeros(tmp_path: Path) -> None:
    line = b"x" * 1023 + b"\n"
    count = tailer.BLOCK_BYTES // 1024 + 3
    with (tmp_path / "a").open("wb") as file:
        file.write(line * count)
        file.truncate(5 * tailer.BLOCK_BYTES)
    found, end = mapped(tmp_path, closed=True)
    assert (len(found), end) == (count, count * 1024)
    (tmp_path / "a").unlink()
    (tmp_path / "a.gz").write_bytes(gzip.compress(line * 3 + bytes(9999)))
    assert mapped(tmp_path, closed=True) == ([line[:-1]] * 3, 3 * 1024)

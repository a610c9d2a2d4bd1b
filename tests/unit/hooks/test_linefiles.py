"""Lines through a mapped file: whole, in order, and cut to length; NUL bytes only behind the last one."""

import errno
import os
import resource
from pathlib import Path

import pytest

from jobmeter.hooks import linefiles
from jobmeter.hooks.descriptors import Descriptor


def never(error: OSError) -> None:
    raise AssertionError(error)


def mapped(path: Path) -> linefiles.MappedLines:
    lines = linefiles.create(str(path), never, mapped=True)
    assert isinstance(lines, linefiles.MappedLines)
    return lines


def test_lines_are_in_the_file_before_it_is_closed(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    lines.put(b"one\n")
    lines.put(b"two\n")
    text = (tmp_path / "f").read_bytes()
    assert text.partition(b"\0")[0] == b"one\ntwo\n"
    assert len(text) == 65536
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"one\ntwo\n"


def test_the_window_moves_on_through_megabytes(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    wanted = [b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(20_000)]
    for line in wanted:
        lines.put(line)
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"".join(wanted)
    assert lines.dropped == 0


def test_a_line_larger_than_any_window_fits(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    lines.put(b"a\n")
    lines.put(b"y" * 3_000_000 + b"\n")
    lines.put(b"z\n")
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"a\n" + b"y" * 3_000_000 + b"\nz\n"


def test_a_line_that_fills_the_window_to_the_last_byte(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    lines.put(b"x" * 65535 + b"\n")
    lines.put(b"next\n")
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"x" * 65535 + b"\nnext\n"


def test_a_signal_that_logs_while_the_window_moves_loses_nothing(tmp_path: Path) -> None:
    """The handler runs inside `_grow`: here the failing disk's callback plays it."""
    heard: list[OSError] = []

    class Interrupted(linefiles.MappedLines):
        __slots__ = ()

        def _grow(self, needed: int) -> bool:
            if not heard:
                heard.append(OSError())
                self.put(b"y\n")
                self.put(b"z" * 70_000 + b"\n")
            return super()._grow(needed)

    fd = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
    lines = Interrupted(Descriptor(fd), never)
    lines.put(b"a" * 65_000 + b"\n")
    lines.put(b"b" * 1000 + b"\n")
    lines.close()
    text = (tmp_path / "f").read_bytes()
    assert [line[:1] for line in text.splitlines()] == [b"a", b"b", b"y", b"z"]


def test_what_goes_straight_stays_in_order_with_what_is_put(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    lines.put(b"one\n")
    lines.straight()(b"two\n")
    lines.put(b"three\n")
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"one\ntwo\nthree\n"


def test_a_window_that_was_left_takes_nothing_any_more(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    first = lines.straight()
    lines.put(b"x" * 65_535 + b"\n")
    lines.put(b"moved\n")
    second = lines.straight()
    second(b"straight\n")
    lines.close()
    for left in (first, second):
        with pytest.raises(ValueError, match="mmap closed"):
            left(b"late\n")
    assert (tmp_path / "f").read_bytes() == b"x" * 65_535 + b"\nmoved\nstraight\n"


def test_the_parents_file_is_left_alone_by_a_fork(tmp_path: Path) -> None:
    lines = mapped(tmp_path / "f")
    lines.put(b"parent\n")
    child = os.fork()
    if not child:
        lines.forget()
        lines.put(b"child\n")
        os._exit(0 if lines.dropped == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    lines.put(b"again\n")
    lines.close()
    assert (tmp_path / "f").read_bytes() == b"parent\nagain\n"


def test_a_name_that_is_taken_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    for kind in (True, False):
        with pytest.raises(FileExistsError):
            linefiles.create(str(tmp_path / "f"), never, mapped=kind)


def test_written_lines_are_whole(tmp_path: Path) -> None:
    lines = linefiles.create(str(tmp_path / "f"), never, mapped=False)
    assert isinstance(lines, linefiles.WrittenLines)
    lines.put(b"one\n")
    assert (tmp_path / "f").read_bytes() == b"one\n"
    lines.close()
    assert os.stat(tmp_path / "f").st_mode & 0o777 == 0o600


def test_a_file_that_refuses_is_told_and_counted(tmp_path: Path) -> None:
    errors: list[OSError] = []
    lines = linefiles.create(str(tmp_path / "f"), errors.append, mapped=False)
    lines.close()
    lines.put(b"lost\n")
    assert lines.dropped == 1
    assert [error.errno for error in errors] == [9]


def test_a_line_that_fits_only_by_half_leaves_no_hole_behind(tmp_path: Path) -> None:
    """A file that was to be mapped and could not be: its position must not stand behind its end."""
    errors: list[OSError] = []
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # less than a window: no room can be set aside, and the second line fits by half
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        lines = linefiles.create(str(tmp_path / "f"), errors.append, mapped=True)
        lines.put(b"first\n")
        lines.put(b"second\n")
        lines.put(b"3rd\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines.put(b"fourth\n")
    lines.close()
    assert isinstance(lines, linefiles.WrittenLines)
    assert (tmp_path / "f").read_bytes() == b"first\n3rd\nfourth\n"
    assert (lines.dropped, [error.errno for error in errors]) == (1, [errno.ENOSPC])


def mountinfo(tmp_path: Path, fstype: str, device: int) -> str:
    number = f"{os.major(device)}:{os.minor(device)}"
    (tmp_path / "proc" / "self").mkdir(parents=True, exist_ok=True)
    text = (
        f"22 1 0:5 / /proc rw - proc proc rw\n30 1 {number} / / rw,relatime shared:1 - {fstype} /dev/vda rw\n"
    )
    (tmp_path / "proc" / "self" / "mountinfo").write_text(text)
    return str(tmp_path / "proc")


@pytest.mark.parametrize(
    ("fstype", "can"),
    [("ext4", True), ("tmpfs", True), ("nfs4", False), ("zfs", False), ("fuse.sshfs", False)],
)
def test_only_file_systems_that_keep_room_are_mapped(tmp_path: Path, fstype: str, can: bool) -> None:
    proc = mountinfo(tmp_path, fstype, tmp_path.stat().st_dev)
    assert linefiles.can_map(str(tmp_path), proc) is can


def test_a_file_system_nobody_mounted_is_not_mapped(tmp_path: Path) -> None:
    assert not linefiles.can_map(str(tmp_path), mountinfo(tmp_path, "ext4", 0xFFFE))
    assert not linefiles.can_map(str(tmp_path), str(tmp_path / "nowhere"))
    assert not linefiles.can_map(str(tmp_path / "nowhere"))

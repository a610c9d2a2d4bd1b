"""The text `ps` prints, on Linux and macOS."""

import pytest

from jobmeter.probes import pstext

LINUX = b"""\
   4712   4112  12345  0.1       00:07 00:00:03 Ss   bash -c echo "a b"; sleep 3
  98123      0      0  0.0  2-03:04:05 1-00:00:01 Z    [python3] <defunct>
"""
MACOS = b"""\
  501  24576 34359738  0.2    01-02:03:04   67:12.34 R+   /usr/bin/python3 train.py --lr 1e-3
"""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00", 0.0),
        ("12:34", 754.0),
        ("01:02:03", 3723.0),
        ("2-03:04:05", 183845.0),
        ("67:12.34", 4032.34),
        ("0:00.05", 0.05),
        ("365-00:00:00", 31536000.0),
    ],
)
def test_a_time_is_read_in_every_form(text: str, seconds: float) -> None:
    assert pstext.parse_time(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "-", "12", "a:b", "1:2:3:4", "x-01:02:03", "nan:nan", "1:-2"])
def test_what_is_no_time_gives_nothing(text: str) -> None:
    assert pstext.parse_time(text) is None


def test_a_row_of_linux_is_read_whole() -> None:
    row, zombie = pstext.parse(LINUX)
    assert (row.pid, row.rss_bytes, row.vsz_bytes, row.pmem_percent) == (4712, 4210688, 12641280, 0.1)
    assert (row.etime_seconds, row.cputime_seconds, row.stat) == (7.0, 3.0, "Ss")
    assert row.command == 'bash -c echo "a b"; sleep 3'
    assert not row.is_zombie
    assert zombie.is_zombie
    assert (zombie.etime_seconds, zombie.cputime_seconds) == (183845.0, 86401.0)


def test_a_row_of_macos_has_hundredths_of_cpu_seconds() -> None:
    (row,) = pstext.parse(MACOS)
    assert (row.pid, row.rss_bytes, row.cputime_seconds, row.stat) == (501, 25165824, 4032.34, "R+")
    assert row.etime_seconds == 93784.0


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"ps: invalid option\n", b"second line of a command\n", b"1 2 3\n"]
)
def test_a_line_that_is_no_process_is_skipped(text: bytes) -> None:
    assert pstext.parse(text) == []


def test_a_column_ps_cannot_fill_is_none() -> None:
    (row,) = pstext.parse(b"7 - - - - - S ?\n")
    assert (row.rss_bytes, row.vsz_bytes, row.pmem_percent, row.etime_seconds, row.cputime_seconds) == (
        None,
    ) * 5


def test_bytes_that_are_no_text_survive() -> None:
    (row,) = pstext.parse(b"7 1 1 0.0 00:01 00:00:00 S caf\xe9\n")
    assert row.command.encode("utf-8", "surrogateescape") == b"caf\xe9"


def test_an_endless_command_line_is_cut() -> None:
    (row,) = pstext.parse(b"7 1 1 0.0 00:01 00:00:00 S " + b"x" * 2_000_000)
    assert row.command == "x" * 4096

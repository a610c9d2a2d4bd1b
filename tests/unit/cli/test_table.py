"""A table fits the screen: optional columns go first, then text is cut."""

import io

from jobmeter.cli.render import table
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.table import Cell, Column

COLUMNS = (
    Column(title="RUN"),
    Column(title="WALL", right=True),
    Column(title="DISK", right=True, optional=2),
    Column(title="CORES", right=True, optional=1),
    Column(title="COMMAND", flexible=8),
)
ROWS = [
    [Cell("one"), Cell("1s"), Cell("4 KiB"), Cell("0.5"), Cell("make all the things")],
    [Cell("twelve"), Cell("1h02m"), Cell(""), Cell("3"), Cell("ls")],
]


def render(width: int, *, colour: bool = False) -> list[str]:
    return table.render(COLUMNS, ROWS, Screen(io.StringIO(), width=width, colour=colour))


def test_without_a_limit_nothing_is_cut() -> None:
    assert render(0) == [
        "RUN      WALL   DISK  CORES  COMMAND",
        "one        1s  4 KiB    0.5  make all the things",
        "twelve  1h02m             3  ls",
    ]


def test_the_longest_text_is_cut_first() -> None:
    assert render(40)[1] == "one        1s  4 KiB    0.5  make all t…"


def test_the_most_optional_column_goes_first() -> None:
    assert render(33) == [
        "RUN      WALL  CORES  COMMAND",
        "one        1s    0.5  make all t…",
        "twelve  1h02m      3  ls",
    ]
    assert render(25)[0] == "RUN      WALL  COMMAND"


def test_a_screen_too_narrow_for_the_rest_keeps_the_rest() -> None:
    assert render(10)[1] == "one        1s  make al…"


def test_no_line_is_wider_than_the_screen() -> None:
    for width in range(23, 60):
        assert max(map(len, render(width))) <= width


def test_east_asian_letters_line_up() -> None:
    columns = (Column(title="NAME"), Column(title="N", right=True))
    rows = [[Cell("日本"), Cell("1")], [Cell("abcd"), Cell("2")]]
    assert table.render(columns, rows, Screen(io.StringIO(), width=0, colour=False))[1:] == [
        "日本  1",
        "abcd  2",
    ]


def test_colour_is_only_written_where_it_is_taken() -> None:
    columns = (Column(title="S"), Column(title="C"))
    rows = [[Cell("bad", Style.BAD), Cell("x")]]
    painted = table.render(columns, rows, Screen(io.StringIO(), width=0, colour=True))
    assert painted == ["\x1b[1mS\x1b[0m    \x1b[1mC\x1b[0m", "\x1b[31mbad\x1b[0m  x"]
    assert table.render(columns, rows, Screen(io.StringIO(), width=0, colour=False)) == ["S    C", "bad  x"]

"""Nothing a job wrote may act on the terminal; what is shown lines up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.model import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("make -j4", "make -j4"),
        ("naïve 日本語 µ", "naïve 日本語 µ"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\x7f\x9b31m", "\\x00\\x7f\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2028", "\\u2028"),
        ("one\u00a0two", "one two"),
        ("caf\udce9", "caf\\xe9"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(raw: str, shown: str) -> None:
    assert text.clean(raw) == shown


@given(st.text(alphabet=st.characters(codec=None)))
def test_cleaned_text_is_printable(raw: str) -> None:
    assert text.clean(raw).isprintable()


def test_a_command_is_written_as_one_would_type_it() -> None:
    command = ("sh", "-c", "echo 'a b'; rm -rf \x1b[0m", "", "--x=1")
    assert text.command_line(command) == "sh -c 'echo '\"'\"'a b'\"'\"'; rm -rf \\x1b[0m' '' --x=1"


@pytest.mark.parametrize(
    ("raw", "cells", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_a_text_is_cut_by_the_cells_it_takes(raw: str, cells: int, shown: str) -> None:
    assert text.cut(raw, cells) == shown


def test_a_width_of_0_is_no_limit() -> None:
    assert text.wrap("as long as it is", 0) == ["as long as it is"]


@given(st.text(alphabet="ab 日é", max_size=40), st.integers(min_value=2, max_value=12))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(raw: str, cells: int) -> None:
    lines = text.wrap(raw, cells)
    assert all(text.width(line) <= cells for line in lines)
    assert "".join(lines).replace(" ", "") == raw.replace(" ", "")

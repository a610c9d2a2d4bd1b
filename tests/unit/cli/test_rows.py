"""Rows of a page line up, whatever stands in them."""

import io

from jobmeter.cli.render.rows import Row, lay_out
from jobmeter.cli.render.screen import Screen, Style


def laid_out(*rows: Row, width: int = 0, colour: bool = False) -> list[str]:
    return lay_out(rows, Screen(io.StringIO(), width=width, colour=colour))


def test_a_long_label_never_touches_its_body() -> None:
    assert laid_out(Row("GPU memory", "12 GiB"), Row("CPU", "4 s")) == [
        "GPU memory  12 GiB",
        "CPU         4 s",
    ]


def test_a_line_that_breaks_between_two_things_has_no_blank_at_its_end() -> None:
    assert laid_out(Row("results", "first 1  second 22222  third 3"), width=34) == [
        "results   first 1  second 22222",
        "          third 3",
    ]


def test_lines_after_the_first_are_set_in_where_asked_for() -> None:
    assert laid_out(Row("events", "one two three four five", hang=2), width=30) == [
        "events    one two three four",
        "            five",
    ]


def test_without_colour_nothing_but_text_is_written() -> None:
    assert laid_out(Row("status", "failed", "key", Style.BAD)) == ["status    failed  key"]


def test_a_label_is_padded_outside_its_colour() -> None:
    assert laid_out(Row("status", "failed", style=Style.BAD), colour=True) == [
        "\x1b[2mstatus\x1b[0m    \x1b[31mfailed\x1b[0m"
    ]

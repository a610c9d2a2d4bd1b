"""con-duct's summary template and its conversions."""

import os
import time

import pytest

from jobmeter.compat import duct_options, duct_summary

VALUES: dict[str, object] = {
    "exit_code": 0,
    "command": "sleep 1",
    "logs_prefix": "x_",
    "wall_clock_time": 1.23456,
    "peak_rss": 1517486080,
    "average_rss": None,
    "peak_vsz": None,
    "average_vsz": None,
    "peak_pmem": 4.4,
    "average_pmem": None,
    "peak_pcpu": 99.999,
    "average_pcpu": 12.0,
}


def test_the_default_summary_reads_as_con_ducts() -> None:
    text = duct_summary.render(duct_options.SUMMARY_FORMAT, VALUES, colors=False)
    assert text.splitlines() == [
        "Summary:",
        "Exit Code: 0",
        "Command: sleep 1",
        "Log files location: x_",
        "Wall Clock Time: 1.235 sec",
        "Memory Peak Usage (RSS): 1.5 GB",
        "Memory Average Usage (RSS): -",
        "Virtual Memory Peak Usage (VSZ): -",
        "Virtual Memory Average Usage (VSZ): -",
        "Memory Peak Percentage: 4.40%",
        "Memory Average Percentage: -%",
        "CPU Peak Usage: 100.00%",
        "Average CPU Usage: 12.00%",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 Bytes"),
        (1, "1 Byte"),
        (999, "999 Bytes"),
        (3000, "3.0 kB"),
        (2e6, "2.0 MB"),
        (1e28, "10000.0 YB"),
    ],
)
def test_sizes_are_decimal(count: float, text: str) -> None:
    assert duct_summary.size(count) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{a!T}", "1m 5.5s"),
        ("{b!T}", "1h 1m 1.0s"),
        ("{c!T}", "0.50s"),
        ("{c!P}", "0.50%"),
        ("{none!S} {none!N} {none!X} {none!E}", "- - - -"),
        ("{c:.3f!N}", "0.500"),
        ("{word:.2f}", "text"),
        ("{c!r}", "0.5"),
    ],
)
def test_conversions(template: str, text: str) -> None:
    values: dict[str, object] = {"a": 65.5, "b": 3661, "c": 0.5, "none": None, "word": "text"}
    assert duct_summary.render(template, values, colors=False) == text


def test_dates_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()
    text = duct_summary.render("{t!D}", {"t": 1794733347.7}, colors=False)
    monkeypatch.undo()
    time.tzset()
    assert text == "Nov 15, 2026 09:02 AM"


def test_colours_mark_what_is_missing_and_what_failed() -> None:
    green, red, end = "\033[1;32m", "\033[1;31m", "\033[0m"
    text = duct_summary.render("{e!E} {f!E} {n!S}", {"e": 0, "f": 3, "n": None}, colors=True)
    assert text == f"{green}0{end} {red}3{end} {red}-{end}"


def test_an_unknown_field_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        duct_summary.render("{nothing}", VALUES, colors=False)

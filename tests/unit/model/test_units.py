"""Rounding for the eye: every boundary where one unit becomes the next."""

import subprocess
import sys

import pytest

from jobmeter.model import units
from jobmeter.model.measurement import Unit


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1047552, "1023 KiB"),
        (1048064, "1 MiB"),  # 1023.5 KiB
        (1048575, "1 MiB"),
        (734003200, "700 MiB"),
        (1048576000, "1000 MiB"),
        (8589934592, "8 GiB"),
        (270582939648, "252 GiB"),
        (10.5, "10.5 B"),
        (-1536, "-1.5 KiB"),
        (2**80, "1048576 EiB"),
        (float("nan"), "nan B"),
        (float("inf"), "inf B"),
    ],
)
def test_a_size_is_shown_in_three_digits_of_the_largest_binary_unit(size: float, shown: str) -> None:
    assert units.format_bytes(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.0000004, "0.4 µs"),
        (0.000532, "532 µs"),
        (0.0123, "12.3 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1.234, "1.23 s"),
        (12.345678, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (75, "1 min 15 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (3723, "1 h 02 min"),
        (86369, "23 h 59 min"),
        (86371, "1 d 00 h"),
        (273600, "3 d 04 h"),
        (-90, "-1 min 30 s"),
        (float("nan"), "nan s"),
    ],
)
def test_a_span_of_time_is_shown_in_its_two_leading_units(seconds: float, shown: str) -> None:
    assert units.format_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("percent", "shown"),
    [
        (0, "0 %"),
        (0.01, "<0.1 %"),
        (0.4, "0.4 %"),
        (9.94, "9.9 %"),
        (9.96, "10 %"),
        (81.2, "81 %"),
        (398.7, "399 %"),
    ],
)
def test_a_percentage_is_shown_in_two_digits(percent: float, shown: str) -> None:
    assert units.format_percent(percent) == shown


@pytest.mark.parametrize(("count", "shown"), [(0, "0"), (1234567, "1,234,567"), (2.5, "2.50"), (3.0, "3")])
def test_a_count_keeps_its_thousands_apart(count: float, shown: str) -> None:
    assert units.format_count(count) == shown


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        (Unit.BYTES, "0.5 B"),
        (Unit.BYTES_PER_SECOND, "0.5 B/s"),
        (Unit.SECONDS, "500 ms"),
        (Unit.PERCENT, "0.5 %"),
        (Unit.RATIO, "50 %"),
        (Unit.COUNT, "0.50"),
        (Unit.NONE, "0.50"),
        (Unit.JOULES, "0.50 J"),
        (Unit.WATTS, "0.50 W"),
        (Unit.CELSIUS, "0.50 °C"),
        (Unit.HERTZ, "0.50 Hz"),
    ],
)
def test_every_unit_has_its_own_form(unit: Unit, shown: str) -> None:
    assert units.format_value(0.5, unit) == shown


def test_text_is_passed_through() -> None:
    assert units.format_value("make -j4", Unit.NONE) == "make -j4"


def test_the_recorder_pays_for_no_heavy_import() -> None:
    code = f"import sys; sys.path[:0] = {sys.path!r}; import jobmeter.model.units; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, check=True
    )
    assert {"re", "typing", "dataclasses", "json", "argparse"} & set(done.stdout.split()) == set()


def test_what_is_not_finite_is_shown_as_it_is() -> None:
    assert units.format_percent(float("nan")) == "nan %"
    assert units.format_count(float("inf")) == "inf"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.32451, "0.3245"),
        (2e-05, "2e-05"),
        (12345, "12,345"),
        (12345.6, "12,346"),
        (0.0, "0"),
        (-1.5, "-1.5"),
        (1e300, "1e+300"),
        (float("nan"), "nan"),
        (2**70, "1.181e+21"),
    ],
)
def test_what_a_training_logged_has_four_digits(value: float, shown: str) -> None:
    assert units.format_metric(value) == shown


def test_an_amount_is_written_in_the_unit_it_names() -> None:
    amounts = [units.format_amount(2048, unit) for unit in ("bytes", "seconds", "")]
    assert amounts == ["2 KiB", "34 min 08 s", "2,048"]


def test_cores_are_a_mean_over_a_time_that_has_one() -> None:
    assert units.mean_cores(3.0, 1.5) == 2.0
    assert units.mean_cores(0.00286, 0.00112) is None
    assert units.mean_cores(1.0, None) is None
    assert [units.format_cores(cores) for cores in (0.0, 0.004, 0.25, 2.0)] == ["0", "<0.01", "0.25", "2"]

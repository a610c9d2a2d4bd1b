"""Numbers along an axis: round, in the panel's unit, never two of the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.exporters import plot_ticks
from jobmeter.model.panel import Panel, Quantity

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (Quantity.BYTES, 734003200, "700 MiB"),
        (Quantity.BYTES_PER_SECOND, 1.5 * MIB, "1.5 MiB/s"),
        (Quantity.CELSIUS, 61.0, "61 °C"),
        (Quantity.CORES, 3.926, "3.93 cores"),
        (Quantity.COUNT, 1500, "1,500"),
        (Quantity.COUNT_PER_SECOND, 12.5, "12.5/s"),
        (Quantity.HERTZ, 0.0, "0 Hz"),
        (Quantity.JOULES, 12.0, "12 J"),
        (Quantity.PERCENT, 24.4, "24 %"),
        (Quantity.PLAIN, 0.00001, "1.0e-05"),
        (Quantity.PLAIN_PER_SECOND, 2.0, "2/s"),
        (Quantity.RATIO, 0.5, "50 %"),
        (Quantity.SECONDS, 0.25, "250 ms"),
        (Quantity.SECONDS_PER_SECOND, 0.25, "0.25 s/s"),
        (Quantity.WATTS, 250.0, "250 W"),
    ],
)
def test_a_value_is_written_with_its_unit(quantity: Quantity, value: float, text: str) -> None:
    assert plot_ticks.show(quantity, value) == text


@pytest.mark.parametrize(
    ("quantity", "top", "wanted", "ticks"),
    [
        (Quantity.CORES, 4.0, 4, [0, 1, 2, 3, 4]),
        (Quantity.CORES, 3.9, 1, [0, 3]),
        (Quantity.BYTES, 700 * MIB, 3, [0, 256 * MIB, 512 * MIB]),
        (Quantity.BYTES, 700 * MIB, 1, [0, 512 * MIB]),
        (Quantity.COUNT, 2.0, 8, [0, 1, 2]),
        (Quantity.RATIO, 0.5, 5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (Quantity.PLAIN, 0.0, 4, [0]),
    ],
)
def test_ticks_are_steps_people_count_in(
    quantity: Quantity, top: float, wanted: int, ticks: list[float]
) -> None:
    assert plot_ticks.value_ticks(quantity, top, wanted) == pytest.approx(ticks)


@given(st.sampled_from(list(Quantity)), st.floats(1e-6, 1e15), st.integers(1, 12))
def test_ticks_begin_at_nought_and_stay_on_the_axis(quantity: Quantity, top: float, wanted: int) -> None:
    ticks = plot_ticks.value_ticks(quantity, top, wanted)
    assert ticks[0] == 0
    assert ticks == sorted(set(ticks))
    assert ticks[-1] <= top * (1 + 1e-6)
    assert len(ticks) <= max(wanted, 10) + 1


@pytest.mark.parametrize(
    ("begin", "end", "wanted", "ticks"),
    [
        (0, 125, 5, [0, 30, 60, 90, 120]),
        (73, 100, 3, [80, 90, 100]),
        (0, 90_000, 4, [0, 43_200, 86_400]),
        (0, 0.004, 4, [0, 0.001, 0.002, 0.003, 0.004]),
        (5, 5, 4, [5]),
        (0, 4e8, 2, [0, 4e8]),
    ],
)
def test_moments_on_the_axis_are_round(begin: float, end: float, wanted: int, ticks: list[float]) -> None:
    assert plot_ticks.time_ticks(begin, end, wanted) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (0.25, "250ms"),
        (42, "42s"),
        (59.97, "1m"),
        (90, "1m30s"),
        (3600, "1h"),
        (7500, "2h05m"),
        (277_200, "3d05h"),
    ],
)
def test_a_moment_is_written_so_that_minutes_are_not_hours(seconds: float, text: str) -> None:
    assert plot_ticks.moment(seconds) == text


def test_a_heading_names_the_unit_where_ticks_do_not() -> None:
    cores = Panel(name="cpu", title="CPU", quantity=Quantity.CORES, lines=(), top=1.0)
    sizes = Panel(name="memory", title="memory", quantity=Quantity.BYTES, lines=(), top=1.0)
    assert plot_ticks.heading(cores) == "CPU, cores"
    assert plot_ticks.heading(sizes) == "memory"
    assert plot_ticks.tick(Quantity.CORES, 2.0) == "2"
    assert plot_ticks.tick(Quantity.BYTES, 0.0) == "0"

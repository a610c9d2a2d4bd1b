"""Numbers along an axis: round steps in the unit of the panel, and spans of time people can read."""

import math

from jobmeter.model import units
from jobmeter.model.panel import Panel, Quantity

TIME_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(86400 * days for days in (1, 2, 5, 7, 14, 30, 90, 180, 365)),
)

MOMENT_SPANS = ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))

AXIS_NAMES: dict[Quantity, str] = {
    Quantity.BYTES: "bytes",
    Quantity.BYTES_PER_SECOND: "bytes/s",
    Quantity.CELSIUS: "°C",
    Quantity.CORES: "cores",
    Quantity.COUNT: "count",
    Quantity.COUNT_PER_SECOND: "per second",
    Quantity.HERTZ: "Hz",
    Quantity.JOULES: "J",
    Quantity.PERCENT: "%",
    Quantity.PLAIN: "no unit",
    Quantity.PLAIN_PER_SECOND: "per second",
    Quantity.RATIO: "%",
    Quantity.SECONDS: "seconds",
    Quantity.SECONDS_PER_SECOND: "seconds per second",
    Quantity.WATTS: "W",
}


BINARY = frozenset((Quantity.BYTES, Quantity.BYTES_PER_SECOND))
UNITLESS_TICKS = frozenset((Quantity.CORES, Quantity.SECONDS_PER_SECOND, Quantity.PLAIN))


def show(quantity: Quantity, value: float) -> str:
    """Write a value with its unit."""
    match quantity:
        case Quantity.BYTES | Quantity.BYTES_PER_SECOND:
            return units.format_bytes(value) + ("/s" if quantity is Quantity.BYTES_PER_SECOND else "")
        case Quantity.SECONDS:
            return units.format_seconds(value)
        case Quantity.PERCENT | Quantity.RATIO:
            return units.format_percent(100 * value if quantity is Quantity.RATIO else value)
        case Quantity.COUNT | Quantity.PLAIN:
            return _short(value)
        case Quantity.COUNT_PER_SECOND | Quantity.PLAIN_PER_SECOND:
            return f"{_short(value)}/s"
        case Quantity.SECONDS_PER_SECOND:
            return f"{_short(value)} s/s"
        case _:
            return f"{_short(value)} {AXIS_NAMES[quantity]}"


def heading(made: Panel) -> str:
    """Name a panel, with the unit of its axis where the ticks do not carry it."""
    if made.quantity in UNITLESS_TICKS:
        return f"{made.title}, {AXIS_NAMES[made.quantity]}"
    return made.title


def tick(quantity: Quantity, value: float) -> str:
    """Write a value on the axis: the unit only where the axis name does not say it."""
    if quantity in UNITLESS_TICKS:
        return _short(value)
    return "0" if value == 0 else show(quantity, value)


def value_ticks(quantity: Quantity, top: float, wanted: int) -> list[float]:
    """Choose round values from 0 up to `top`, at most `wanted` above 0."""
    if top <= 0 or wanted < 1:
        return [0.0]
    scale = 100.0 if quantity is Quantity.RATIO else 1.0
    step = _round_step(top * scale / wanted, quantity) / scale
    if step > top:
        # a round step above the top would leave the axis with its 0 alone
        step = _largest_round(top * scale, quantity) / scale
    return [step * index for index in range(int(top / step + 1e-9) + 1)]


def time_ticks(begin: float, end: float, wanted: int) -> list[float]:
    """Choose round moments within a stretch of the run."""
    length = end - begin
    if length <= 0 or wanted < 1:
        return [begin]
    step = next((s for s in TIME_STEPS if s >= length / wanted), length)
    first = math.ceil(begin / step - 1e-9)
    return [step * index for index in range(first, int(end / step + 1e-9) + 1)]


def moment(seconds: float) -> str:
    """Write a moment of the run: `250ms`, `42s`, `1m30s`, `2h05m`, `3d04h`."""
    if seconds <= 0:
        return "0"
    if seconds < 1:
        return f"{seconds * 1000:.3g}ms"
    if seconds < 59.95:
        return f"{seconds:.3g}s"
    whole = round(seconds)
    size, name, fine_size, fine_name = next(span for span in MOMENT_SPANS if whole >= span[0])
    large, small = divmod(whole, size)
    fine = small // fine_size
    return f"{large}{name}" + (f"{fine:02d}{fine_name}" if fine else "")


def _round_step(rough: float, quantity: Quantity) -> float:
    """Round up to a step people count in: powers of two for sizes, whole numbers for counts."""
    if quantity in BINARY:
        return 2.0 ** math.ceil(math.log2(rough) - 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= rough * (1 - 1e-9))
    return max(step, 1.0) if quantity is Quantity.COUNT else step


def _largest_round(top: float, quantity: Quantity) -> float:
    if quantity in BINARY:
        return 2.0 ** math.floor(math.log2(top))
    power = 10.0 ** math.floor(math.log10(top))
    return math.floor(top / power + 1e-9) * power


def _short(value: float) -> str:
    """Write at most three significant digits, whole thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1e}"

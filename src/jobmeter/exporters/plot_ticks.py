"""Numbers along an axis: round steps in the unit of the panel, and spans of time people can read."""

import math

from jobmeter.model import units
from jobmeter.model.panel import Chart, Panel, Quantity

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
    Quantity.METRIC: "",
    Quantity.PERCENT: "%",
    Quantity.PLAIN: "no unit",
    Quantity.PLAIN_PER_SECOND: "per second",
    Quantity.RATIO: "%",
    Quantity.SECONDS: "seconds",
    Quantity.SECONDS_PER_SECOND: "seconds per second",
    Quantity.WATTS: "W",
}


BINARY = frozenset((Quantity.BYTES, Quantity.BYTES_PER_SECOND))
MOST_DECIMALS = 6
MILLION = 1e6
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
        case Quantity.METRIC:
            return _metric(value, 4)
        case Quantity.COUNT_PER_SECOND | Quantity.PLAIN_PER_SECOND:
            return f"{_short(value)}/s" if abs(value) < MILLION else f"{_short(value / MILLION)} M/s"
        case Quantity.SECONDS_PER_SECOND:
            return f"{_short(value)} s/s"
        case _:
            return f"{_short(value)} {AXIS_NAMES[quantity]}"


def heading(made: Panel) -> str:
    """Name a panel, with the unit of its axis where the ticks do not carry it."""
    if made.quantity in UNITLESS_TICKS:
        return f"{made.title}, {AXIS_NAMES[made.quantity]}"
    return f"{made.title}, logarithmic" if made.logarithmic else made.title


def tick(quantity: Quantity, value: float) -> str:
    """Write a value on the axis: the unit only where the axis name does not say it."""
    if quantity in UNITLESS_TICKS:
        return _short(value)
    if quantity is Quantity.METRIC:
        return _metric(value, 3)
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


def panel_ticks(made: Panel, wanted: int, headroom: float = 1.0) -> list[tuple[float, str]]:
    """Choose round values within the axis of a panel, and what to write there."""
    top = made.bottom + headroom * (made.top - made.bottom)
    if made.logarithmic or made.bottom == 0:
        pick = _decades(made.bottom, top, wanted) if made.logarithmic else None
        values = value_ticks(made.quantity, top, wanted) if pick is None else pick
        return [(value, tick(made.quantity, value)) for value in values]
    step, first, last = _between(made.bottom, top, max(wanted, 1), made.quantity)
    # far from 0 neighbours differ in late digits only
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    values = [step * index for index in range(first, last + 1)]
    fine = made.quantity is Quantity.METRIC and decimals <= MOST_DECIMALS
    return [(v, f"{v:,.{decimals}f}" if fine and v else tick(made.quantity, v)) for v in values]


def _between(low: float, high: float, wanted: int, quantity: Quantity) -> tuple[float, int, int]:
    """Find a round step of which two multiples at least lie between two values, and these multiples."""
    found = [_multiples(low, high, (high - low) / (wanted * finer), quantity) for finer in (1, 2, 4, 8)]
    return next((one for one in found if one[2] > one[1]), found[-1])


def _multiples(low: float, high: float, rough: float, quantity: Quantity) -> tuple[float, int, int]:
    step = _round_step(rough, quantity)
    return step, math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)


def _decades(low: float, high: float, wanted: int) -> list[float]:
    """Choose powers of ten; where there are hardly any, also what lies between them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for parts in ((1,), (1, 3), (1, 2, 5)):
        found = [part * 10.0**power for power in range(first, last + 1) for part in parts]
        inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) >= min(wanted, 2):
            break
    if len(inside) < 2:
        # within one decade the axis is hardly bent: round values serve
        step = _round_step((high - low) / max(wanted, 1), Quantity.METRIC)
        return [step * index for index in range(math.ceil(low / step), math.floor(high / step) + 1)] or [low]
    apart = max(1, math.ceil(len(inside) / max(wanted, 1)))
    return inside[::apart]


def axis_ticks(chart: Chart, wanted: int) -> list[tuple[float, str]]:
    """Choose round places along the axis all panels share, and what to write there."""
    if chart.first_step is None:
        return [(seconds, moment(seconds)) for seconds in time_ticks(0.0, chart.seconds, wanted)]
    step = _round_step(max(chart.seconds, 1.0) / wanted, Quantity.COUNT)
    first = math.ceil(chart.first_step / step)
    last = math.floor((chart.first_step + chart.seconds) / step)
    places = [round(step * index) for index in range(first, last + 1)]
    named = [f"step {place:,}" if number == 0 else f"{place:,}" for number, place in enumerate(places)]
    return [(float(place - chart.first_step), words) for place, words in zip(places, named, strict=True)]


def where(chart: Chart, seconds: float) -> str:
    """Write a place on the axis: a moment of the run, or a step."""
    return moment(seconds) if chart.first_step is None else f"step {round(seconds + chart.first_step):,}"


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


def _metric(value: float, digits: int) -> str:
    """Write so many significant digits, small ones as `5e-5`: rates of learning are all small."""
    if value != 0 and not 0.001 <= abs(value) < 1e6:
        number, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{number.rstrip('0').rstrip('.') if '.' in number else number}e{int(power)}"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _short(value: float) -> str:
    """Write at most three significant digits, whole thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1e}"

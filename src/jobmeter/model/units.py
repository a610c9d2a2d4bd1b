"""Numbers as people read them: binary sizes, spans of time, percent, counts; pure, almost free of imports.

The recorder prints its summary with these. They round for the eye: `--json` never uses them. Sizes are
binary (GiB = 2^30), because that is what `--mem` and cgroup limits mean. A value that is not finite is
shown as it is, never as 0.
"""

from jobmeter.model.measurement import Unit

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")

METRIC_SYMBOLS = {Unit.JOULES: "J", Unit.WATTS: "W", Unit.CELSIUS: "°C", Unit.HERTZ: "Hz"}

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def format_bytes(size: float) -> str:
    """Render a size in three significant digits: `734003200` is `700 MiB`."""
    if not _is_finite(size):
        return f"{size} B"
    if size < 0:
        return f"-{format_bytes(-size)}"
    scaled, step = float(size), 0
    # 1023.6 would be rounded to 1024 of the smaller unit: go one up
    while scaled >= 1023.5 and step < len(BYTE_UNITS) - 1:
        scaled /= 1024
        step += 1
    return f"{_three_digits(scaled)} {BYTE_UNITS[step]}"


def format_seconds(seconds: float) -> str:
    """Render a span of time: `0.0123` is `12.3 ms`, `3723` is `1 h 02 min`."""
    if not _is_finite(seconds):
        return f"{seconds} s"
    if seconds < 0:
        return f"-{format_seconds(-seconds)}"
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995e-3:
        return f"{_three_digits(seconds * 1e6)} µs"
    if seconds < 0.9995:
        return f"{_three_digits(seconds * 1e3)} ms"
    if seconds < 59.95:
        return f"{_three_digits(seconds)} s"
    return _long_span(round(seconds))


def mean_cores(cpu_seconds: float, wall_seconds: float | None) -> float | None:
    """Say how many cores were used in the mean; None of what took too short a time for one.

    Starting a job costs the kernel about a millisecond of CPU time: one as short as that would seem to use several.
    """
    return (
        cpu_seconds / wall_seconds
        if wall_seconds is not None and wall_seconds >= _LEAST_WALL_SECONDS
        else None
    )


_LEAST_WALL_SECONDS = 0.01


def format_cores(cores: float) -> str:
    """Write a number of cores."""
    if 0 < cores < 0.005:
        return "<0.01"
    return f"{cores:.2f}" if cores != int(cores) else f"{cores:.0f}"


def format_percent(percent: float) -> str:
    """Render a percentage in two digits; what is nearly nothing is `<0.1 %`, not `0 %`."""
    if not _is_finite(percent):
        return f"{percent} %"
    if 0 < percent < 0.05:
        return "<0.1 %"
    if percent == int(percent) or abs(percent) >= 9.95:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %"


def format_count(count: float) -> str:
    """Render a count with its thousands apart: `1,234,567`; a mean keeps two decimals."""
    if not _is_finite(count):
        return str(count)
    return f"{count:,.0f}" if count == int(count) else f"{count:,.2f}"


def format_metric(number: float) -> str:
    """Render what a training logged in four significant digits: `0.3245`, `2e-05`, `12,345`."""
    if not _is_finite(number):
        return str(number)
    if number == int(number) and abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


def format_amount(value: float, unit: str) -> str:
    """Render a figure that may be a metric of a training: its unit is a word, and often none."""
    match unit:
        case Unit.BYTES.value:
            return format_bytes(value)
        case Unit.SECONDS.value:
            return format_seconds(value)
        case _:
            return format_metric(value)


def format_value(value: float | str, unit: Unit) -> str:
    """Render a stored value in its unit; text is passed through."""
    if isinstance(value, str):
        return value
    match unit:
        case Unit.BYTES:
            return format_bytes(value)
        case Unit.BYTES_PER_SECOND:
            return f"{format_bytes(value)}/s"
        case Unit.SECONDS:
            return format_seconds(value)
        case Unit.PERCENT:
            return format_percent(value)
        case Unit.RATIO:
            return format_percent(100 * value)
        case Unit.COUNT | Unit.NONE:
            return format_count(value)
        case _:
            return f"{format_count(value)} {METRIC_SYMBOLS[unit]}"


def _is_finite(number: float) -> bool:
    # infinity minus itself is NaN, and NaN equals nothing: no need to import math
    return bool(number - number == 0)


def _three_digits(number: float) -> str:
    """Round to three significant digits, without a tail of zeros and without an exponent."""
    decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def _long_span(seconds: int) -> str:
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min {seconds % _MINUTE:02d} s"
    if seconds < _DAY:
        minutes = round(seconds / _MINUTE)
        if minutes < _DAY // _MINUTE:
            return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = (seconds + _HOUR // 2) // _HOUR
    return f"{hours // 24:,} d {hours % 24:02d} h"

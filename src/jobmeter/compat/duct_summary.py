"""con-duct's summary: a format string with its own conversions, in its own decimal units."""

import string
from collections.abc import Mapping
from datetime import datetime

NOTHING = "-"
_RED, _GREEN = 31, 32
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")
_KILO = 1000.0


def render(template: str, values: Mapping[str, object], *, colors: bool) -> str:
    """Fill con-duct's template; raises KeyError or ValueError where it cannot be filled."""
    return _Summary(colors=colors).vformat(template, (), values)


class _Summary(string.Formatter):
    """`!S` size, `!E` exit code, `!X` truthy, `!N` not null, `!P` percent, `!T` span, `!D` date; `:.2f!N` both."""

    def __init__(self, *, colors: bool) -> None:
        self._colors = colors

    def convert_field(self, value: object, conversion: str | None) -> object:
        match conversion:
            case "E":
                return self._painted(value, _RED if value or value is None else _GREEN)
            case "X":
                return self._painted(value, _GREEN if value else _RED)
            case "N" | "S" | "P" | "T" | "D":
                shown = None if value is None else _shown(value, conversion)
                return self._painted(shown, _RED if value is None else _GREEN)
            case _:
                return super().convert_field(value, conversion)

    def format_field(self, value: object, format_spec: str) -> str:
        if value is None:
            return NOTHING
        spec, mark, conversion = format_spec.partition("!")
        try:
            text = str(super().format_field(value, spec))
        except ValueError:
            return str(value)  # a number's format for a text: show the text
        return str(self.convert_field(text, conversion)) if mark else text

    def _painted(self, value: object, color: int) -> str:
        text = NOTHING if value is None else str(value)
        return f"\033[1;{color}m{text}\033[0m" if self._colors else text


def _shown(value: object, conversion: str) -> str:
    if conversion == "N":
        return str(value)
    number = float(str(value))
    if conversion == "S":
        return size(number)
    if conversion == "P":
        return f"{number:.2f}%"
    if conversion == "T":
        return _span(number)
    return datetime.fromtimestamp(number).astimezone().strftime("%b %d, %Y %I:%M %p")


def size(count: float) -> str:
    """Write bytes in con-duct's decimal units."""
    if abs(count) < _KILO:
        return f"{int(count)} Byte{'' if abs(count) == 1 else 's'}"
    for unit in _UNITS:
        count /= _KILO
        if abs(count) < _KILO or unit == _UNITS[-1]:
            break
    return f"{count:.1f} {unit}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{seconds:.2f}s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}h {minutes}m {rest:.1f}s" if hours else f"{minutes}m {rest:.1f}s"

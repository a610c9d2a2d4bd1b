"""Lines of a panel into dots of a raster, and the raster onto the page."""

from dataclasses import dataclass
from math import log

from jobmeter.exporters.plot_canvas import Canvas, Raster
from jobmeter.model.panel import Line, Role

DASHES = (1, 2, 3, 4)
"""How sparse the first, second, ... line is drawn, so that they differ without colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Where on the page a panel is drawn."""

    left: int
    top: int
    width: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Seconds and values into places; a sign stands in the very cell of the dot it belongs to."""

    seconds: float
    top: float
    bottom: float = 0.0
    logarithmic: bool = False
    braille: bool = True

    def height(self, value: float) -> float:
        """Place a value between the two ends of the axis, 0 to 1."""
        if self.logarithmic:
            return log(max(value, self.bottom) / self.bottom) / (log(self.top / self.bottom) or 1.0)
        return (value - self.bottom) / ((self.top - self.bottom) or 1.0)

    def column(self, seconds: float, columns: int) -> int:
        """Find the column of a moment."""
        dots = 2 if self.braille else 1
        place = round(seconds / self.seconds * (columns * dots - 1)) // dots
        return min(max(place, 0), columns - 1)

    def row(self, value: float, rows: int) -> int:
        """Find the row of a value, 0 at the top."""
        dots = 4 if self.braille else 2
        height = rows * dots - 1
        place = (height - round(self.height(value) * height)) // dots
        return min(max(place, 0), rows - 1)

    def x(self, seconds: float, raster: Raster) -> float:
        """Place a moment among the dots of a row."""
        return seconds / self.seconds * (raster.width - 1)

    def y(self, value: float, raster: Raster) -> float:
        """Place a value among the dots of a column, 0 at the bottom."""
        return self.height(value) * (raster.height - 1)


def draw(raster: Raster, line: Line, scale: Scale, style: str, number: int) -> None:
    """Draw a line; where samples were folded, the whole stretch between their extremes."""
    dash = _dash(line, number)
    previous: tuple[float, float] | None = None
    for index, value in enumerate(line.values):
        x = scale.x(line.times[index], raster)
        if value is None:
            previous = None
            continue
        here = x, scale.y(value, raster)
        if line.step:
            _draw_step(raster, line, scale, index, (previous, here), (style, dash))
        else:
            raster.stroke(previous or here, here, style, dash)
        _draw_band(raster, line, scale, index, style)
        previous = here


def _dash(line: Line, number: int) -> int:
    if line.role is Role.MAIN:
        return 1
    return 2 if line.role in (Role.FAINT, Role.PEER) else DASHES[min(number, len(DASHES) - 1)]


def _draw_step(
    raster: Raster,
    line: Line,
    scale: Scale,
    index: int,
    ends: tuple[tuple[float, float] | None, tuple[float, float]],
    pen: tuple[str, int],
) -> None:
    previous, here = ends
    begin = scale.x(line.times[index - 1] if index else line.times[index], raster)
    if previous is not None:
        raster.stroke(previous, (begin, here[1]), *pen)
    raster.stroke((begin, here[1]), here, *pen)
    if line.role is Role.MAIN:
        _shade(raster, begin, here, pen[0])


def _draw_band(raster: Raster, line: Line, scale: Scale, index: int, style: str) -> None:
    low, high = (line.low or line.values)[index], (line.high or line.values)[index]
    if low is None or high is None or low == high:
        return
    x = scale.x(line.times[index], raster)
    raster.stroke((x, scale.y(low, raster)), (x, scale.y(high, raster)), style)


def _shade(raster: Raster, begin: float, end: tuple[float, float], style: str) -> None:
    """Fill below a step with every other dot, so that the line itself stays the darkest."""
    for x in range(round(begin), round(end[0]) + 1):
        for y in range(0, round(end[1]), 2):
            if x % 2 == 0:
                raster.dot(x, y, style)


def transfer(canvas: Canvas, raster: Raster, area: Area) -> None:
    """Put every cell with a dot in it onto the page."""
    for row in range(area.rows):
        for column in range(area.width):
            char = raster.char(column, row)
            if char:
                canvas.put(area.left + column, area.top + row, char, raster.styles[row][column])

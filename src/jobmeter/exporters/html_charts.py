"""Charts of a page without a script: SVG that stretches with its window while its words keep their size.

The drawing lies in an inner picture of 1000 x 100 units that is stretched to whatever room there is; words and
marks stand in the outer one, placed in percent. Zones show how near a limit is dangerous.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

from jobmeter.exporters import html_text, plot_legend, plot_theme, plot_ticks
from jobmeter.model.panel import Chart, Line, Panel, Quantity, Role

PANELS = ("memory", "loss", "cpu", "gpu", "gpu_memory", "throughput", "io")
"""What a page shows, in this order, as far as it was measured."""
_WIDTH, _HEIGHT = 1000, 100
_HEADROOM = 1.06
_NEAR = 0.5
"""A limit less than twice the largest value away belongs into the picture."""
_TICKS = 4
_DRAWN = (Role.PEER, Role.FAINT, Role.OTHER, Role.MAIN)
_MOST_LINES = 12
_APART_PERCENT, _STEPS = 5.0, 8
_UNNAMED = frozenset((plot_legend.Sign.TITLE, plot_legend.Sign.LIMIT, plot_legend.Sign.NONE))
"""The caption names the panel, and limits are named by whether they are in sight here."""


@dataclass(frozen=True, slots=True)
class Zones:
    """From which shares of a limit on a value is worrying, and dangerous."""

    warning: float
    critical: float


def charts(chart: Chart, zones: Zones) -> str:
    """Draw the panels that a report is about."""
    by_name = {made.name: made for made in chart.panels}
    return "".join(_figure(chart, by_name[name], zones) for name in PANELS if name in by_name)


@dataclass(frozen=True, slots=True)
class _Scale:
    """How values become heights."""

    bottom: float
    top: float
    logarithmic: bool

    def height(self, value: float) -> float:
        """Give the distance from the top, from 0 to 1."""
        low, high, at = self.bottom, self.top, value
        if self.logarithmic:
            low, high, at = log10(low), log10(high), log10(max(value, low))
        share = (at - low) / (high - low) if high > low else 0.0
        return min(max(1 - share, 0.0), 1.0)


def _scale(made: Panel) -> _Scale:
    limits = [limit.value for limit in made.limits if limit.value * _NEAR <= made.top]
    top = max(made.top, *limits) if limits else made.top
    if not made.logarithmic:
        top = made.bottom + (top - made.bottom) * _HEADROOM
    return _Scale(made.bottom, top or 1.0, made.logarithmic)


def _figure(chart: Chart, made: Panel, zones: Zones) -> str:
    scale = _scale(made)
    spoken = html_text.line("; ".join(item.words for item in plot_legend.items(made, chart)))
    drawing = "".join((*_zones(made, scale, zones), *_grid(made, scale), *_lines(chart, made, scale)))
    words = "".join((*_tick_words(made, scale), *_marks(chart), *_limits(made, scale)))
    return (
        f"<figure><figcaption><b>{html_text.line(plot_ticks.heading(made))}</b>{_legend(chart, made)}</figcaption>"
        f'<svg class="plot" role="img" aria-label="{spoken}">'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">{drawing}</svg>{words}</svg>'
        f"{_axis(chart)}{_note(made)}</figure>"
    )


def _note(made: Panel) -> str:
    return f'<p class="note">{html_text.line(made.note)}</p>' if made.note else ""


def _legend(chart: Chart, made: Panel) -> str:
    """Name the lines, and what else is drawn."""
    items = []
    for item in plot_legend.items(made, chart):
        if item.sign in _UNNAMED:
            continue
        slot = "" if item.line is None else plot_theme.slot_of(chart, made, item.line)
        items.append(_item(slot, item.words))
    scale = _scale(made)
    for limit in made.limits:
        words = f"{limit.label} {plot_ticks.show(made.quantity, limit.value)}"
        in_sight = limit.value <= scale.top
        items.append(
            _item("limit-colour" if in_sight else "", words if in_sight else f"far below the {words}")
        )
    return "".join(items)


def _item(slot: str, words: str) -> str:
    swatch = f'<i class="{slot}"></i>' if slot else ""
    return f"<span>{swatch}{html_text.line(words)}</span>"


def _zones(made: Panel, scale: _Scale, zones: Zones) -> Iterator[str]:
    """Shade what lies near the limit of memory."""
    if made.quantity is not Quantity.BYTES or not made.limits:
        return
    limit = min(limit.value for limit in made.limits)
    edges = (
        ("warning", zones.warning * limit, zones.critical * limit),
        ("critical", zones.critical * limit, None),
    )
    for name, begin, end in edges:
        high = _HEIGHT * scale.height(begin)
        low = _HEIGHT * scale.height(end) if end is not None else 0.0
        if high - low > 0.05:
            yield f'<rect class="zone {name}" y="{low:.2f}" width="{_WIDTH}" height="{high - low:.2f}"/>'


def _grid(made: Panel, scale: _Scale) -> Iterator[str]:
    for value, _ in _ticks(made, scale):
        at = _HEIGHT * scale.height(value)
        yield f'<line class="grid" x2="{_WIDTH}" y1="{at:.2f}" y2="{at:.2f}"/>'


def _ticks(made: Panel, scale: _Scale) -> list[tuple[float, str]]:
    headroom = (scale.top - scale.bottom) / (made.top - made.bottom) if made.top > made.bottom else 1.0
    return plot_ticks.panel_ticks(made, _TICKS, headroom if not made.logarithmic else 1.0)


def _tick_words(made: Panel, scale: _Scale) -> Iterator[str]:
    for value, words in _ticks(made, scale):
        at = 100 * scale.height(value)
        # the word stands on its line, below it where it would leave the picture
        shift = "1.1em" if at < 9 else "-0.3em"
        yield f'<text x="2" y="{at:.2f}%" dy="{shift}">{html_text.line(words)}</text>'


def _lines(chart: Chart, made: Panel, scale: _Scale) -> Iterator[str]:
    ordered = sorted(range(len(made.lines)), key=lambda number: _order(made.lines[number]))
    for number in ordered[-_MOST_LINES:]:
        line = made.lines[number]
        if line.role not in _DRAWN:
            continue
        slot = plot_theme.slot_of(chart, made, number)
        if line.low is not None and line.high is not None and line.role is not Role.PEER:
            yield f'<path class="band {slot}" d="{_band(chart, line, scale)}"/>'
        yield f'<path class="line {line.role.value} {slot}" d="{_path(chart, line, scale)}"/>'


def _order(line: Line) -> int:
    return _DRAWN.index(line.role) if line.role in _DRAWN else -1


def _points(
    chart: Chart, times: Sequence[float], values: Sequence[float | None], scale: _Scale
) -> Iterator[tuple[float, float] | None]:
    seconds = chart.seconds or 1.0
    for moment, value in zip(times, values, strict=True):
        yield None if value is None else (_WIDTH * moment / seconds, _HEIGHT * scale.height(value))


def _path(chart: Chart, line: Line, scale: _Scale) -> str:
    """Write a line; it breaks where nothing was measured, and a lone point is a dot of no length."""
    pieces: list[str] = []
    fresh = True
    for point in _points(chart, line.times, line.values, scale):
        if point is None:
            fresh = True
            continue
        x, y = point
        pieces.append(f"M{x:.1f} {y:.2f}h0" if fresh else f"L{x:.1f} {y:.2f}")
        fresh = False
    return "".join(pieces)


def _band(chart: Chart, line: Line, scale: _Scale) -> str:
    """Outline what a line's folded samples spanned, stretch by stretch."""
    lows = _points(chart, line.times, line.low or (), scale)
    highs = _points(chart, line.times, line.high or (), scale)
    pieces: list[str] = []
    stretch: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for low, high in (*zip(lows, highs, strict=True), (None, None)):
        if low is not None and high is not None:
            stretch.append((low, high))
            continue
        if stretch:
            outline = [one for _, one in stretch] + [one for one, _ in reversed(stretch)]
            pieces.append("M" + "L".join(f"{x:.1f} {y:.2f}" for x, y in outline) + "Z")
        stretch = []
    return "".join(pieces)


def _limits(made: Panel, scale: _Scale) -> Iterator[str]:
    for limit in made.limits:
        if limit.value <= scale.top:
            at = 100 * scale.height(limit.value)
            yield f'<line class="limit" x1="0" x2="100%" y1="{at:.2f}%" y2="{at:.2f}%"/>'


def _marks(chart: Chart) -> Iterator[str]:
    """Draw when something happened; numbers that would lie on one another stand on steps."""
    level, before = 0, -_APART_PERCENT
    for number, mark in enumerate(chart.marks, 1):
        at = 100 * mark.seconds / (chart.seconds or 1.0)
        level = level + 1 if at - before < _APART_PERCENT else 0
        before = at
        severe = " severe" if mark.severe else ""
        side = 'dx="-3" text-anchor="end"' if at > 90 else 'dx="3"'
        yield (
            f'<line class="mark{severe}" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="100%"/>'
            f'<text class="mark{severe}" x="{at:.2f}%" y="100%" {side} dy="{-4 - 14 * (level % _STEPS)}">'
            f"{number}</text>"
        )


def _axis(chart: Chart) -> str:
    """Write round moments below; only those that have room on a phone."""
    words = []
    for place, name in plot_ticks.axis_ticks(chart, _TICKS):
        at = 100 * place / (chart.seconds or 1.0)
        anchor = "start" if at < 5 else "end" if at > 95 else "middle"
        words.append(f'<text x="{at:.2f}%" y="1em" text-anchor="{anchor}">{html_text.line(name)}</text>')
    return f'<svg class="axis" aria-hidden="true">{"".join(words)}</svg>'


def mark_list(chart: Chart) -> str:
    """Say what the numbers in the charts stand for."""
    rows = "".join(
        f"<li{' class=severe' if mark.severe else ''}><b>{number}</b> {plot_ticks.where(chart, mark.seconds)} "
        f"{html_text.line(mark.label)}</li>"
        for number, mark in enumerate(chart.marks, 1)
    )
    return f'<ol class="marks">{rows}</ol>' if rows else ""

"""One panel drawn on matplotlib axes: lines, bands, stacks, limits, peaks, marks."""

import math
from typing import TYPE_CHECKING, Any

from jobmeter.exporters import plot_ticks
from jobmeter.exporters.plot_theme import Theme, colour_of
from jobmeter.model.panel import Chart, Line, Panel, Peak, Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 8.0
HEADROOM = 1.06
FEW_POINTS = 60
FAINT_DASH = (0, (4, 2))
LIMIT_DASH = (0, (5, 3))


def draw(axes: "Axes", chart: Chart, made: Panel, theme: Theme, pixels: float) -> None:
    """Draw a panel on empty axes of so many pixels height."""
    axes.set_xlim(0, chart.seconds or 1.0)
    axes.set_ylim(0, made.top * HEADROOM)
    _dress(axes, chart, made, theme, pixels)
    for phase in chart.phases:
        axes.axvspan(phase.start, phase.end, color=theme.shade, lw=0, zorder=0.5)
    _draw_stack(axes, chart, made, theme)
    for number, line in enumerate(made.lines):
        if line.role is not Role.STACKED:
            _draw_line(axes, line, colour_of(chart, made, number, theme), filled=_filled(made, line))
    for limit in made.limits:
        if limit.value <= made.top:
            axes.axhline(limit.value, color=theme.limit, lw=1.1, ls=LIMIT_DASH, zorder=2.2)
    for mark in chart.marks:
        colour = theme.limit if mark.severe else theme.muted
        axes.axvline(mark.seconds, color=colour, lw=0.9, ls=(0, (1.5, 2.5)), zorder=1.5)
    for peak in made.peaks:
        _draw_peak(axes, chart, peak, theme)


def number_marks(axes: "Axes", chart: Chart, theme: Theme) -> None:
    """Write the number of each mark beside the top of its line."""
    for number, mark in enumerate(chart.marks, 1):
        axes.annotate(
            str(number),
            (mark.seconds, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-3 if mark.seconds > 0.98 * chart.seconds else 3, -3),
            textcoords="offset points",
            fontsize=SMALL,
            color=theme.limit if mark.severe else theme.muted,
            ha="right" if mark.seconds > 0.98 * chart.seconds else "left",
            va="top",
        )


def _dress(axes: "Axes", chart: Chart, made: Panel, theme: Theme, pixels: float) -> None:
    axes.set_facecolor(theme.background)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.axis)
    axes.grid(True, axis="both", color=theme.grid, lw=0.8)
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=theme.muted, pad=5)
    values = plot_ticks.value_ticks(made.quantity, made.top * HEADROOM, max(2, int(pixels / 28)))
    axes.set_yticks(values, [plot_ticks.tick(made.quantity, value) for value in values])
    moments = plot_ticks.time_ticks(0.0, chart.seconds, 8)
    axes.set_xticks(moments, [plot_ticks.moment(seconds) for seconds in moments])


def _filled(made: Panel, line: Line) -> bool:
    return line.step and line.role is Role.MAIN and made.lines[0].role is not Role.STACKED


def _numbers(values: tuple[float | None, ...]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _draw_stack(axes: "Axes", chart: Chart, made: Panel, theme: Theme) -> None:
    layers = [(number, line) for number, line in enumerate(made.lines) if line.role is Role.STACKED]
    if not layers:
        return
    first = layers[0][1]
    # the first point of a step only says where it begins: it has no height of its own
    heights = [[value or 0.0 for value in line.values] for _, line in layers]
    colours = [colour_of(chart, made, number, theme) for number, _ in layers]
    step: dict[str, Any] = {"step": "pre"} if first.step else {}
    axes.stackplot(first.times, *heights, colors=colours, alpha=0.72, lw=0, zorder=2, **step)


def _draw_line(axes: "Axes", line: Line, colour: str, *, filled: bool) -> None:
    values = _numbers(line.values)
    faint = line.role is Role.FAINT
    width = 1.6 if line.role is Role.MAIN else 1.2
    sparse = not line.step and (len(line.times) <= FEW_POINTS or None in line.values)
    axes.plot(
        line.times,
        values,
        color=colour,
        lw=1.0 if faint else width,
        ls=FAINT_DASH if faint else "-",
        drawstyle="steps-pre" if line.step else "default",
        marker="o" if sparse else None,
        markersize=2.6,
        solid_joinstyle="round",
        clip_on=False,
        zorder=2.5 + (line.role is Role.MAIN),
    )
    step: dict[str, Any] = {"step": "pre"} if line.step else {}
    if line.low is not None and line.high is not None:
        axes.fill_between(
            line.times,
            _numbers(line.low),
            _numbers(line.high),
            color=colour,
            alpha=0.25,
            lw=0,
            zorder=2,
            **step,
        )
    if filled:
        axes.fill_between(line.times, values, color=colour, alpha=0.14, lw=0, zorder=1.8, **step)


def _draw_peak(axes: "Axes", chart: Chart, peak: Peak, theme: Theme) -> None:
    """Put a dot where the peak is, a diamond where no sample saw it; the words stand in the legend."""
    axes.plot(
        [peak.seconds if peak.seconds is not None else chart.seconds],
        [peak.value],
        marker="o" if peak.sampled else "D",
        markersize=5,
        color=theme.text if peak.sampled else theme.background,
        markeredgecolor=theme.text,
        markeredgewidth=1.1,
        clip_on=False,
        zorder=5,
    )

"""One panel drawn on matplotlib axes: lines, bands, stacks, limits, peaks, marks."""

import math
from typing import TYPE_CHECKING, Any

from jobmeter.exporters import plot_canvas, plot_ticks
from jobmeter.exporters.plot_theme import Theme, colour_of
from jobmeter.model.panel import Chart, Line, Mark, Panel, Peak, Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 8.0
HEADROOM = 1.06
FEW_POINTS = 60
PEER_ALPHA = 0.45
FAINT_DASH = (0, (4, 2))
LIMIT_DASH = (0, (5, 3))


def draw(axes: "Axes", chart: Chart, made: Panel, theme: Theme, pixels: float) -> None:
    """Draw a panel on empty axes of so many pixels height."""
    axes.set_xlim(0, chart.seconds or 1.0)
    if made.logarithmic:
        axes.set_yscale("log")
        axes.minorticks_off()
    axes.set_ylim(made.bottom, _ceiling(made))
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


def _ceiling(made: Panel) -> float:
    """Leave a little room above what is highest."""
    if made.logarithmic:
        return float(made.top * (made.top / made.bottom) ** (HEADROOM - 1))
    return made.bottom + (made.top - made.bottom) * HEADROOM


def label_marks(axes: "Axes", chart: Chart, theme: Theme, letters: int) -> None:
    """Name each mark above its line, or number it where its name has no room among so many letters."""
    for mark, words, left in mark_words(chart, letters):
        axes.annotate(
            words,
            (mark.seconds, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-1 if left else 1, 2),
            textcoords="offset points",
            fontsize=SMALL - 0.5,
            color=theme.limit if mark.severe else theme.muted,
            ha="right" if left else "left",
            va="bottom",
        )


def mark_words(chart: Chart, letters: int) -> list[tuple[Mark, str, bool]]:
    """Say what stands above each mark, and whether it reaches to the left: only the last may, at the right end."""
    per_second = letters / (chart.seconds or 1.0)
    groups = _near_one_another(chart, 3 / per_second)
    begins = [group[0][1].seconds for group in groups]
    found = []
    for index, group in enumerate(groups):
        (first, mark), (last, _) = group[0], group[-1]
        number = str(first) if first == last else f"{first}-{last}"
        words = f"{number} {plot_canvas.printable(mark.label)}" if first == last else number
        after = begins[index + 1] if index + 1 < len(groups) else chart.seconds
        left = index + 1 == len(groups) and len(words) + 1 > (after - mark.seconds) * per_second
        before = begins[index - 1] if index else 0.0
        room = (mark.seconds - before if left else after - mark.seconds) * per_second
        fits = len(words) + (6 if left else 1) <= room
        found.append(
            (mark, words if fits else number, left and (fits or mark.seconds > 0.98 * chart.seconds))
        )
    return found


def _near_one_another(chart: Chart, distance: float) -> list[list[tuple[int, Mark]]]:
    """Gather marks whose numbers would be written over one another."""
    groups: list[list[tuple[int, Mark]]] = []
    for number, mark in enumerate(chart.marks, 1):
        if groups and mark.seconds - groups[-1][-1][1].seconds < distance:
            groups[-1].append((number, mark))
        else:
            groups.append([(number, mark)])
    return groups


def _dress(axes: "Axes", chart: Chart, made: Panel, theme: Theme, pixels: float) -> None:
    axes.set_facecolor(theme.background)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.axis)
    axes.grid(True, axis="both", color=theme.grid, lw=0.8)
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=theme.muted, pad=5)
    values = plot_ticks.panel_ticks(made, max(2, int(pixels / 28)), HEADROOM)
    axes.set_yticks([value for value, _ in values], [words for _, words in values])
    places = plot_ticks.axis_ticks(chart, 8)
    axes.set_xticks([place for place, _ in places], [words for _, words in places])


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
    faint, peer = line.role is Role.FAINT, line.role is Role.PEER
    width = 1.6 if line.role is Role.MAIN else 1.2
    sparse = not line.step and not peer and (len(line.times) <= FEW_POINTS or None in line.values)
    axes.plot(
        line.times,
        values,
        color=colour,
        lw=0.9 if peer else 1.0 if faint else width,
        alpha=PEER_ALPHA if peer else None,
        ls=FAINT_DASH if faint else "-",
        drawstyle="steps-pre" if line.step else "default",
        marker="o" if sparse else None,
        markersize=2.6,
        solid_joinstyle="round",
        clip_on=False,
        zorder=2.3 if peer else 2.5 + (line.role is Role.MAIN),
    )
    step: dict[str, Any] = {"step": "pre"} if line.step else {}
    if line.low is not None and line.high is not None and not peer:
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

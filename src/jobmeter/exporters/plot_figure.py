"""Plots as PNG, SVG and PDF by matplotlib, without pyplot: no window, no display, no global state.

Names and commands are text, never formulas: a `$` in a command line must not start mathematics.
"""

import io
import logging
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobmeter.exporters import plot_axes, plot_canvas, plot_legend, plot_theme, plot_ticks
from jobmeter.exporters.plot_theme import THEMES, Theme
from jobmeter.model import text as texts
from jobmeter.model.panel import Chart, Mark, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 1400
PANEL_HEIGHT = 118
"""Of a panel's axes where no height was asked for; in hundredths of an inch, as all of a layout."""
LEFT, RIGHT, ROW, GAP = 86.0, 34.0, 17.0, 16.0
HEADER, FOOT, MARK_ROW = 64.0, 22.0, 11.0
SWATCH, SPACE, LETTER, HEADING_LETTER, TITLE_LETTER = 20.0, 16.0, 5.7, 8.5, 11.0
MARK_LETTER, CAPITAL = 5.4, 2.4
"""A capital is wider than other letters by so much."""
FACT_GAP = "  ·  "

METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"Creator": "jobmeter", "Producer": None, "CreationDate": None},
    "png": {"Software": "jobmeter"},
    "svg": {"Creator": "jobmeter", "Date": None},
}
"""No dates: the same run gives the same bytes."""

SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Inter", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans"],
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "jobmeter",
    "text.parse_math": False,
}


@dataclass(slots=True)
class Page:
    """A figure being filled from the top down."""

    figure: "Figure"
    width: float
    height: float
    theme: Theme
    y: float = 0.0

    def say(self, x: float, words: str, *, size: float, colour: str, bold: bool = False) -> float:
        """Write words on the current row and return where they end."""
        text = self.figure.text(
            x / self.width,
            1 - self.y / self.height,
            plot_canvas.printable(words),
            fontsize=size,
            color=colour,
            fontweight="bold" if bold else "normal",
            va="top",
            ha="left",
        )
        return x + text.get_window_extent().width / self.figure.dpi * 100


def render(chart: Chart, *, suffix: str, theme: str, width: int | None, height: int | None) -> bytes:
    """Draw a chart as an image file of so many pixels."""
    # where the home cannot be written matplotlib keeps its cache elsewhere; that is no news to the reader
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colours = THEMES[theme]
    pixels_wide = width or WIDTH
    dpi = min(max(pixels_wide / 10, 100), 200)
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        # a name in a script the font does not have is drawn as boxes; that is no news to the reader
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        pixels_high = height or round(_natural_height(chart, pixels_wide / dpi * 100) * dpi / 100)
        figure = Figure(figsize=(pixels_wide / dpi, pixels_high / dpi), dpi=dpi, facecolor=colours.background)
        FigureCanvasAgg(figure)
        page = Page(figure, pixels_wide / dpi * 100, pixels_high / dpi * 100, colours)
        _fill(page, chart)
        file = io.BytesIO()
        figure.savefig(file, format=suffix, dpi=dpi, facecolor=colours.background, metadata=METADATA[suffix])
    return file.getvalue()


def _natural_height(chart: Chart, width: float) -> float:
    return _fixed_height(chart, width) + len(chart.panels) * PANEL_HEIGHT


def _fixed_height(chart: Chart, width: float) -> float:
    """Add up all that is not axes."""
    rows = sum(len(_legend_rows(made, chart, width)) for made in chart.panels)
    notes = len(chart.notes) + len(_mark_rows(chart, width))
    marks = MARK_ROW if chart.marks and chart.panels else 0
    below = (ROW if chart.panels else 0) + notes * ROW + FOOT
    return HEADER + rows * ROW + len(chart.panels) * GAP + marks + below


def _legend_rows(made: Panel, chart: Chart, width: float) -> list[list[plot_legend.Item]]:
    """Deal the words above a panel into rows; the width of a word is estimated, so that pages agree."""
    title, *items = plot_legend.items(made, chart)
    rows = [[title]]
    used = LEFT + HEADING_LETTER * len(title.words) + SPACE
    for item in items:
        needed = SWATCH + _estimated(item.words) + SPACE
        if used + needed > width - RIGHT:
            rows.append([])
            used = LEFT
        rows[-1].append(item)
        used += needed
    if made.note:
        rows.append([plot_legend.Item(plot_legend.Sign.NONE, made.note)])
    return rows


def _estimated(words: str) -> float:
    return LETTER * len(words) + CAPITAL * sum(letter.isupper() for letter in words)


def _fill(page: Page, chart: Chart) -> None:
    letters = int((page.width - LEFT - RIGHT) / TITLE_LETTER)
    page.y = 16
    title = texts.cut(plot_canvas.printable(chart.title), letters)
    page.say(LEFT, title, size=13, colour=page.theme.text, bold=True)
    page.y += 24
    facts = [chart.run_id]
    for fact in chart.facts:
        if LETTER * len(FACT_GAP.join((*facts, fact))) > page.width - LEFT - RIGHT:
            break
        facts.append(fact)
    page.say(LEFT, FACT_GAP.join(facts), size=8.5, colour=page.theme.muted)
    page.y = HEADER
    if chart.panels:
        _panels(page, chart)
    _notes(page, chart)


def _panels(page: Page, chart: Chart) -> None:
    free = page.height - _fixed_height(chart, page.width)
    tall = max(free / len(chart.panels), 20.0)
    for number, made in enumerate(chart.panels):
        _legend(page, chart, made)
        if number == 0 and chart.marks:
            page.y += MARK_ROW
        axes = page.figure.add_axes(
            (
                LEFT / page.width,
                1 - (page.y + tall) / page.height,
                (page.width - LEFT - RIGHT) / page.width,
                tall / page.height,
            )
        )
        plot_axes.draw(axes, chart, made, page.theme, tall)
        if number == 0:
            letters = int((page.width - LEFT - RIGHT) / MARK_LETTER)
            plot_axes.label_marks(axes, chart, page.theme, letters)
        if number < len(chart.panels) - 1:
            axes.tick_params(labelbottom=False)
        page.y += tall + GAP
    page.y += ROW


def _legend(page: Page, chart: Chart, made: Panel) -> None:
    """Name the panel and its lines above the axes, where nothing can be covered."""
    for row in _legend_rows(made, chart, page.width):
        x = LEFT
        for item in row:
            if item.sign is plot_legend.Sign.TITLE:
                x = page.say(x, item.words, size=10, colour=page.theme.text, bold=True) + SPACE
                continue
            if item.sign is not plot_legend.Sign.NONE:
                _swatch(page, x, item, _colour(chart, made, item, page.theme))
                x += SWATCH
            x = page.say(x, item.words, size=8.5, colour=page.theme.muted) + SPACE
        page.y += ROW


def _colour(chart: Chart, made: Panel, item: plot_legend.Item, theme: Theme) -> str:
    if item.line is not None:
        return plot_theme.colour_of(chart, made, item.line, theme)
    return theme.limit if item.sign is plot_legend.Sign.LIMIT else theme.text


def _swatch(page: Page, x: float, item: plot_legend.Item, colour: str) -> None:
    """Draw beside the words of a legend what they name: a line, a dash, a dot, a diamond."""
    from matplotlib.lines import Line2D

    y = 1 - (page.y + 6.5) / page.height
    dash: dict[plot_legend.Sign, Any] = {
        plot_legend.Sign.FAINT: (0, (2.5, 1.5)),
        plot_legend.Sign.LIMIT: (0, (2.5, 1.5)),
    }
    marker = {plot_legend.Sign.PEAK: "o", plot_legend.Sign.BETWEEN: "D"}.get(item.sign)
    if marker is not None:
        hollow = item.sign is plot_legend.Sign.BETWEEN
        dot = Line2D([(x + 7) / page.width], [y], color=colour, marker=marker, markersize=4.5)
        dot.set_markerfacecolor(page.theme.background if hollow else colour)
        page.figure.add_artist(dot)
        return
    peers = item.sign is plot_legend.Sign.PEERS
    width = 1.2 if item.sign in dash or peers else 2.4
    ends = [x / page.width, (x + 14) / page.width]
    drawn = Line2D(ends, [y, y], color=colour, lw=width, ls=dash.get(item.sign, "-"))
    drawn.set_alpha(plot_axes.PEER_ALPHA if peers else None)
    page.figure.add_artist(drawn)


def _mark_rows(chart: Chart, width: float) -> list[list[tuple[Mark, str]]]:
    """Deal what happened into rows below the panels."""
    rows: list[list[tuple[Mark, str]]] = []
    used = width
    for number, mark in enumerate(chart.marks if chart.panels else (), 1):
        words = f"{number}  {plot_ticks.where(chart, mark.seconds)} {mark.label}"
        needed = _estimated(words) + SPACE
        if used + needed > width - RIGHT:
            rows.append([])
            used = LEFT
        rows[-1].append((mark, words))
        used += needed
    return rows


def _notes(page: Page, chart: Chart) -> None:
    for row in _mark_rows(chart, page.width):
        x = LEFT
        for mark, words in row:
            colour = page.theme.limit if mark.severe else page.theme.muted
            x = page.say(x, words, size=8.5, colour=colour) + SPACE
        page.y += ROW
    for note in chart.notes:
        page.say(LEFT, note, size=8.5, colour=page.theme.muted)
        page.y += ROW

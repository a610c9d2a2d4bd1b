"""The colours of a plot, light and dark; lines stay apart for people who do not tell red from green."""

from dataclasses import dataclass

from jobmeter.model.panel import Chart, Panel, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Colours as hexadecimal RGB."""

    background: str
    text: str
    muted: str
    grid: str
    axis: str
    faint: str
    limit: str
    shade: str
    lines: tuple[str, ...]


def slot_of(chart: Chart, made: Panel, number: int) -> str:
    """Choose the colour of a line by name: `c0`, `c1`, ..., `cfaint` or `ctext`.

    A command keeps its colour in every stack of the chart.
    """
    line = made.lines[number]
    if line.role is Role.PEER:
        return "c0"
    if line.role is Role.FAINT or line.label == "other":
        return "cfaint"
    if line.role is Role.STACKED:
        stacks = [
            drawn.label for panel in chart.panels for drawn in panel.lines if drawn.role is Role.STACKED
        ]
        order = [label for label in dict.fromkeys(stacks) if label != "other"]
        return f"c{order.index(line.label) % COLOURS}"
    if made.lines[0].role is Role.STACKED:
        return "ctext"
    return f"c{number % COLOURS}"


def colour_of(chart: Chart, made: Panel, number: int, theme: Theme) -> str:
    """Choose the colour of a line in a theme."""
    slot = slot_of(chart, made, number)
    return {"cfaint": theme.faint, "ctext": theme.text}.get(slot) or theme.lines[int(slot[1:])]


COLOURS = 8

THEMES: dict[str, Theme] = {
    "dark": Theme(
        background="#0f141b",
        text="#e8edf4",
        muted="#96a1b0",
        grid="#222a35",
        axis="#3a4454",
        faint="#7c8798",
        limit="#f87171",
        shade="#1c2430",
        lines=("#5ea2ff", "#f2a33a", "#3fcf9b", "#c08bff", "#f583b6", "#4fd0e0", "#c7cf5f", "#b9906b"),
    ),
    "light": Theme(
        background="#ffffff",
        text="#1b2330",
        muted="#5c6777",
        grid="#ebeef2",
        axis="#c5ccd6",
        faint="#98a3b3",
        limit="#d6303c",
        shade="#f2f4f7",
        lines=("#1f6fe5", "#d97a00", "#0a9669", "#8b45e0", "#d43a82", "#0e8fa8", "#7c8414", "#8a5a32"),
    ),
}

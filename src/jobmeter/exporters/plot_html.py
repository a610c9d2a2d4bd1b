"""Plots as one HTML file: data, style and script inside, nothing fetched, nothing to install.

What a run is called and ran is somebody's text: it enters the page escaped, and the policy in the head lets
only this very script and style run, by their hashes.
"""

import base64
import hashlib
import html
import json
import re
from importlib import resources

from jobmeter.exporters import plot_canvas, plot_legend, plot_theme, plot_ticks
from jobmeter.model.panel import Chart, Line, Panel, Role

SCRIPTS = ("plot_words.js", "plot_draw.js", "plot_look.js", "plot_build.js")
SIGNS = {
    plot_legend.Sign.LIMIT: "limit-colour dash",
    plot_legend.Sign.PEAK: "dot",
    plot_legend.Sign.BETWEEN: "diamond",
}


def render(chart: Chart, *, theme: str | None) -> str:
    """Write a chart as a page; without a theme it follows the reader's light or dark."""
    script, style = _script(chart), _style()
    allowed = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    parts = {
        "facts": "".join(f"<li>{_text(fact)}</li>" for fact in (chart.run_id, *chart.facts)),
        "marks": _marks(chart),
        "notes": _list("notes", [_text(note) for note in chart.notes]),
        "policy": f"default-src 'none'; base-uri 'none'; {allowed}",
        "script": script,
        "style": style,
        "table": _table(chart),
        "theme": f' data-theme="{theme}"' if theme else "",
        "title": _text(chart.title),
    }
    # one pass: a name that reads {{script}} stays the name it is
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("plot.html"))


def _asset(name: str) -> str:
    return resources.files("jobmeter.exporters").joinpath("assets", name).read_text(encoding="utf-8")


def _text(words: str) -> str:
    return html.escape(plot_canvas.printable(words))


def _hash(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def _script(chart: Chart) -> str:
    data = json.dumps(_data(chart), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # inside a script element nothing but these can end it or begin a comment
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    body = "\n".join(_asset(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\nconst CHART = {safe};\n\n{body}}})();\n'


def _style() -> str:
    dark = _variables(plot_theme.THEMES["dark"])
    light = _variables(plot_theme.THEMES["light"])
    lines = range(len(plot_theme.THEMES["light"].lines))
    classes = "\n".join(f".c{number} {{ color: var(--line-{number}); }}" for number in lines)
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f'html[data-theme="light"] {{ {light} }}\nhtml[data-theme="dark"] {{ {dark} }}\n'
        f"{classes}\n.cfaint {{ color: var(--faint); }}\n.ctext {{ color: var(--text); }}\n"
        f".limit-colour {{ color: var(--limit); }}\n{_asset('plot.css')}"
    )


def _variables(theme: plot_theme.Theme) -> str:
    names = ("background", "text", "muted", "grid", "axis", "faint", "limit", "shade")
    plain = [f"--{name}: {getattr(theme, name)};" for name in names]
    return " ".join([*plain, *(f"--line-{number}: {colour};" for number, colour in enumerate(theme.lines))])


def _data(chart: Chart) -> dict[str, object]:
    return {
        "seconds": chart.seconds,
        "started_at": chart.started_at,
        "first_step": chart.first_step,
        "marks": [
            {"seconds": mark.seconds, "label": plot_canvas.printable(mark.label), "severe": mark.severe}
            for mark in chart.marks
        ],
        "phases": [
            {"start": phase.start, "end": phase.end, "label": plot_canvas.printable(phase.label)}
            for phase in chart.phases
        ],
        "panels": [_panel(chart, made) for made in chart.panels],
    }


def _panel(chart: Chart, made: Panel) -> dict[str, object]:
    items = plot_legend.items(made, chart)
    return {
        "name": made.name,
        "heading": plot_canvas.printable(plot_ticks.heading(made)),
        "note": plot_canvas.printable(made.note),
        "quantity": made.quantity.value,
        "top": made.top,
        "bottom": made.bottom,
        "logarithmic": made.logarithmic,
        "peers": plot_canvas.printable(made.peers),
        "limits": [{"value": limit.value} for limit in made.limits],
        "peaks": [{"value": p.value, "seconds": p.seconds, "sampled": p.sampled} for p in made.peaks],
        "words": [
            {"sign": SIGNS.get(item.sign, ""), "words": plot_canvas.printable(item.words)}
            for item in items
            if item.line is None and item.sign not in (plot_legend.Sign.TITLE, plot_legend.Sign.PEAK)
        ],
        "spoken": plot_canvas.printable("; ".join(item.words for item in items)),
        "lines": [_line(chart, made, number) for number in range(len(made.lines))],
    }


def _line(chart: Chart, made: Panel, number: int) -> dict[str, object]:
    line = made.lines[number]
    written: dict[str, object] = {
        "label": plot_canvas.printable(line.label),
        "key": plot_canvas.printable(line.key),
        "teller": plot_canvas.printable(line.source),
        "about": plot_canvas.printable(line.about),
        "role": line.role.value,
        "step": line.step,
        "named": line.role is not Role.STACKED and plot_legend.name_in(made, number) != line.label,
        "colour": plot_theme.slot_of(chart, made, number),
        "rest": line.figure or _largest(chart, made, line),
        "times": [round(seconds, 3) for seconds in line.times],
        "values": _numbers(line.values),
    }
    if line.low is not None and line.high is not None:
        written |= {"low": _numbers(line.low), "high": _numbers(line.high)}
    return written


def _largest(chart: Chart, made: Panel, line: Line) -> str:
    """Say what stands beside a line while nothing is pointed at."""
    for item, peak in zip(plot_legend.peak_items(made, chart), made.peaks, strict=True):
        if peak.sampled and peak.key == line.key and line.role is Role.MAIN:
            return item.words
    high = [value for value in line.high or line.values if value is not None]
    return f"max {plot_ticks.tick(made.quantity, max(high))}" if high else ""


def _numbers(values: tuple[float | None, ...]) -> list[float | None]:
    """Six significant digits: more than any screen shows, a third of the bytes."""
    return [None if value is None else float(f"{value:.6g}") for value in values]


def _list(name: str, items: list[str]) -> str:
    return f'<ul class="{name}">{"".join(f"<li>{item}</li>" for item in items)}</ul>' if items else ""


def _marks(chart: Chart) -> str:
    return _list(
        "marks",
        [
            f"<span{' class=severe' if mark.severe else ''}>{number}</span> "
            f"{plot_ticks.where(chart, mark.seconds)} {_text(mark.label)}"
            for number, mark in enumerate(chart.marks, 1)
        ],
    )


def _table(chart: Chart) -> str:
    """List what each line means and its extremes, for readers without a script or without eyes for charts."""
    rows = "".join(
        f"<tr><td>{_text(made.title)}</td><td>{_text(plot_legend.line_name(line))}</td>"
        f'<td class="number">{extremes}</td><td>{_text(line.about)}</td></tr>'
        for made in chart.panels
        for line in made.lines
        if line.role not in (Role.STACKED, Role.PEER) and (extremes := _extremes(made, line))
    )
    if not rows:
        return ""
    head = "<tr><th>panel</th><th>line</th><th>least to most</th><th>meaning</th></tr>"
    table = f'<div class="scroll"><table>{head}{rows}</table></div>'
    return f"<details><summary>What the lines mean</summary>{table}</details>"


def _extremes(made: Panel, line: Line) -> str:
    low = [value for value in line.low or line.values if value is not None]
    high = [value for value in line.high or line.values if value is not None]
    if not high:
        return ""
    return f"{plot_ticks.show(made.quantity, min(low))} to {plot_ticks.show(made.quantity, max(high))}"

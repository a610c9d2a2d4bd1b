"""A run's report as one HTML file: style and pictures inside, no script, nothing fetched, nothing to install.

What a job is called, prints and is configured with enters escaped and without secrets (`html_text`); the policy
in the head lets nothing run and nothing be loaded, whatever slipped through.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from jobmeter.exporters import html_charts, html_parts, html_text, plot_theme
from jobmeter.exporters.html_charts import Zones
from jobmeter.model.panel import Chart
from jobmeter.model.report import Report
from jobmeter.model.view import RunView

_COLOURS = ("background", "text", "muted", "grid", "axis", "faint", "limit", "shade")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All that a report shows."""

    view: RunView
    report: Report
    chart: Chart
    zones: Zones
    output_searched: bool
    """Whether any of the job's output could be read: what was not searched has no number of errors."""
    made_by: str


def render(page: Page) -> str:
    """Write the page."""
    style = _style()
    run, report = page.view.run, page.report
    parts = {
        "policy": f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '{_hash(style)}'",
        "style": style,
        "title": html_text.line(page.chart.title or run.run_id),
        "facts": "".join(f"<li>{html_text.line(fact)}</li>" for fact in (run.run_id, *page.chart.facts)),
        "summary": html_parts.summary(run, report, output_searched=page.output_searched),
        "recommendations": html_parts.recommendations(report.recommendations),
        "charts": _charts(page),
        "findings": html_parts.findings(report.findings, run),
        "errors": html_parts.log_errors(report.log_errors, run),
        "processes": html_parts.processes(page.view.processes),
        "config": html_parts.config(run),
        "provenance": html_parts.provenance(run),
        "made": html_text.line(page.made_by),
    }
    # one pass: a name that reads {{style}} stays the name it is
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("report.html"))


def _charts(page: Page) -> str:
    drawn = html_charts.charts(page.chart, page.zones)
    if not drawn:
        # only then is it worth saying what could not be drawn
        drawn = "".join(f'<p class="note">{html_text.prose(note)}</p>' for note in page.chart.notes)
    if not drawn:
        return ""
    return f"<section><h2>Over time</h2>{drawn}{html_charts.mark_list(page.chart)}</section>"


def _asset(name: str) -> str:
    return resources.files("jobmeter.exporters").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def _style() -> str:
    light, dark = (_variables(plot_theme.THEMES[name]) for name in ("light", "dark"))
    slots = "".join(
        f".c{number} {{ color: var(--line-{number}); }}\n" for number in range(plot_theme.COLOURS)
    )
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{slots}"
        ".cfaint { color: var(--faint); }\n.ctext { color: var(--text); }\n.limit-colour { color: var(--limit); }\n"
        f"{_asset('report.css')}"
    )


def _variables(theme: plot_theme.Theme) -> str:
    plain = [f"--{name}: {getattr(theme, name)};" for name in _COLOURS]
    return " ".join([*plain, *(f"--line-{number}: {colour};" for number, colour in enumerate(theme.lines))])

"""A run's report as a page to hand around."""

import jobmeter
from jobmeter.config import aitk
from jobmeter.exporters import html
from jobmeter.exporters.html_charts import Zones
from jobmeter.model.run import Run
from jobmeter.service import analysis, plot_told, plot_view, plotting

BUCKETS = 400
"""Points a line keeps; more is invisible at the width of a page and only makes it heavy."""


def render(home: str, ref: str) -> str:
    """Write the page of a run."""
    view, report = analysis.analyze(home, ref)
    run_id = view.run.run_id
    drawn = plot_view.view(home, ref if view.run.folder is None else view.run.folder)
    chart = plotting.describe(drawn, buckets=BUCKETS, told=plot_told.of_run(home, run_id, drawn))
    page = html.Page(
        view=view,
        report=report,
        chart=chart,
        zones=zones_of(view.run),
        made_by=f"jobmeter {jobmeter.__version__}",
    )
    return html.render(page)


def zones_of(run: Run) -> Zones:
    """Take the thresholds of the job's own config where it has any."""
    wishes = run.context.get("monitoring")
    known = dict(aitk.DEFAULTS) | (wishes if isinstance(wishes, dict) else {})
    return Zones(float(known["memory_warning_threshold"]), float(known["memory_critical_threshold"]))

"""A run's report as a page to hand around."""

import os

import jobmeter
from jobmeter.config import aitk
from jobmeter.errors import UsageError
from jobmeter.exporters import html
from jobmeter.exporters.html_charts import Zones
from jobmeter.model.run import Run
from jobmeter.service import analysis, logs, output_steps, plot_told, plot_view, plotting, runs

BUCKETS = 400
"""Points a line keeps; more is invisible at the width of a page and only makes it heavy."""


def render(home: str, ref: str) -> str:
    """Write the page of a run; a log without one has nothing to draw."""
    if ref != runs.LAST and os.path.isfile(ref):
        raise UsageError(
            f"{ref} is a file: a report is written of a run",
            hint=f"jobmeter analyze {ref}, or import it first",
        )
    view, report = analysis.analyze(home, ref)
    # a folder outside the home is known by its path only
    named = ref if os.path.isdir(ref) else view.run.run_id
    drawn = plot_view.view(home, named)
    chart = plotting.describe(drawn, buckets=BUCKETS, told=plot_told.of_run(home, named, drawn))
    page = html.Page(
        view=view,
        report=report,
        chart=chart,
        zones=zones_of(view.run),
        output_searched=_has_output(view.run),
        made_by=f"jobmeter {jobmeter.__version__}",
    )
    return html.render(page)


def _has_output(run: Run) -> bool:
    """Say whether any output of the job is there to be searched."""
    found = logs.channels(run, output_steps.STREAMS)
    return any(not channel.inherited or logs.problem(channel) is None for channel in found)


def zones_of(run: Run) -> Zones:
    """Take the thresholds of the job's own config where it has any."""
    wishes = run.context.get("monitoring")
    known = dict(aitk.DEFAULTS) | (wishes if isinstance(wishes, dict) else {})
    return Zones(float(known["memory_warning_threshold"]), float(known["memory_critical_threshold"]))

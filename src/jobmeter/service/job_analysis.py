"""The analysis of a job as ai-toolkit's page asks for it: `GET /api/jobs/{job_id}/analysis`.

Keys are those of its design. `_gb` is 2^30 bytes, times are seconds since the epoch, and what was not measured
is null, never 0. The memory of `summary` and of the timeline is the machine's, as in `MetricsSample`; that of
a log error is the job's own.
"""

import dataclasses
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.exporters import aitk as rows
from jobmeter.exporters import aitk_samples, aitk_steps
from jobmeter.model.aitk import Sample
from jobmeter.model.run import Run
from jobmeter.model.steps import Steps
from jobmeter.model.view import Event
from jobmeter.service import aitk, analysis, runs
from jobmeter.service.windows import Windows
from jobmeter.stores import Store

MOST_SAMPLES = 600
"""Points of the timeline: more than a chart is wide on a phone."""


def job_analysis(home: str, job_id: str) -> dict[str, object]:
    """Lay out what is known of a job, and what analysis says of it."""
    return runs.ask(home, job_id, of_run)


def of_run(store: Store, run: Run) -> dict[str, object]:
    """Lay out a run that is found already."""
    if run.folder is None:
        raise UsageError(f"{run.run_id} has no folder here", hint="ask where it was recorded")
    view = dataclasses.replace(
        runs.view_of(store, run, frozenset()), steps=Steps(tuple(store.steps(run.run_id)))
    )
    report = analysis.of_run(store, run)[1] if aitk.wants_analysis(run) else None
    samples = list(aitk_samples.rows(run, Windows(Path(run.folder))))
    return {
        "summary": rows.summary(view, samples, list(aitk_steps.rows(view)), report),
        "recommendations": [] if report is None else rows.recommendations(report.recommendations),
        "log_errors": [] if report is None else rows.log_errors(report.log_errors),
        "metrics_timeline": timeline(samples, view.events),
    }


def timeline(samples: Sequence[Sample], events: Sequence[Event]) -> list[dict[str, object]]:
    """Give samples over the run, its highest never left out; events stand at the sample before them."""
    kept = _thinned(samples)
    marked: dict[int, list[str]] = {}
    moments = [sample.timestamp for sample in kept]
    for event in events:
        marked.setdefault(max(bisect_right(moments, event.timestamp) - 1, 0), []).append(event.type)
    return [
        asdict(sample) | ({"events": marked[place]} if place in marked else {})
        for place, sample in enumerate(kept)
    ]


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Keep of every stretch the sample with most memory in use."""
    if len(samples) <= MOST_SAMPLES:
        return list(samples)
    edges = [len(samples) * number // MOST_SAMPLES for number in range(MOST_SAMPLES + 1)]
    stretches = (samples[begin:end] for begin, end in pairwise(edges))
    return [max(stretch, key=lambda one: one.used_memory_gb or 0.0) for stretch in stretches]

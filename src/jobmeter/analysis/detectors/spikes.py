"""Spikes: a resource rises far above its phase for a short time and comes back.

Idle noise stays under the floor; a rise from nothing is seen; a ramp and a step are phases, not spikes. What
happens again and again is the job's rhythm and told once.
"""

from collections.abc import Iterable
from functools import partial

from jobmeter.analysis import excursions
from jobmeter.analysis.episodes import Direction, Episode, episodes
from jobmeter.analysis.series import Curve, Resource, curves
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Run
from jobmeter.model.view import RunView

LOOKED_AT = (Resource.CPU, Resource.MEMORY, Resource.GPU_MEMORY)
"""Reading and writing come in bursts: a spike in them says nothing."""
_DOUBLED_PERCENT = 100.0
_MUCH_OF_LIMIT = 0.5
_MUCH_BYTES = 1 << 30


def detect(view: RunView) -> Iterable[Finding]:
    """Tell where a resource rose for a short time."""
    for curve in curves(view, *LOOKED_AT):
        found = episodes(curve, Direction.UP)
        yield from excursions.findings("spikes", "rose", curve, found, partial(_severity, view.run, curve))


def _severity(run: Run, curve: Curve, one: Episode) -> Severity:
    """Warn of memory that more than doubled and is much: between two samples it may have been more."""
    if curve.unit != "bytes":
        return Severity.INFO
    limit = run.limits.memory_bytes if curve.resource is Resource.MEMORY else None
    much = _MUCH_OF_LIMIT * limit if limit else _MUCH_BYTES
    doubled = one.percent_change is None or one.percent_change > _DOUBLED_PERCENT
    return Severity.WARNING if doubled and one.to_value >= much else Severity.INFO

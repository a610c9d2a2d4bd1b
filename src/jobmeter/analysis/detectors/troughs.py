"""Troughs: a resource falls far below its phase for a short time and comes back.

Busy CPUs or GPUs that pause are waiting for something: data, a lock, a checkpoint. What happens again and again
is the job's rhythm and told once. The end of a job is no trough; a pause without return is a `stall`. Memory that is
given back and taken again within moments is how programs work, and not told.
"""

from collections.abc import Iterable

from jobmeter.analysis import excursions
from jobmeter.analysis.episodes import Direction, episodes
from jobmeter.analysis.series import Resource, curves
from jobmeter.model.report import Finding, Severity
from jobmeter.model.view import RunView

LOOKED_AT = (Resource.CPU, Resource.MEMORY, Resource.GPU)
_BREATH_SECONDS = 5.0
"""Memory that was less for a shorter time was between two pieces of work."""


def detect(view: RunView) -> Iterable[Finding]:
    """Tell where a resource fell for a short time."""
    for curve in curves(view, *LOOKED_AT):
        found = episodes(curve, Direction.DOWN)
        if curve.resource is Resource.MEMORY:
            found = [one for one in found if one.seconds >= _BREATH_SECONDS]
        yield from excursions.findings("troughs", "fell", curve, found, lambda _: Severity.INFO)

"""Memory pressure: tasks waited for memory to be freed, swapped in or read again, for a good part of the time.

The kernel counts the time in which at least one task waited (PSI). The job's own cgroup is asked first; the
machine's counters include everybody, so what they say weighs less.

What can mislead: a job that writes large files under a limit waits for its own page cache to be written and
dropped; that is slow, but no want of memory, and is told as such.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import peaks, readings
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

OWN_KEY, HOST_KEY = "cgroup_mem_pressure", "psi_mem_some"
FELT_SHARE = 0.1
"""Of the time, in a window: systems that kill at pressure begin to look here."""
HEAVY_SHARE = 0.5
HEAVY_SECONDS = 30.0
"""More than half of the time for that long: the job hardly moves."""
LEAST_SECONDS = 10.0
LEAST_SHORT_SECONDS = 3.0
_SHORT_SHARE = 0.2
"""Of the run: a short one that spends this much under pressure counts too."""
_HALF_LIMIT = 0.5
"""A job that needs less of its limit has the rest filled with page cache."""


@dataclass(frozen=True, slots=True)
class Squeeze:
    """The time under pressure."""

    key: str
    begin: float
    end: float
    seconds: float
    waited_seconds: float

    @property
    def share(self) -> float:
        """Which part of it somebody waited."""
        return min(1.0, self.waited_seconds / self.seconds)


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how long the job, else the machine, was short of memory."""
    found = readings.first(view, OWN_KEY, HOST_KEY)
    squeeze = None if found is None else under_pressure(found)
    if found is None or squeeze is None:
        return
    lasted = float(found.spans.sum())
    is_long = squeeze.seconds >= LEAST_SECONDS
    if is_long or squeeze.seconds >= max(LEAST_SHORT_SECONDS, _SHORT_SHARE * lasted):
        yield _finding(view, squeeze)


def under_pressure(found: readings.Readings) -> Squeeze | None:
    """Gather the windows in which waiting was felt."""
    places = np.flatnonzero(found.rates >= FELT_SHARE)
    if not len(places):
        return None
    return Squeeze(
        key=found.key,
        begin=float(found.times[places[0]] - found.spans[places[0]]),
        end=float(found.times[places[-1]]),
        seconds=float(found.spans[places].sum()),
        waited_seconds=float(found.values[places].sum()),
    )


def _finding(view: RunView, squeeze: Squeeze) -> Finding:
    cached = squeeze.key == OWN_KEY and _is_cache(view)
    whose = "the job" if squeeze.key == OWN_KEY else "some task of the machine"
    why = "for its page cache to be written and dropped" if cached else "for memory"
    share = units.format_percent(100 * squeeze.share)
    return Finding(
        detector="memory_pressure",
        severity=_severity(squeeze, cached=cached),
        sentence=f"{whose} waited {why} {share} of the time for {units.format_seconds(squeeze.seconds)}",
        key=squeeze.key,
        begin=squeeze.begin,
        end=squeeze.end,
        evidence=(
            Evidence(
                sentence=f"{units.format_seconds(squeeze.waited_seconds)} of waiting in "
                f"{units.format_seconds(squeeze.seconds)}",
                source=squeeze.key,
                value=squeeze.waited_seconds,
                timestamp=squeeze.end,
            ),
        ),
        figures={
            "pressure_ratio": round(squeeze.share, 4),
            "seconds": round(squeeze.seconds, 3),
            "waited_seconds": squeeze.waited_seconds,
            "scope": "job" if squeeze.key == OWN_KEY else "host",
            "page_cache": int(cached),
        },
    )


def _is_cache(view: RunView) -> bool:
    peak, limit = peaks.memory_peak(view), view.run.limits.memory_bytes
    return peak is not None and limit is not None and peak.size_bytes < _HALF_LIMIT * limit


def _severity(squeeze: Squeeze, *, cached: bool) -> Severity:
    if cached:
        return Severity.INFO
    heavy = squeeze.share >= HEAVY_SHARE and squeeze.seconds >= HEAVY_SECONDS
    if squeeze.key == OWN_KEY:
        return Severity.CRITICAL if heavy else Severity.WARNING
    return Severity.WARNING if heavy else Severity.INFO

"""CPU throttled: the quota withheld CPU time that the job wanted.

The kernel counts for every CPU how long tasks that could have run were held back, so used plus withheld is about
what the job would have used. Only stretches in which something was withheld are looked at: a job that waits for
its input in between wants no less while it computes.

What can mislead: a quota is shared by everything below it, the recorder and other jobs included.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jobmeter.analysis import readings, series
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Run, Value
from jobmeter.model.view import RunView

KEYS = ("cgroup_throttled", "docker_throttled")
LEAST_RATIO = 0.1
"""Of the CPU time wanted: a burst that hits its quota now and then loses less."""
WARNED_RATIO = 0.2
LEAST_WITHHELD_SECONDS = 1.0
_LEAST_SHARE = 0.05
_LONG_SECONDS = 60.0
"""It lasted at least this share of the run, or so long."""
_FELT_CORES = 0.02
"""Less withheld than this is no stretch of it."""


@dataclass(frozen=True, slots=True)
class Squeeze:
    """The time in which a quota held the job back."""

    key: str
    begin: float | None
    end: float | None
    seconds: float
    withheld_seconds: float
    used_cores: float

    @property
    def wanted_cores(self) -> float:
        """What it would have used."""
        return self.used_cores + self.withheld_seconds / self.seconds

    @property
    def ratio(self) -> float:
        """The part that was withheld of what was wanted."""
        return self.withheld_seconds / self.seconds / self.wanted_cores


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how much CPU time the quota withheld."""
    squeeze = _sampled(view) or _summed(view.run)
    if squeeze is None or squeeze.withheld_seconds < LEAST_WITHHELD_SECONDS or squeeze.ratio < LEAST_RATIO:
        return
    if squeeze.seconds < min(_LONG_SECONDS, _LEAST_SHARE * (view.run.wall_seconds or 0.0)):
        return
    yield _finding(view.run, squeeze)


def _sampled(view: RunView) -> Squeeze | None:
    found = readings.first(view, *KEYS)
    curve = next(series.curves(view, series.Resource.CPU), None)
    if found is None or curve is None or curve.unit != "cores":
        return None
    felt = found.rates >= _FELT_CORES
    if not felt.any():
        return None
    places, spans = np.flatnonzero(felt), found.spans[felt]
    return Squeeze(
        key=found.key,
        begin=float(found.times[places[0]] - found.spans[places[0]]),
        end=float(found.times[places[-1]]),
        seconds=float(spans.sum()),
        withheld_seconds=float(found.values[felt].sum()),
        used_cores=float(np.average(readings.beside(found, curve)[felt], weights=spans)),
    )


def _summed(run: Run) -> Squeeze | None:
    """Take the whole run where nothing was sampled, or too little of it."""
    used = readings.used_cores(run)
    key = next((key for key in KEYS if readings.number(run, key)), None)
    if used is None or key is None or not run.wall_seconds:
        return None
    withheld = readings.number(run, key) or 0.0
    return Squeeze(key, run.started_at, run.ended_at, run.wall_seconds, withheld, used)


def _finding(run: Run, squeeze: Squeeze) -> Finding:
    allowed = run.limits.cpus if readings.limit_source(run, "cpus") in ("cgroup", None) else None
    wants = f"it wants {squeeze.wanted_cores:.2g} cores"
    may_use = f"got {squeeze.used_cores:.2g}" if allowed is None else f"may use {allowed:.3g}"
    figures: dict[str, Value] = {
        "throttled_ratio": round(squeeze.ratio, 4),
        "throttled_seconds": round(squeeze.seconds, 3),
        "withheld_cpu_seconds": squeeze.withheld_seconds,
        "wanted_cores": round(squeeze.wanted_cores, 3),
        "used_cores": round(squeeze.used_cores, 3),
    }
    if allowed is not None:
        figures["allowed_cores"] = allowed
    return Finding(
        detector="cpu_throttled",
        severity=Severity.WARNING if squeeze.ratio >= WARNED_RATIO else Severity.INFO,
        sentence=f"throttled for {units.format_seconds(squeeze.seconds)}: {wants} and {may_use}; the quota withheld "
        f"{units.format_percent(100 * squeeze.ratio)} of the CPU time it wanted",
        key=squeeze.key,
        begin=squeeze.begin,
        end=squeeze.end,
        evidence=(
            Evidence(
                sentence=f"{units.format_seconds(squeeze.withheld_seconds)} of CPU time withheld, "
                f"{squeeze.used_cores:.2g} cores used meanwhile",
                source=squeeze.key,
                value=squeeze.withheld_seconds,
                timestamp=squeeze.end,
            ),
        ),
        figures=figures,
    )

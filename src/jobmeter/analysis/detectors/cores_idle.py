"""Cores idle: the job was given more cores than it could use.

How many it could use is found by laying its CPU time on fewer cores, window by window: so few that the run would
not have taken 5 % longer. Only cores that somebody asked for count (a quota, a scheduler, a set of CPUs smaller
than the machine): a small job on a large machine takes nothing away from anybody.

What can mislead: what happens inside a window is not seen, so a program that computes in bursts of milliseconds
on all cores needs more than this says; one that was held back by its quota is not judged.
"""

from collections.abc import Iterable
from math import ceil

from jobmeter.analysis import asking, readings
from jobmeter.analysis.detectors import cpu_throttled
from jobmeter.analysis.sizing.cores import STRETCH
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Run, Value
from jobmeter.model.view import RunView

LEAST_SECONDS = 60.0
"""Of run time: what a short job asks for does not matter."""
LEAST_USED_CORES = 0.05
"""A job that only waits is another thing than one with too many cores."""
WARNED_SHARE = 0.25
WARNED_CORES = 2.0
"""Using less than that share with at least so many to spare is a warning."""


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how many cores the job had too many."""
    run = view.run
    allowed, used = run.limits.cpus, readings.used_cores(run)
    if allowed is None or used is None or used < LEAST_USED_CORES or not _was_asked_for(run):
        return
    if (run.wall_seconds or 0.0) < LEAST_SECONDS or any(cpu_throttled.detect(view)):
        return
    sampled = asking.cores_needed(view)
    needed = ceil(max(sampled or used, used))
    if allowed - needed < 1 or needed > allowed / 2:
        return
    yield _finding(run, used, needed, is_sampled=sampled is not None)


def _was_asked_for(run: Run) -> bool:
    source, host = readings.limit_source(run, "cpus"), run.context.get("host")
    machine = host.get("cpus") if isinstance(host, dict) else None
    if source == "affinity":
        return isinstance(machine, int) and run.limits.cpus is not None and run.limits.cpus < machine
    return True


def _finding(run: Run, used: float, needed: int, *, is_sampled: bool) -> Finding:
    allowed = run.limits.cpus or 0.0
    figures: dict[str, Value] = {"used_cores": round(used, 3), "allowed_cores": allowed}
    told = "in the mean; what it needed at its busiest was not measured"
    if is_sampled:
        figures["needed_cores"] = needed
        told = f"with {needed} it would not have taken {units.format_percent(100 * STRETCH)} longer"
    warned = used < WARNED_SHARE * allowed and allowed - needed >= WARNED_CORES
    lasted = units.format_seconds(run.wall_seconds or 0.0)
    return Finding(
        detector="cores_idle",
        severity=Severity.WARNING if warned else Severity.INFO,
        sentence=f"the job used {used:.2g} of its {allowed:g} cores over {lasted}: {told}",
        key="cpu_seconds",
        begin=run.started_at,
        end=run.ended_at,
        evidence=(
            Evidence(
                sentence=f"{units.format_seconds(used * (run.wall_seconds or 0.0))} of CPU time in {lasted}",
                source=", ".join(run.headline["cpu_seconds"].keys),
                value=run.headline["cpu_seconds"].value,
            ),
            Evidence(
                sentence=f"{allowed:g} cores for the job",
                source=readings.limit_source(run, "cpus") or "limits",
                value=allowed,
            ),
        ),
        figures=figures,
    )

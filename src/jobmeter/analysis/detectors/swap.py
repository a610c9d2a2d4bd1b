"""Swap: memory of the job was moved to disk, or the machine began to swap while it ran.

What the job's own cgroup holds in swap is the job's. Of the machine only growth counts, because swap that was in
use before stays in use until somebody needs the pages again; whose it is nobody knows.

What can mislead: pages that were swapped once and are never touched again cost nothing; zram lies in memory.
"""

from collections.abc import Iterable

import numpy as np

from jobmeter.analysis import peaks, readings
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView

OWN_KEY, HOST_KEY = "cgroup_mem_swap", "host_swap_used"
LEAST_BYTES = 16 << 20
"""Less than that is what the kernel puts away of any idle process."""
LEAST_HOST_BYTES = 256 << 20
WARNED_SHARE = 0.1
"""Of the memory the job needed; less is rarely felt."""


def detect(view: RunView) -> Iterable[Finding]:
    """Tell what was swapped out."""
    own = readings.first(view, OWN_KEY)
    swapped = readings.number(view.run, "cgroup_peak_mem_swap") if own is None else float(own.values.max())
    if swapped is None:
        yield from _of_machine(view)
    elif swapped >= LEAST_BYTES:
        yield _of_job(view, own, swapped)


def _of_job(view: RunView, own: readings.Readings | None, swapped: float) -> Finding:
    peak = peaks.memory_peak(view)
    figures: dict[str, Value] = {"swap_bytes": swapped}
    severity, beside = Severity.WARNING, ""
    if peak is not None:
        share = swapped / (swapped + peak.size_bytes)
        figures["ratio"] = round(share, 4)
        severity = Severity.WARNING if share >= WARNED_SHARE else Severity.INFO
        beside = f", beside at most {units.format_bytes(peak.size_bytes)} in memory"
    used = [] if own is None else [float(moment) for moment in own.times[own.values >= LEAST_BYTES]]
    return Finding(
        detector="swap",
        severity=severity,
        sentence=f"{units.format_bytes(swapped)} of the job lay in swap{beside}: every touch of it waits for the disk",
        key=OWN_KEY,
        begin=used[0] if used else None,
        end=used[-1] if used else None,
        evidence=(
            Evidence(sentence=f"{units.format_bytes(swapped)} at most", source=OWN_KEY, value=swapped),
        ),
        figures=figures,
    )


def _of_machine(view: RunView) -> Iterable[Finding]:
    found = readings.first(view, HOST_KEY)
    if found is None:
        return
    top = int((found.values - np.minimum.accumulate(found.values)).argmax())
    before, most = float(found.values[: top + 1].min()), float(found.values[top])
    if most - before < LEAST_HOST_BYTES:
        return
    yield Finding(
        detector="swap",
        severity=Severity.INFO,
        sentence=f"the machine's use of swap grew by {units.format_bytes(most - before)} while the job ran; whose "
        f"memory that was is not known",
        key=HOST_KEY,
        begin=float(found.times[int(found.values[: top + 1].argmin())]),
        end=float(found.times[top]),
        evidence=(
            Evidence(
                sentence=f"from {units.format_bytes(before)} to {units.format_bytes(most)}",
                source=HOST_KEY,
                value=most,
                timestamp=float(found.times[top]),
            ),
        ),
        figures={"host_swap_growth_bytes": most - before},
    )

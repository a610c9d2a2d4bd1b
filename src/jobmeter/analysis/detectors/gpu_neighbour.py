"""GPU neighbour: somebody else holds memory on the job's GPUs.

Seen as the gap between what is in use on the GPUs and what the job's own processes hold, over most of the run; or
as what an allocation that failed said of other processes.

What can mislead: where the driver does not tell sizes of processes (containers) nothing can be said; older drivers
count what they reserve for themselves, so a few hundred megabytes are nobody.
"""

from collections.abc import Iterable

import numpy as np

from jobmeter.analysis import gpus, readings
from jobmeter.model import units
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.report import Evidence, Finding, LogError, Severity
from jobmeter.model.view import RunView

LEAST_BYTES = 1 << 30
"""On each GPU: what a driver keeps for itself is less."""
WARNED_SHARE = 0.1
"""Of what is in use on the GPUs: less hardly hurts."""
MOST_OF_THE_TIME = 0.5
_OTHERS = "other_process_bytes"


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how much others hold on the job's GPUs."""
    for tool in GPU_TOOLS:
        used = readings.first(view, f"{tool}_mem_used_total")
        own = readings.first(view, f"{tool}_proc_mem_total")
        if used is not None and own is not None:
            yield from _gap(used, own, LEAST_BYTES * max(1, len(gpus.devices(view))))
            return
    told = [(error, held) for error in view.log_errors if (held := _others(error)) >= LEAST_BYTES]
    if told:
        yield _said(*told[0])


def _gap(used: readings.Readings, own: readings.Readings, least_bytes: int) -> Iterable[Finding]:
    # before its first allocation the job holds nothing, which is no reading at all
    during = (used.times >= own.times[0]) & (used.times <= own.times[-1])
    if not during.any():
        return
    others = used.values[during] - np.interp(used.times[during], own.times, own.values)
    if (others >= least_bytes).mean() < MOST_OF_THE_TIME:
        return
    held, whole = float(np.median(others)), float(np.median(used.values[during]))
    moments = used.times[during]
    yield Finding(
        detector="gpu_neighbour",
        severity=Severity.WARNING if held >= WARNED_SHARE * whole else Severity.INFO,
        sentence=f"others held {units.format_bytes(held)} on the job's GPUs, of {units.format_bytes(whole)} in use",
        key=used.key,
        begin=float(moments[0]),
        end=float(moments[-1]),
        evidence=(
            Evidence(
                sentence=f"{units.format_bytes(whole)} in use, {units.format_bytes(whole - held)} of them the job's",
                source=f"{used.key}, {own.key}",
                value=held,
            ),
        ),
        figures={"other_bytes": held, "used_bytes": whole},
    )


def _others(error: LogError) -> float:
    held = error.fields.get(_OTHERS)
    return float(held) if isinstance(held, int | float) else 0.0


def _said(error: LogError, held: float) -> Finding:
    return Finding(
        detector="gpu_neighbour",
        severity=Severity.WARNING,
        sentence=f"other processes held {units.format_bytes(held)} on the GPU when an allocation failed",
        begin=error.timestamp,
        end=error.timestamp,
        evidence=(
            Evidence(
                sentence="the failed allocation says so",
                source=error.stream or "log",
                value=held,
                timestamp=error.timestamp,
                quote=error.message.split("\n")[0][:300],
                offset=error.offset,
            ),
        ),
        figures={"other_bytes": held},
    )

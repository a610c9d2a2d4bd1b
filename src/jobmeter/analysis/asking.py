"""What a job should ask its scheduler for, by its earlier runs and this one; by this one alone, with a margin.

What can mislead: of earlier runs only the mean of the cores they used is known here; `jobmeter size` looks closer.
"""

from math import ceil

import numpy as np

from jobmeter.analysis import configs, jobkey, series
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.analysis.sizing import cores, resources
from jobmeter.analysis.sizing.facts import RunFacts
from jobmeter.model import sizing, units
from jobmeter.model.report import Cause
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import RunView

MARGIN = 1.2
"""What one run used, times this, is asked for where no other run is known."""
_RAN_OUT: dict[Cause, sizing.Resource] = {
    Cause.OOM_CGROUP: sizing.Resource.MEMORY,
    Cause.TIMEOUT: sizing.Resource.TIME,
}
_ABSURD = 1e18
_SHORTEST_SECONDS, _MOST_CORES = 1e-3, 1e4
"""What lies beyond is a clock that jumped."""


def advised(case: Case, resource: sizing.Resource) -> sizing.Advice | None:
    """Size a resource from all runs of the job that are known; None with fewer than two that tell of it."""
    view = case.view
    if view.run.status in LIVE:
        return None
    known = [_facts(run) for run in reversed(view.history) if run.status not in LIVE]
    own = _facts(view.run, ran_out_of=_RAN_OUT.get(case.verdict.cause), over_time=cores_needed(view))
    return resources.size(jobkey.job_key(view.run), [*known, own]).advice.get(resource)


def _facts(
    run: Run, *, ran_out_of: sizing.Resource | None = None, over_time: float | None = None
) -> RunFacts:
    memory, cpu = (run.headline.get(name) for name in ("memory_peak_bytes", "cpu_seconds"))
    wall = run.wall_seconds if run.wall_seconds is not None and 0 < run.wall_seconds < _ABSURD else None
    mean = units.mean_cores(cpu.value, wall) if cpu is not None and 0 <= cpu.value < _ABSURD else None
    return RunFacts(
        ended_well=run.status is Status.COMPLETED,
        ran_out_of=ran_out_of,
        memory_bytes=memory.value if memory is not None and 0 < memory.value < _ABSURD else None,
        wall_seconds=wall,
        cores=mean if over_time is None else over_time,
        is_sampled=over_time is not None,
        asked_memory_bytes=_asked(run, Asked.MEMORY),
        asked_cpus=_asked(run, Asked.CPUS),
        asked_seconds=_asked(run, Asked.TIME),
    )


def _asked(run: Run, what: Asked) -> float | None:
    found = configs.request(run, what)
    return None if found is None else found.number


def cores_needed(view: RunView) -> float | None:
    """Give the cores with which this run would not have taken longer; None where nothing was sampled."""
    found = series.cpu_counter(view)
    if found is None or found.spans is None:
        return None
    used, spans = np.asarray(found.values, float), np.asarray(found.spans, float)
    known = (used >= 0) & (spans > _SHORTEST_SECONDS) & (spans < _ABSURD) & (used < _MOST_CORES * spans)
    return cores.needed(used[known], spans[known])  # type: ignore[arg-type]  # arrays are sequences of numbers


def slurm_time(seconds: float) -> str:
    """Write a time as Slurm reads it, whole minutes rounded up."""
    minutes = ceil(seconds / 60)
    days, rest = divmod(minutes, 1440)
    clock = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{clock}" if days else clock

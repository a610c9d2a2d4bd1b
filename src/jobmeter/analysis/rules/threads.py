"""As many threads as cores: libraries start one per core of the machine, whatever part of it the job was given.

Threads themselves are not counted by default: a few processes that want many more cores than there are of them run
several threads each. Many processes that want many cores (a compiler per file) are another thing.
"""

from collections.abc import Iterable, Mapping
from math import ceil

from jobmeter.analysis import readings
from jobmeter.analysis.case import Case
from jobmeter.model.report import Evidence, Recommendation, Severity

_VARIABLE = "OMP_NUM_THREADS"
_MANY = 2.0
"""Cores wanted for every core the job may use, before anyone minds."""
_THREADED = 1.5
"""Cores wanted for every process: more takes threads."""
_PROCESSES = "proc_mean_count"


def advise(case: Case) -> Iterable[Recommendation]:
    """Pin the number of threads where a quota held back more of them than there are cores."""
    run = case.view.run
    cpus = run.limits.cpus
    machine = run.context.get("host")
    have = machine.get("cpus") if isinstance(machine, Mapping) else None
    if cpus is None or not 0 < cpus < 1e6 or not isinstance(have, int | float) or have < _MANY * cpus:
        return
    throttled = next(case.found("cpu_throttled"), None)
    wanted = None if throttled is None else throttled.figures.get("wanted_cores")
    processes = readings.number(run, _PROCESSES)
    if throttled is None or not isinstance(wanted, int | float) or processes is None:
        return
    if wanted < max(_MANY * cpus, _THREADED * processes) or _is_set(run.context.get("environment")):
        return
    count = ceil(cpus)
    crew = f"{round(processes, 1):g} process{'' if processes == 1 else 'es'}"
    yield Recommendation(
        rule="threads",
        severity=Severity.WARNING,
        title="Start as many threads as there are cores",
        action=f"Set {_VARIABLE}={count} in the job's environment",
        impact=f"Threads no longer take turns on {cpus:g} of the machine's {have:g} cores",
        config_path=_VARIABLE,
        recommended_value=count,
        evidence=(
            Evidence(
                sentence=f"{crew} at a time wanted {wanted:.3g} cores: that takes several threads",
                source=_PROCESSES,
                value=wanted,
            ),
            Evidence(sentence=throttled.sentence, source=throttled.key or "cpu_throttled"),
        ),
    )


def _is_set(environment: object) -> bool:
    return isinstance(environment, Mapping) and _VARIABLE in environment

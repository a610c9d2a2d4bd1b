"""As many threads as cores: libraries start one per core of the machine, whatever part of it the job was given."""

from collections.abc import Iterable, Mapping
from math import ceil

from jobmeter.analysis.case import Case
from jobmeter.model.report import Evidence, Recommendation, Severity

_VARIABLE = "OMP_NUM_THREADS"
_MANY = 2.0
"""Threads for every core the job may use, before anyone minds."""
_KEYS = ("proc_peak_threads", "psutil_peak_threads", "proc_threads")


def advise(case: Case) -> Iterable[Recommendation]:
    """Pin the number of threads where more of them than cores were held back by a quota, or took turns."""
    run = case.view.run
    cpus = run.limits.cpus
    machine = run.context.get("host")
    have = machine.get("cpus") if isinstance(machine, Mapping) else None
    if cpus is None or not 0 < cpus < 1e6 or not isinstance(have, int | float) or have < _MANY * cpus:
        return
    threads = next((run.summary[key] for key in _KEYS if key in run.summary), None)
    many = isinstance(threads, int | float) and threads > _MANY * cpus
    throttled = next(case.found("cpu_throttled"), None)
    if not many or throttled is None or _is_set(run.context.get("environment")):
        return
    count = ceil(cpus)
    yield Recommendation(
        rule="threads",
        severity=Severity.WARNING,
        title="Start as many threads as there are cores",
        action=f"Set {_VARIABLE}={count} in the job's environment",
        impact=f"Threads no longer take turns on {cpus:g} of the machine's {have:g} cores",
        config_path=_VARIABLE,
        recommended_value=count,
        evidence=(
            Evidence(sentence=f"a process had {threads} threads on {cpus:g} cores", source="threads"),
            Evidence(sentence=throttled.sentence, source=throttled.key or "cpu_throttled"),
        ),
    )


def _is_set(environment: object) -> bool:
    return isinstance(environment, Mapping) and _VARIABLE in environment

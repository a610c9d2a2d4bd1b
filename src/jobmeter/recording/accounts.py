"""The totals of a job that ended before its first sample: the kernel's accounts, read once.

Kept apart from sampling so that a short job imports nothing it does not need.
"""

from jobmeter import collectors
from jobmeter.aggregation.summary import Summary
from jobmeter.model.measurement import Measurement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.paths import Paths
    from jobmeter.recording.job import Job
    from jobmeter.recording.selection import Selection


def selection(paths: "Paths") -> "Selection":
    """Choose the sources that still speak when the job is gone."""
    from jobmeter.recording import selection as selections

    return selections.default(paths, only=("wait", "cgroup"))


def read(job: "Job", chosen: "Selection") -> "dict[str, int | float | str]":
    """Read every chosen account once; one that fails is absent."""
    summary = Summary(chosen.definitions, _starts_at_zero)
    for name, keys in chosen.by_collector().items():
        source = collectors.load(name).attach(job, keys)
        try:
            summary.add(list(source.read()))
        except OSError as error:
            chosen.missing[name] = str(error)
        source.close()
    return summary.values()


def _starts_at_zero(definition: Measurement) -> bool:
    return starts_at_zero(definition, ours=True)


def starts_at_zero(definition: Measurement, *, ours: bool) -> bool:
    """Whether a counter counted nothing before the job began; if not, its first reading is only a baseline."""
    if not ours:
        return False
    if definition.scope.value == "process" or definition.tool in ("wait", "proc"):
        return True
    return definition.tool == "cgroup" and not definition.key.startswith("cgroup_outer_")

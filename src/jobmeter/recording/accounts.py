"""The totals of a job that ended before its first sample: the kernel's accounts, read once.

Kept apart from sampling so that a short job imports nothing it does not need. Only what still speaks when
the job is gone is read: counters, and peaks the kernel keeps itself.
"""

from jobmeter import collectors
from jobmeter.aggregation.summary import Summary
from jobmeter.model.measurement import Kind, Measurement, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.job import Job

_LASTING = ("wait", "cgroup")


class Accounts:
    """What was read, with the definitions of it."""

    __slots__ = ("definitions", "missing", "summary")

    def __init__(self, job: "Job", wanted: "dict[str, Measurement] | None") -> None:
        self.definitions: dict[str, Measurement] = {}
        self.missing: dict[str, str] = {}
        self.summary: dict[str, int | float | str] = {}
        for name in _LASTING:
            self._read(job, name, wanted)

    def _read(self, job: "Job", name: str, wanted: "dict[str, Measurement] | None") -> None:
        module = collectors.load(name)
        chosen = {
            m.key: m for m in module.MEASUREMENTS if outlives(m) and (wanted is None or m.key in wanted)
        }
        summary = Summary(chosen, lambda definition: starts_at_zero(definition, job))
        source = module.attach(job, frozenset(chosen))
        try:
            readings = list(source.read())
        except OSError as error:
            self.missing[name] = str(error)
            readings = []
        source.close()
        summary.add(readings)
        self.summary.update(summary.values())
        self.definitions.update({key: chosen[key] for key, _instance, _value in readings})


def outlives(definition: Measurement) -> bool:
    """Whether a value still says something about the job when no process of it is left."""
    if definition.scope is Scope.PROCESS:
        return False
    # page cache stays charged after the last process has gone
    return definition.kind is not Kind.GAUGE or not definition.summary or definition.key == "cgroup_mem_file"


def starts_at_zero(definition: Measurement, job: "Job") -> bool:
    """Whether a counter counted nothing before the job began; if not, its first reading is only a baseline."""
    if not job.ours:
        before = job.earlier
        return before is not None and (
            definition.key == "wait_cputime" or (definition.tool == "wait" and before.io is not None)
        )
    if definition.scope is Scope.PROCESS or definition.tool in ("wait", "proc"):
        return True
    return definition.tool == "cgroup" and not definition.key.startswith("cgroup_outer_")

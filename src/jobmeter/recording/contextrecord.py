"""Build the `context` record: everything worth knowing about the start that was not worth delaying it for."""

import os

from jobmeter.recording import context
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.capture import Plan as Outputs
    from jobmeter.recording.clock import Clock
    from jobmeter.recording.job import Job
    from jobmeter.recording.selection import Selection
    from jobmeter.recording.setup import Plan


def build(
    plan: "Plan", job: "Job", outputs: "Outputs", chosen: "Selection", clock: "Clock"
) -> dict[str, object]:
    """Gather the context of a run."""
    from jobmeter.config import redaction

    own = job.own_cgroup
    places = None if own is None else own.outer
    missing = dict(chosen.missing)
    if plan.no_own_cgroup:
        missing["own_cgroup"] = plan.no_own_cgroup
    for stream in outputs.uncaptured:
        missing[stream] = "not captured"
    cwd = plan.start["cwd"]
    commit = context.git(str(cwd)) if cwd else None
    return {
        "type": "context",
        "timestamp": writer.timestamp(clock.wall()),
        "pid": job.pid,
        "host": context.host(plan.paths),
        "user": context.user(),
        "limits": context.limits(plan.paths, os.environ, places),
        **({"git": commit} if commit else {}),
        "environment": redaction.allowed_environment(os.environ),
        "options": _options(plan),
        "outputs": outputs.records(),
        "measurements": [definition.as_record() for definition in chosen.definitions.values()],
        "provenance": {
            "selected": sorted(chosen.definitions),
            "missing": missing,
            **({"own_cgroup": list(own.directories)} if own is not None else {}),
        },
    }


def _options(plan: "Plan") -> dict[str, object]:
    names = ("capture", "measurements", "on_memory", "own_cgroup", "pty", "timeout", "wait_for_children")
    return {name: value for name in names if (value := getattr(plan.options, name)) is not None}

"""Runs as other programs read them: the JSON of `show --json`, `ls --json` and the API.

Only what was measured is present: a key that is missing was not known. Times are ISO 8601 UTC, sizes
bytes, durations seconds. Keys are added over time, never renamed.
"""

from math import isfinite

from jobmeter.model.moments import iso_time
from jobmeter.model.run import Headline, Run
from jobmeter.model.view import Event, RunView
from jobmeter.service import by_role, energy

Shape = dict[str, object]


def listed(run: Run) -> Shape:
    """Lay out a run as `ls --json` lists it."""
    shape: Shape = {
        "run_id": run.run_id,
        "job_id": run.job_id,
        "ranks": list(run.ranks) or None,
        "world_size": run.world_size,
        "group": run.group,
        "name": run.name,
        "project": run.project,
        "status": run.status.value,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "command": list(run.command),
        "cwd": run.cwd,
        "host": run.host,
        "started_at": iso_time(run.started_at),
        "ended_at": iso_time(run.ended_at),
        "wall_seconds": run.wall_seconds,
        "headline": {name: _headline(name, number) for name, number in run.headline.items()},
        "limits": present({"memory_bytes": run.limits.memory_bytes, "cpus": run.limits.cpus}),
        "provenance": _provenance(run),
        "user": run.user,
        "message": run.message,
        "tags": dict(run.tags) or None,
        "notes": list(run.notes) or None,
        "samples": run.samples,
        "folder": run.folder,
        "disk_bytes": run.disk_bytes,
        "steps": None if run.steps is None else run.steps.as_record(),
        "results": dict(run.results) or None,
    }
    return present(shape)


def shown(view: RunView) -> Shape:
    """Lay out a run as `show --json` shows it."""
    run = view.run
    extra: Shape = {
        "summary": present({key: _finite(value) for key, value in run.summary.items()}),
        "energy": energy.account(run),
        "by_command": [
            present(
                {
                    "command": share.command,
                    "cpu_seconds": share.cpu_seconds,
                    "peak_rss_bytes": share.peak_rss_bytes,
                    "processes": share.processes,
                }
            )
            for share in run.by_command
        ]
        or None,
        "roles": by_role.shapes(view.processes) or None,
        "siblings": [other.run_id for other in view.siblings] or None,
        "events": [happened(event) for event in view.events] or None,
        "memory_zones": _memory_zones(run),
    }
    return listed(run) | present(extra)


def _memory_zones(run: Run) -> Shape | None:
    """Give the shares of the memory limit that the job's own config calls worrying; None where it says nothing."""
    if not isinstance(run.context.get("monitoring"), dict):
        return None
    from jobmeter.analysis import readings  # brings numpy, which a list of runs does not need

    warning, critical = readings.thresholds(run)
    return {"warning": warning, "critical": critical}


def _headline(name: str, number: Headline) -> Shape:
    whole = name.endswith("_bytes")
    return {
        "value": round(number.value) if whole else number.value,
        "low": round(number.low) if whole else number.low,
        "high": round(number.high) if whole else number.high,
        "keys": list(number.keys),
        "exact": number.exact,
    }


def _provenance(run: Run) -> Shape:
    found = run.provenance
    return present(
        {
            "selected": list(found.selected),
            "missing": dict(found.missing),
            "dropped": dict(found.dropped),
            "inexact": dict(found.inexact) or None,
            "sources": run.context.get("sources"),
            "origin": found.origin,
        }
    )


def happened(event: Event) -> Shape:
    """Lay out an event as `show --json` does."""
    return present(
        {
            "timestamp": iso_time(event.timestamp),
            "type": event.type,
            "details": event.details or None,
            "config": event.config or None,
            "measurements": event.measurements or None,
            "rank": event.rank,
        }
    )


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not isfinite(value) else value


def present(shape: Shape) -> Shape:
    """Leave out what is not known."""
    return {key: value for key, value in shape.items() if value is not None}

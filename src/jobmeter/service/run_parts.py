"""Parts of a run that a page asks for one by one: what happened, who used it, what analysis says, all at a glance."""

from dataclasses import asdict

from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run
from jobmeter.model.view import Process
from jobmeter.service import analysis, by_role, event_moments, job_shapes, jobs, shapes
from jobmeter.stores import Store

MOST_PROCESSES = 1_000
Shape = dict[str, object]


def shown(store: Store, run: Run) -> Shape:
    """Lay a run out as `show --json` does, with its verdict where one is kept or it went wrong."""
    view, report = analysis.glance(store, run)
    return shapes.shown(view) | ({} if report is None else {"verdict": report.verdict.as_record()})


def events(store: Store, run: Run) -> Shape:
    """List what happened, each with the measurements of its moment."""
    found = event_moments.filled(store, run)
    return {"run_id": run.run_id, "events": [shapes.happened(event) for event in found]}


def processes(store: Store, run: Run) -> Shape:
    """List who used it, those that used most CPU time first, and the same by command and by role."""
    found = store.processes(run.run_id)
    most = sorted(
        found, key=lambda one: (-(one.cpu_seconds or 0.0), -(one.peak_rss_bytes or 0), one.instance)
    )
    return {
        "run_id": run.run_id,
        "processes": [_process(one) for one in most[:MOST_PROCESSES]],
        "total": len(found),
        "by_command": [shapes.present(asdict(share)) for share in run.by_command],
        "roles": by_role.shapes(found),
    }


def _process(one: Process) -> Shape:
    known = asdict(one) | {"first_seen": iso_time(one.first_seen), "last_seen": iso_time(one.last_seen)}
    return shapes.present(known)


def report(store: Store, run: Run) -> Shape:
    """Say why a run ended, what stood out and what to change; of one that goes on, as it stands."""
    return analysis.of_run(store, run)[1].as_record()


def ranks(store: Store, run: Run) -> Shape:
    """Lay the ranks of a run's job side by side."""
    return job_shapes.shown(jobs.gather(store, run.job_id))

"""Build runs as plots and exporters see them, without files: a few keys, each with a few points."""

from collections.abc import Sequence

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Step, Steps
from jobmeter.model.view import Event, Process, RunView, Series
from jobmeter.stores import stepcolumns

STARTED = 1794736201.0
"""2026-11-15T09:50:01Z"""
MIB = 1024 * 1024
GIB = 1024 * MIB

Points = Sequence[tuple[float, float]]
"""Seconds since the start, and a value."""


def define(key: str, kind: Kind, unit: Unit, scope: Scope = Scope.JOB) -> Measurement:
    """Define a key."""
    reduce = {
        Kind.GAUGE: Reduce.MAX,
        Kind.COUNTER: Reduce.DELTA,
        Kind.LABEL: Reduce.LAST,
        Kind.CATEGORICAL: Reduce.TALLY,
    }
    return Measurement(key, kind, unit, scope, (reduce[kind],), (), f"what {key} means")


def gauge(key: str, points: Points, instance: str = "") -> Series:
    """Build a series of readings."""
    return Series(
        key=key,
        instance=instance,
        times=tuple(STARTED + seconds for seconds, _ in points),
        values=tuple(float(value) for _, value in points),
    )


def counter(key: str, points: Points, instance: str = "", span: float = 1.0) -> Series:
    """Build a series of deltas that each cover `span` seconds."""
    plain = gauge(key, points, instance)
    return Series(
        key=key, instance=instance, times=plain.times, values=plain.values, spans=(span,) * len(points)
    )


def process(instance: str, command: str, first: float = 0.0, last: float = 100.0) -> Process:
    """Build a process seen between two moments."""
    return Process(
        instance=instance,
        pid=int(instance.partition("@")[0]),
        command=command,
        first_seen=STARTED + first,
        last_seen=STARTED + last,
    )


def event(seconds: float, type_: str, **details: object) -> Event:
    """Build an event."""
    return Event(timestamp=STARTED + seconds, type=type_, details=details)


def steps(*rows: Step, writer: str = "steps.jsonl") -> Steps:
    """Build the steps of a run from single ones."""
    streams = stepcolumns.streams({writer: rows})
    return Steps(tuple(stepcolumns.table(stream, streams[stream]) for stream in streams))


def view(
    series: Sequence[Series],
    definitions: Sequence[Measurement] = (),
    *,
    events: Sequence[Event] = (),
    processes: Sequence[Process] = (),
    **facts: object,
) -> RunView:
    """Build a run; keywords replace its facts."""
    known: dict[str, object] = {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "20261115T095001Z-7f3a9c",
        "status": Status.COMPLETED,
        "command": ("make", "-j4"),
        "exit_code": 0,
        "started_at": STARTED,
        "wall_seconds": 4.0,
        "definitions": {definition.key: definition for definition in definitions},
    }
    run = Run(**(known | facts))  # type: ignore[arg-type]  # facts are checked by the tests that name them
    found = {(one.key, one.instance): one for one in series}
    return RunView(run=run, series=found, events=tuple(events), processes=tuple(processes))


CPU = define("cgroup_cputime", Kind.COUNTER, Unit.SECONDS)
WAIT_CPU = define("wait_cputime", Kind.COUNTER, Unit.SECONDS)
NEEDED = define("cgroup_mem_unreclaimable", Kind.GAUGE, Unit.BYTES)
CHARGED = define("cgroup_mem_current", Kind.GAUGE, Unit.BYTES)
PSS = define("proc_pss_total", Kind.GAUGE, Unit.BYTES)
RSS = define("proc_rss_total", Kind.GAUGE, Unit.BYTES)
READ = define("wait_read_bytes", Kind.COUNTER, Unit.BYTES)
WRITE = define("wait_write_bytes", Kind.COUNTER, Unit.BYTES)
COUNT = define("proc_count", Kind.GAUGE, Unit.COUNT)
PROCESS_CPU = define("proc_cputime", Kind.COUNTER, Unit.SECONDS, Scope.PROCESS)
PROCESS_RSS = define("proc_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS)


def build_run(**facts: object) -> RunView:
    """Build four seconds of a job that computes, then writes."""
    series = [
        counter("cgroup_cputime", [(1, 0.5), (2, 2.0), (3, 1.5), (4, 0.25)]),
        gauge("cgroup_mem_unreclaimable", [(1, 100 * MIB), (2, 300 * MIB), (3, 200 * MIB), (4, 50 * MIB)]),
        gauge("proc_rss_total", [(1, 150 * MIB), (2, 400 * MIB), (3, 260 * MIB), (4, 90 * MIB)]),
        gauge("cgroup_mem_current", [(1, 120 * MIB), (2, 350 * MIB), (3, 420 * MIB), (4, 450 * MIB)]),
        counter("wait_read_bytes", [(1, 8 * MIB), (2, 0), (3, 0), (4, 0)]),
        counter("wait_write_bytes", [(1, 0), (2, 0), (3, 64 * MIB), (4, 128 * MIB)]),
        gauge("proc_count", [(1, 1), (2, 5), (3, 5), (4, 2)]),
    ]
    return view(series, (CPU, NEEDED, RSS, CHARGED, READ, WRITE, COUNT), **facts)

"""Runs as nobody would record them: any numbers, any gaps, any events, so that analysis meets them here first."""

import math
from array import array
from dataclasses import replace

from hypothesis import strategies as st

from jobmeter.model.measurement import Kind, Measurement, Scope, Unit
from jobmeter.model.rank import RankFacts
from jobmeter.model.report import LogError
from jobmeter.model.run import Headline, Limits, Run, Status
from jobmeter.model.steps import Column, Steps, StepTable
from jobmeter.model.view import Event, Process, RunView, Series
from support import views

KEYS: dict[str, tuple[Kind, Unit, Scope]] = {
    "cgroup_cputime": (Kind.COUNTER, Unit.SECONDS, Scope.JOB),
    "cgroup_io_pressure": (Kind.COUNTER, Unit.SECONDS, Scope.JOB),
    "cgroup_mem_unreclaimable": (Kind.GAUGE, Unit.BYTES, Scope.JOB),
    "cgroup_throttled": (Kind.COUNTER, Unit.SECONDS, Scope.JOB),
    "host_mem_available": (Kind.GAUGE, Unit.BYTES, Scope.HOST),
    "host_swap_used": (Kind.GAUGE, Unit.BYTES, Scope.HOST),
    "nvml_mem_total": (Kind.GAUGE, Unit.BYTES, Scope.DEVICE),
    "nvml_mem_used": (Kind.GAUGE, Unit.BYTES, Scope.DEVICE),
    "nvml_temp": (Kind.GAUGE, Unit.CELSIUS, Scope.DEVICE),
    "nvml_util": (Kind.GAUGE, Unit.PERCENT, Scope.DEVICE),
    "proc_count": (Kind.GAUGE, Unit.COUNT, Scope.JOB),
    "proc_rss_total": (Kind.GAUGE, Unit.BYTES, Scope.JOB),
    "psi_memory_full": (Kind.COUNTER, Unit.SECONDS, Scope.HOST),
    "wait_read_bytes": (Kind.COUNTER, Unit.BYTES, Scope.JOB),
    "wait_write_bytes": (Kind.COUNTER, Unit.BYTES, Scope.JOB),
}
METRICS = ("loss", "eval_loss", "grad_norm", "lr", "step_seconds", "tokens_per_second", "batch_size")
EVENTS = (
    "oom_kill",
    "timeout",
    "signal",
    "stall",
    "checkpoint",
    "batch_size_changed",
    "kernel_message",
    "scheduler_state",
)
SIGNATURES = ("cuda_oom", "kernel_oom", "nccl_timeout", "nan_loss", "exception", "worker_killed", None)

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.sampled_from((0.0, 1.0, -1.0, 1e9, 1e18, 5e-324)),
    st.integers(0, 2**40).map(float),
)
gaps = st.sampled_from((0.0, 1.0, 1.0, 1.0, 5.0, 600.0))


@st.composite
def times(draw: st.DrawFn) -> list[float]:
    """Draw rising moments, with gaps, twins and all."""
    found, now = [], views.STARTED
    for gap in draw(st.lists(gaps, max_size=40)):
        now += gap
        found.append(now)
    return found


@st.composite
def series(draw: st.DrawFn, key: str, instance: str) -> Series:
    """Draw one series; a counter may have lost its spans."""
    moments = draw(times())
    flat = draw(st.booleans())
    values = [draw(numbers)] * len(moments) if flat else [draw(numbers) for _ in moments]
    spans = None
    if KEYS[key][0] is Kind.COUNTER and draw(st.booleans()):
        spans = array("d", [draw(gaps) for _ in moments])
    return Series(
        key=key, instance=instance, times=array("d", moments), values=array("d", values), spans=spans
    )


@st.composite
def tables(draw: st.DrawFn, rank: int) -> StepTable:
    """Draw the steps of a rank: any order, some without a time, metrics on some rows only."""
    count = draw(st.integers(1, 30))
    rows = draw(st.lists(st.integers(-5, 10_000), min_size=count, max_size=count))
    moments = draw(st.none() | st.lists(numbers, min_size=count, max_size=count))
    columns = {}
    for metric in draw(st.lists(st.sampled_from(METRICS), unique=True)):
        places = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1)))
        columns[metric] = Column(
            None if len(places) == count else array("q", places), array("d", [draw(numbers) for _ in places])
        )
    return StepTable(
        writer="steps.jsonl",
        source=draw(st.sampled_from(("sdk", "log:generic", "wandb"))),
        rank=rank,
        steps=array("q", rows),
        timestamps=None if moments is None else array("d", moments),
        columns=columns,
    )


words = st.text(max_size=20)
details = st.dictionaries(
    st.sampled_from(("seconds", "processes", "text", "state", "old", "new", "signal")),
    st.none() | st.booleans() | st.integers() | words | st.lists(words, max_size=2),
)
events = st.builds(
    Event,
    timestamp=st.floats(views.STARTED - 10, views.STARTED + 9000),
    type=st.sampled_from(EVENTS) | words,
    details=details,
    config=st.dictionaries(words, st.integers(), max_size=2),
    rank=st.none() | st.integers(0, 3),
)
errors = st.builds(
    LogError,
    level=st.sampled_from(("WARNING", "ERROR", "CRITICAL")),
    type=words,
    message=words,
    signature=st.sampled_from(SIGNATURES),
    fields=st.dictionaries(
        st.sampled_from(("tried_bytes", "total_bytes", "pid", "op")), st.integers(0, 2**40) | words
    ),
    timestamp=st.none() | st.floats(views.STARTED, views.STARTED + 9000),
    count=st.integers(1, 9),
    ranks=st.sampled_from(((), (0,), (1, 3))),
    memory_at_time_bytes=st.none() | st.integers(0, 2**40),
    survived=st.booleans(),
)
processes = st.builds(
    Process,
    instance=st.integers(1, 99).map(lambda pid: f"{pid}@1"),
    pid=st.integers(1, 99),
    command=st.none() | words,
    cpu_seconds=st.none() | st.floats(0, 1e6),
    peak_rss_bytes=st.none() | st.integers(0, 2**40),
    role=st.sampled_from((None, "main", "worker", "other")),
    rank=st.none() | st.integers(0, 3),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Draw the facts of a run."""
    config = draw(st.none() | st.dictionaries(words, st.integers() | words, max_size=3))
    value = draw(st.floats(0, 1e12))
    headline = Headline(value=value, low=value, high=value, keys=("k",), exact=True)
    return Run(
        run_id="20261115T095001Z-7f3a9c",
        job_id="20261115T095001Z-7f3a9c",
        status=draw(st.sampled_from(Status)),
        command=tuple(draw(st.lists(words, max_size=3))),
        exit_code=draw(st.none() | st.integers(0, 255)),
        signal=draw(st.sampled_from((None, "SIGKILL", "SIGTERM", "SIGINT"))),
        started_at=draw(st.none() | st.just(views.STARTED)),
        ended_at=draw(st.none() | st.just(views.STARTED + 100)),
        wall_seconds=draw(st.none() | st.floats(0, 1e6)),
        ranks=draw(st.sampled_from(((), (0,), (0, 1, 2)))),
        headline={"memory_peak_bytes": headline} if draw(st.booleans()) else {},
        limits=Limits(
            memory_bytes=draw(st.none() | st.integers(0, 2**40)), cpus=draw(st.none() | st.floats(0, 256))
        ),
        definitions={key: Measurement(key, *KEYS[key], (), (), "m") for key in KEYS},
        context={} if config is None else {"config": config},
    )


@st.composite
def ranks(draw: st.DrawFn) -> tuple[RankFacts, ...]:
    """Draw what is known of the ranks of a job, of two recorders or of one."""
    found = []
    for rank in draw(st.sampled_from(((), (0, 1), (0, 1, 2)))):
        run = replace(
            draw(runs()), run_id=draw(st.sampled_from(("a", "b"))), host=draw(st.none() | st.just("h"))
        )
        last = draw(st.none() | st.integers(0, 2**40))
        found.append(
            RankFacts(
                rank=rank,
                run=run,
                source="sdk",
                tables=() if last is None else (draw(tables(rank)),),
                count=draw(st.integers(0, 2**40)),
                last_step=last,
                last_at=draw(st.none() | st.floats(views.STARTED, views.STARTED + 9000)),
                advanced=draw(st.integers(0, 2**40)),
                advancing_seconds=draw(st.floats(0, 1e9)),
                ended_at=run.ended_at,
                cpu_seconds=draw(st.none() | st.floats(0, 1e9)),
                memory_peak_bytes=draw(st.none() | st.floats(0, 1e15)),
            )
        )
    return tuple(found)


@st.composite
def odd_views(draw: st.DrawFn) -> RunView:
    """Draw a run."""
    chosen = draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    names = [(key, "GPU-0" if KEYS[key][2] is Scope.DEVICE else "") for key in chosen]
    made = Steps(tuple(draw(tables(rank)) for rank in draw(st.sampled_from(((), (0,), (0, 1))))))
    return RunView(
        run=draw(runs()),
        series={name: draw(series(*name)) for name in names},
        events=tuple(sorted(draw(st.lists(events, max_size=4)), key=lambda event: event.timestamp)),
        processes=tuple(draw(st.lists(processes, max_size=4))),
        siblings=tuple(draw(st.lists(runs(), max_size=2))),
        ranks=draw(ranks()),
        steps=made,
        log_errors=tuple(draw(st.lists(errors, max_size=4))),
        history=tuple(draw(st.lists(runs(), max_size=3))),
    )


def not_finite(document: object) -> bool:
    """Tell whether a document holds a number that JSON has no word for."""
    if isinstance(document, dict):
        return any(map(not_finite, document.values()))
    if isinstance(document, list | tuple):
        return any(map(not_finite, document))
    return isinstance(document, float) and not math.isfinite(document)

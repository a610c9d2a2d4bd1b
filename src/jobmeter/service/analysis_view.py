"""What analysis is shown of a run: everything that speaks of the whole job, and nothing that costs without telling.

Series of single processes stay in the store: a day of a thousand processes is larger than all the rest, and the
rows of `processes` say what they came to. Of the steps only quantities are read that a detector asks for. What
the other recorders of the same job saw at the same time (its ranks on other hosts) is folded in, with its rank;
of their steps the last ones are read (`rank_facts`).
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from jobmeter.analysis import beside as together
from jobmeter.model import metrics
from jobmeter.model.measurement import Kind, Measurement, Scope
from jobmeter.model.report import LogError
from jobmeter.model.run import Run
from jobmeter.model.steps import Steps
from jobmeter.model.view import Event, RunView, Series
from jobmeter.service import event_moments, history, rank_facts, runs, step_summary
from jobmeter.stores import Store

_OWN = "jobmeter"
NEAR_SECONDS = 60.0
"""A reading further away says nothing of a moment."""

_UNASKED = frozenset(
    (
        *("utime", "stime", "task_clock", "minflt", "rchar", "wchar", "vsz_total", "mem_cached"),
        *("maxrss", "maxrss_floor", "hwm_total", "hwm_bound", "mem_peak", "outer_mem_peak"),
        *("rx", "tx", "net_rx", "net_tx", "net_receive", "net_transmit", "outer_io_read", "outer_io_write"),
    )
)
"""Quantities of the whole job that no detector looks at over time: what they come to is in the run's summary."""
_ASKED = frozenset(
    (
        *(metrics.LOSS, metrics.EVAL_LOSS, metrics.LR, metrics.GRAD_NORM, metrics.LOSS_SCALE),
        *(metrics.STEP_SECONDS, metrics.DATA_SECONDS, metrics.STEPS_PER_SECOND, metrics.SAMPLES_PER_SECOND),
        *(metrics.TOKENS_PER_SECOND, metrics.BATCH_SIZE, metrics.MEMORY),
    )
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a run without reading a point of it."""

    run: Run
    siblings: tuple[Run, ...]
    beside: tuple[Run, ...]
    """The siblings that ran at the same time: other ranks, not earlier lives."""
    history: tuple[Run, ...]


def facts(store: Store, run: Run) -> Facts:
    """Look up who else belongs to a run."""
    siblings = tuple(runs.siblings(store, run))
    beside = together.beside(run, siblings)
    earlier = history.earlier(store, run, {other.run_id for other in beside})
    return Facts(run=run, siblings=siblings, beside=beside, history=earlier)


def light(store: Store, known: Facts) -> RunView:
    """Show a run without its series and steps."""
    return RunView(
        run=known.run,
        series={},
        events=event_moments.filled(store, known.run),
        processes=tuple(store.processes(known.run.run_id)),
        siblings=known.siblings,
        history=known.history,
    )


def whole(store: Store, known: Facts) -> RunView:
    """Show a run as analysis needs it."""
    from jobmeter.service import told_exceptions

    run = known.run
    keys = [key for key, definition in run.definitions.items() if _is_told(definition)]
    found = store.series(run.run_id, keys, counters=runs.counters_of(run)) if keys else []
    series = {(one.key, one.instance): one for one in found}
    plain = light(store, known)
    printed = _errors(known)
    told = told_exceptions.errors(plain.events, printed, is_alone=(run.world_size or 1) == 1)
    return dataclasses.replace(
        plain,
        series=series,
        events=_with_events_beside(store, (*plain.events, *_scheduler(run)), known.beside),
        steps=_steps(store, run),
        log_errors=with_memory(
            sorted((*printed, *told), key=lambda error: error.timestamp or 0.0), memory_of(series)
        ),
        ranks=rank_facts.gather(store, run, known.beside),
    )


def _scheduler(run: Run) -> tuple[Event, ...]:
    if run.provenance.origin != _OWN or "environment" not in run.context:
        return ()
    from jobmeter.service import slurm_state

    return slurm_state.events(run)


def _is_told(definition: Measurement) -> bool:
    """Tell whether detectors look at a key over time."""
    number = definition.kind in (Kind.GAUGE, Kind.COUNTER)
    return (
        number and definition.scope is not Scope.PROCESS and definition.key.partition("_")[2] not in _UNASKED
    )


def _with_events_beside(store: Store, own: Sequence[Event], beside: Iterable[Run]) -> tuple[Event, ...]:
    told = [*own]
    for other in beside:
        rank = _only_rank(other)
        told += [
            event if event.rank is not None else dataclasses.replace(event, rank=rank)
            for event in store.events(other.run_id)
        ]
    return tuple(sorted(told, key=lambda event: event.timestamp))


def _only_rank(run: Run) -> int | None:
    return run.ranks[0] if len(run.ranks) == 1 else None


def _errors(known: Facts) -> tuple[LogError, ...]:
    """Read what the job's outputs complain of; the same complaint of several recorders is one."""
    from jobmeter.service import log_errors

    folded: dict[tuple[str | None, str, str], LogError] = {}
    for run in (known.run, *known.beside):
        for error in log_errors.read(run):
            rank = _only_rank(run)
            ranked = error if error.ranks or rank is None else dataclasses.replace(error, ranks=(rank,))
            name = (error.signature, error.type, error.message.partition("\n")[0])
            folded[name] = _together(folded[name], ranked) if name in folded else ranked
    return tuple(sorted(folded.values(), key=lambda error: error.timestamp or 0.0))


def _together(one: LogError, other: LogError) -> LogError:
    """Keep the one that was said first."""
    later = other.timestamp is None or (one.timestamp is not None and one.timestamp <= other.timestamp)
    first = one if later else other
    return dataclasses.replace(
        first, count=one.count + other.count, ranks=tuple(sorted({*one.ranks, *other.ranks}))
    )


def _steps(store: Store, run: Run) -> Steps:
    """Read the metrics that detectors ask for, of every rank by the sources to believe first."""
    sources: set[str] = set()
    names: set[str] = set()
    told: dict[int, set[str]] = {}
    for one in step_summary.best_first(store.step_statistics(run.run_id)):
        asked = {name for part in one.parts for name in part.metrics if _is_asked(name)}
        new = {metrics.canonical(name) for name in asked} - told.setdefault(one.rank, set())
        if new or not told[one.rank]:
            told[one.rank] |= new
            sources.add(one.source)
            names |= asked
    return Steps(tuple(store.steps(run.run_id, sources=sources, metrics=names))) if sources else Steps()


def _is_asked(name: str) -> bool:
    return metrics.canonical(name) in _ASKED or metrics.is_loss(name)


def memory_of(series: dict[tuple[str, str], Series]) -> Series | None:
    """Choose the series that says how much memory the job held, as detectors do."""
    from jobmeter.analysis.series import LADDER, Resource

    return next((series[key, ""] for key in LADDER[Resource.MEMORY] if (key, "") in series), None)


def with_memory(errors: Iterable[LogError], memory: Series | None) -> tuple[LogError, ...]:
    """Say of every error how much memory the job held then."""
    return tuple(error.at_memory(_nearest(memory, error.timestamp)) for error in errors)


def _nearest(memory: Series | None, moment: float | None) -> int | None:
    if memory is None or moment is None:
        return None
    place = bisect_left(memory.times, moment)
    near = list(_within(memory, moment, (place - 1, place)))
    return round(min(near)[1]) if near else None


def _within(memory: Series, moment: float, places: Iterable[int]) -> Iterator[tuple[float, float]]:
    for place in places:
        if 0 <= place < len(memory.times):
            away, value = abs(memory.times[place] - moment), memory.values[place]
            if away <= NEAR_SECONDS and value == value:
                yield away, value

"""Series and steps for charts: at most so many points each, with the least and largest of what each point stands for.

What can mislead: a point of a coarse chart is a stretch of samples, and how long it is may differ along one line; where
a store has figures of whole blocks it does not take them apart.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from jobmeter.errors import UnknownError, UsageError
from jobmeter.model import metrics
from jobmeter.model.measurement import Kind, Scope
from jobmeter.model.run import Run
from jobmeter.model.steps import Number, as_json
from jobmeter.model.stretches import StepClock, StepStretches, Stretches
from jobmeter.service import metric_lines, runs
from jobmeter.stores import Store

DEFAULT_POINTS = 500
MOST_POINTS = 10_000
MOST_KEYS = 50
MOST_VALUES = 500_000
"""Points of one answer, over all its lines."""
MOST_READ = 4 * MOST_VALUES
"""Points that are read for an answer about some instances."""
_CANDIDATES = 8
Shape = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of the series of a run."""

    names: tuple[str, ...] = ()
    """Keys of series, or metrics of steps; all where none is named."""
    instances: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    begin: float | None = None
    """Seconds since the epoch, or a step."""
    end: float | None = None
    points: int = DEFAULT_POINTS


def series(store: Store, run: Run, wanted: Wanted) -> Shape:
    """Read series of a run; without keys those of the whole job and host."""
    _check(wanted)
    keys = frozenset(wanted.names) if wanted.names else whole_job(run)
    _require_few(store, run, keys, wanted)
    found = store.stretches(
        run.run_id, keys, points=wanted.points, counters=runs.counters_of(run), between=_between(wanted)
    )
    unknown = sorted(keys - run.definitions.keys() - {one.key for one in found})
    if unknown:
        raise UnknownError(f"run {run.run_id} has no series {unknown[0][:80]}", hint=_known(run.definitions))
    lines = [one for one in found if not wanted.instances or one.instance in wanted.instances]
    _require_modest(sum(len(one.ends) for one in lines))
    return {
        "run_id": run.run_id,
        "series": [_line(run, one) for one in lines],
        "coarse": any(one.is_coarse for one in lines),
    }


def steps(store: Store, run: Run, wanted: Wanted) -> Shape:
    """Read metrics over the steps of a run, by the names their source gave them or by the quantity they are."""
    _check(wanted)
    told = store.step_statistics(run.run_id)
    known = {name for one in told for name in one.metrics}
    spelled = [_spelled(run, name, known) for name in wanted.names] or sorted(known)[:MOST_KEYS]
    found = store.step_stretches(
        run.run_id,
        spelled,
        points=wanted.points,
        ranks=wanted.ranks or None,
        between=None if wanted.begin is None and wanted.end is None else _steps_between(wanted),
    )
    _require_modest(sum(len(one.counts) for one in found))
    return {
        "run_id": run.run_id,
        "series": [_curve(one) for one in found],
        "metrics": sorted(known),
        "coarse": any(count > 1 for one in found for count in one.counts),
    }


def clocks(store: Store, run: Run, points: int) -> Shape:
    """Say when the steps of a run were taken, at some of them, and how fast they went between."""
    _check(Wanted(points=points))
    return {
        "run_id": run.run_id,
        "clocks": [_clock(one) for one in store.step_clocks(run.run_id, points=points)],
    }


def whole_job(run: Run) -> frozenset[str]:
    """Name what belongs to the job, its devices and its host: processes come by their keys only."""
    return frozenset(
        key
        for key, definition in run.definitions.items()
        if definition.scope is not Scope.PROCESS and definition.kind in (Kind.GAUGE, Kind.COUNTER)
    )


def _clock(one: StepClock) -> Shape:
    return {
        "rank": one.rank,
        "source": one.source,
        "writer": one.writer,
        "step": list(one.steps),
        "t": list(one.times),
        "steps_per_second": [None, *map(_pace, pairwise(zip(one.steps, one.times, strict=True)))],
    }


def _pace(ends: tuple[tuple[int, float], tuple[int, float]]) -> float | None:
    (step, moment), (next_step, next_moment) = ends
    if next_step <= step or next_moment <= moment:
        return None
    return (next_step - step) / (next_moment - moment)


def _check(wanted: Wanted) -> None:
    if not 2 <= wanted.points <= MOST_POINTS:
        raise UsageError(
            f"a line has 2 to {MOST_POINTS} points, not {wanted.points}", hint="ask for fewer, or for a part"
        )
    if len(wanted.names) > MOST_KEYS:
        raise UsageError(f"{len(wanted.names)} lines are too many", hint=f"ask for at most {MOST_KEYS}")
    ends = [end for end in (wanted.begin, wanted.end) if end is not None]
    if not all(map(isfinite, ends)) or (len(ends) == 2 and ends[0] > ends[1]):
        raise UsageError("the part ends before it begins", hint="`from` comes before `to`")


def _require_few(store: Store, run: Run, keys: Collection[str], wanted: Wanted) -> None:
    """Refuse before reading: a job may have had thousands of processes."""
    definitions = (run.definitions.get(key) for key in keys)
    if all(one is not None and one.scope is not Scope.PROCESS for one in definitions):
        return
    known = store.statistics(run.run_id)
    # those of other instances are read as well, and left out
    most = MOST_READ if wanted.instances else MOST_VALUES
    _require_modest(sum(min(wanted.points, one.n) for (key, _), one in known.items() if key in keys), most)


def _require_modest(values: int, most: int | None = None) -> None:
    if values > (MOST_VALUES if most is None else most):
        raise UsageError("too much for one answer", hint="ask for fewer points, keys or instances")


def _between(wanted: Wanted) -> tuple[float, float] | None:
    if wanted.begin is None and wanted.end is None:
        return None
    begin = float("-inf") if wanted.begin is None else wanted.begin
    return begin, float("inf") if wanted.end is None else wanted.end


def _steps_between(wanted: Wanted) -> tuple[int, int]:
    begin = -(2**62) if wanted.begin is None else int(wanted.begin)
    return begin, 2**62 if wanted.end is None else int(wanted.end)


def _line(run: Run, one: Stretches) -> Shape:
    definition = run.definitions.get(one.key)
    return {
        "key": one.key,
        "instance": one.instance,
        "kind": None if definition is None else definition.kind.value,
        "unit": None if definition is None else definition.unit.value,
        "rate": one.is_rate,
        "t": list(one.ends),
        "begin": list(one.begins),
        "n": list(one.counts),
        "min": _finite(one.lows),
        "max": _finite(one.highs),
        "mean": _finite(one.means),
        "last": _finite(one.lasts),
    }


def _curve(one: StepStretches) -> Shape:
    return {
        "metric": one.metric,
        "rank": one.rank,
        "source": one.source,
        "writer": one.writer,
        "rising": one.is_rising,
        "step": list(one.last_steps),
        "first_step": list(one.first_steps),
        "n": list(one.counts),
        "finite": list(one.finites),
        "min": _finite(one.lows),
        "max": _finite(one.highs),
        "last": [as_json(value) for value in one.lasts],
    }


def _finite(values: Sequence[Number]) -> list[Number | None]:
    return [value if isinstance(value, int) or isfinite(value) else None for value in values]


def _spelled(run: Run, name: str, known: set[str]) -> str:
    found = metric_lines.spelling(name, known) or metric_lines.spelling(metrics.canonical(name), known)
    if found is None:
        raise UnknownError(f"run {run.run_id} has no metric {name[:80]}", hint=_known(known))
    return found


def _known(names: Iterable[str] | Collection[str]) -> str:
    shown = sorted(names)
    if not shown:
        return "it has none"
    return f"it has {', '.join(shown[:_CANDIDATES])}" + (", ..." if len(shown) > _CANDIDATES else "")

"""What a training came to, as rows: its steps in one line, its ranks, and what it said itself."""

from collections.abc import Iterator, Sequence

from jobmeter.cli.render import spans
from jobmeter.cli.render.rows import Row
from jobmeter.cli.render.screen import Style
from jobmeter.model import metrics, text, units
from jobmeter.model.run import Run, Value
from jobmeter.model.steps import MetricSummary, StepSummary

MOST_RESULTS = 6
_MOST_RANKS = 100_000

_MAIN = (metrics.LOSS, metrics.EVAL_LOSS, metrics.ACCURACY, metrics.REWARD)
"""What the one line shows: the first of these that was logged."""
_EVAL_ACCURACY = "eval_accuracy"
_RISING = frozenset((metrics.ACCURACY, metrics.REWARD, _EVAL_ACCURACY))


def step_rows(run: Run, siblings: Sequence[Run] = ()) -> Iterator[Row]:
    """Say how the training went; a run that logged nothing has no row."""
    if run.steps is not None:
        yield _steps(run.steps)
        yield from _evaluated(run.steps)
    yield from _ranks(run, siblings)
    if run.results:
        shown = [f"{text.clean(key)} {_value(value)}" for key, value in run.results.items()]
        more = f"  and {len(shown) - MOST_RESULTS} more, see --json" if len(shown) > MOST_RESULTS else ""
        yield Row("results", "  ".join(shown[:MOST_RESULTS]) + more)


def _steps(summary: StepSummary) -> Row:
    parts = [_count(summary)]
    name = next((name for name in _MAIN if name in summary.metrics), next(iter(summary.metrics), None))
    broken = False
    if name is not None:
        found = summary.metrics[name]
        parts.append(f"{text.clean(name)} {course(name, found)}")
        broken = isinstance(found.last, str)
    if summary.steps_per_second is not None:
        parts.append(_pace(summary.steps_per_second))
    style = Style.BAD if broken else Style.PLAIN
    return Row("steps", "  ".join(parts), text.clean(summary.source), style)


def _evaluated(summary: StepSummary) -> Iterator[Row]:
    """Say what data held back came to, where the line above is about the training itself."""
    if metrics.LOSS not in summary.metrics:
        return
    known = [name for name in (metrics.EVAL_LOSS, _EVAL_ACCURACY) if name in summary.metrics]
    if known:
        yield Row("", "  ".join(f"{name} {course(name, summary.metrics[name])}" for name in known))


def _count(summary: StepSummary) -> str:
    count = units.format_count(summary.count)
    # a loop that logs every step counts from 0 or from 1
    if summary.last_step in (summary.count, summary.count - 1):
        return count
    # evaluations are records of their own, at steps that have one already
    records = " records" if summary.count > summary.last_step else ""
    return f"{count}{records} to step {units.format_count(summary.last_step)}"


def course(name: str, found: MetricSummary) -> str:
    """Say from where to where a metric went, and its best value where that is neither."""
    first, course = _value(found.first), _value(found.last)
    ends = (first, course)
    if first != course:
        course = f"{first} -> {course}"
    best = found.high if name in _RISING else found.low
    if best is not None and _value(best) not in ends:
        course += f" (best {_value(best)})"
    return course


def _pace(steps_per_second: float) -> str:
    if steps_per_second >= 1:
        return f"{units.format_metric(float(f'{steps_per_second:.3g}'))} it/s"
    return f"{units.format_seconds(1 / steps_per_second)}/it"


def _value(value: Value) -> str:
    return text.cut(text.clean(value), 60) if isinstance(value, str) else units.format_metric(value)


def _ranks(run: Run, siblings: Sequence[Run]) -> Iterator[Row]:
    """Name the ranks that were seen here and by the job's other recorders, and those that never were."""
    if not run.ranks:
        return
    elsewhere = tuple(sorted({rank for other in siblings for rank in other.ranks} - set(run.ranks)))
    count = run.world_size or 0
    seen = {*run.ranks, *elsewhere}
    never = sorted(set(range(min(count, _MOST_RANKS))) - seen)
    here = spans.written(run.ranks)
    parts = [f"{here} of {count}" if never or (elsewhere and count) else here]
    if count == len(run.ranks) and not never:
        parts = [f"all {count}"]
    parts += [f"elsewhere in the job: {spans.written(elsewhere)}"] if elsewhere else []
    parts += [f"never seen: {spans.written(never)}"] if never else []
    yield Row("ranks", "; ".join(parts), style=Style.WARN if never else Style.PLAIN)

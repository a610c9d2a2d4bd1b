"""What a training came to, as rows: its steps in one line, its ranks, and what it said itself."""

from collections.abc import Iterator

from jobmeter.cli.render.rows import Row
from jobmeter.cli.render.screen import Style
from jobmeter.model import metrics, text, units
from jobmeter.model.run import Run, Value
from jobmeter.model.steps import MetricSummary, StepSummary

MOST_RESULTS = 6
_MOST_RANKS = 100_000

_MAIN = (metrics.LOSS, metrics.EVAL_LOSS, metrics.ACCURACY, metrics.REWARD)
"""What the one line shows: the first of these that was logged."""
_RISING = frozenset((metrics.ACCURACY, metrics.REWARD))


def step_rows(run: Run) -> Iterator[Row]:
    """Say how the training went; a run that logged nothing has no row."""
    if run.steps is not None:
        yield _steps(run.steps)
    yield from _ranks(run)
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
        parts.append(f"{text.clean(name)} {_course(name, found)}")
        broken = isinstance(found.last, str)
    if summary.steps_per_second is not None:
        parts.append(_pace(summary.steps_per_second))
    style = Style.BAD if broken else Style.PLAIN
    return Row("steps", "  ".join(parts), text.clean(summary.source), style)


def _count(summary: StepSummary) -> str:
    count = units.format_count(summary.count)
    # a loop that logs every step counts from 0 or from 1
    if summary.last_step in (summary.count, summary.count - 1):
        return count
    return f"{count} to step {units.format_count(summary.last_step)}"


def _course(name: str, found: MetricSummary) -> str:
    course = _value(found.last)
    if found.first != found.last:
        course = f"{_value(found.first)} -> {course}"
    best = found.high if name in _RISING else found.low
    if best is not None and best not in (found.last, found.first):
        course += f" (best {_value(best)})"
    return course


def _pace(steps_per_second: float) -> str:
    if steps_per_second >= 1:
        return f"{units.format_metric(float(f'{steps_per_second:.3g}'))} it/s"
    return f"{units.format_seconds(1 / steps_per_second)}/it"


def _value(value: Value) -> str:
    return text.cut(text.clean(value), 60) if isinstance(value, str) else units.format_metric(value)


def _ranks(run: Run) -> Iterator[Row]:
    """Name the ranks that were seen, and those that never were."""
    if not run.ranks:
        return
    count = run.world_size or 0
    never = sorted(set(range(min(count, _MOST_RANKS))) - set(run.ranks))
    if never:
        body = f"{_spans(run.ranks)} of {count}; never seen: {_spans(tuple(never))}"
        yield Row("ranks", body, style=Style.WARN)
    else:
        yield Row("ranks", f"all {count}" if count == len(run.ranks) else _spans(run.ranks))


def _spans(numbers: tuple[int, ...]) -> str:
    """Write numbers with runs of neighbours as one: `0-6, 9`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)

"""Steps of a run as rows of StepMetric: by the source that tells the run, what a resumed loop replaced left out.

The batch size is what the step says, else what the last `batch_size_changed` event before it says, else what
the config does. A step without a time has no row: the table wants one.
"""

from bisect import bisect_right
from collections.abc import Iterator
from math import isfinite

from jobmeter.model import metrics
from jobmeter.model.aitk import StepRow
from jobmeter.model.run import Run
from jobmeter.model.steps import Step, latest
from jobmeter.model.view import RunView


def rows(view: RunView) -> Iterator[StepRow]:
    """Give one row per step."""
    told = _told(view)
    changes = _batch_sizes(view)
    moments = [moment for moment, _ in changes]
    before: tuple[int, float] | None = None
    for place in latest([step.step for step in told]):
        step = told[place]
        if step.timestamp is None:
            continue
        batch = changes[bisect_right(moments, step.timestamp) - 1][1] if changes else None
        yield _row(step, step.timestamp, before, batch)
        before = (step.step, step.timestamp)


def _told(view: RunView) -> list[Step]:
    summary = view.run.steps
    if summary is None:
        return []
    chosen = (summary.source, summary.rank)
    return [
        step for table in view.steps.tables if (table.source, table.rank) == chosen for step in table.rows()
    ]


def _batch_sizes(view: RunView) -> list[tuple[float, int | None]]:
    """List the batch sizes that held, each with the moment from which on it did."""
    found: list[tuple[float, int | None]] = [(float("-inf"), _configured(view.run))]
    for event in view.events:
        size = event.details.get("batch_size", event.details.get("to"))
        if event.type == "batch_size_changed" and isinstance(size, int):
            found.append((event.timestamp, size))
    return found


def _configured(run: Run) -> int | None:
    """Look where ai-toolkit's config has it: `config.process[0].train.batch_size`."""
    found: object = run.context.get("config")
    for name in ("config", "process", 0, "train", "batch_size"):
        if isinstance(found, dict) and isinstance(name, str):
            found = found.get(name)
        elif isinstance(found, list) and found and isinstance(name, int):
            found = found[name]
        else:
            return None
    return found if isinstance(found, int) else None


def _row(step: Step, timestamp: float, before: tuple[int, float] | None, batch: int | None) -> StepRow:
    named = {
        metrics.canonical(name): metrics.in_base_units(name, value)
        for name, value in step.metrics.items()
        if isfinite(value)
    }
    # a loss that is one of several has a name of its own
    loss = metrics.pick(step.metrics, metrics.LOSS)
    told_batch = named.get(metrics.BATCH_SIZE)
    return StepRow(
        step=step.step,
        timestamp=timestamp,
        loss=None if loss is None else step.metrics[loss],
        batch_size=batch if told_batch is None else int(told_batch),
        gradient_norm=named.get(metrics.GRAD_NORM),
        learning_rate=named.get(metrics.LR),
        step_time_seconds=_seconds(named, step.step, timestamp, before),
    )


def _seconds(
    named: dict[str, float], step: int, timestamp: float, before: tuple[int, float] | None
) -> float | None:
    """Take the time a step took as it was told, or from its speed, or from when the one before was written."""
    told = named.get(metrics.STEP_SECONDS)
    if told is not None:
        return told
    speed = named.get(metrics.STEPS_PER_SECOND)
    if speed:
        return 1 / speed
    return None if before is None else (timestamp - before[1]) / (step - before[0])

"""Runs side by side: what they used, how they were run, and how they went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobmeter.analysis import comparison, series
from jobmeter.analysis.comparison import Better, Comparison
from jobmeter.errors import UsageError
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView
from jobmeter.service import analytics_facts, by_id, check_limits, checking, notices, runs
from jobmeter.stores import Store

MOST_RUNS = 20
_KEYS: dict[str, Better] = {
    "wall": Better.LESS,
    "cpu_seconds": Better.LESS,
    "cores": Better.NEITHER,
    "memory_peak": Better.LESS,
    "io_read": Better.NEITHER,
    "io_write": Better.NEITHER,
    "gpu_util": Better.MORE,
    "gpu_memory": Better.LESS,
    "energy": Better.LESS,
    "steps.last_step": Better.NEITHER,
    "steps.per_second": Better.MORE,
    "samples_per_second": Better.MORE,
    "tokens_per_second": Better.MORE,
    "loss": Better.LESS,
    "loss.min": Better.LESS,
    "eval_loss": Better.LESS,
    "accuracy": Better.MORE,
    "eval_accuracy": Better.MORE,
}
_ENVIRONMENT = (
    "environment",
    "git",
    "host",
    "packages",
    "python",
    "versions",
    "frameworks",
    "limits",
    "slurm",
)
"""What the recorder and the SDK say of where a run ran."""


@dataclass(frozen=True, slots=True)
class _Gathered:
    view: RunView
    losses: list[tuple[int, float]]


def compare(
    home: str, refs: Sequence[str], *, warn: notices.Warn = notices.to_stderr
) -> tuple[list[Run], Comparison]:
    """Compare runs in the order they are named."""
    _check(refs)
    return _compared([runs.ask(home, ref, _gather, warn=warn) for ref in refs])


def compare_ids(home: str, run_ids: Sequence[str]) -> Comparison:
    """Compare runs by their very ids."""
    _check(run_ids)
    return _compared([by_id.ask(home, run_id, _gather) for run_id in run_ids])[1]


def _check(refs: Sequence[str]) -> None:
    if not 2 <= len(refs) <= MOST_RUNS:
        raise UsageError(
            f"{len(refs)} runs cannot be compared",
            hint=f"name 2 to {MOST_RUNS} runs, as in jobmeter compare A B",
        )


def _compared(found: Sequence[_Gathered]) -> tuple[list[Run], Comparison]:
    asked = [one.view.run for one in found]
    ids = tuple(run.run_id for run in asked)
    if len(set(ids)) < len(ids):
        twice = next(run_id for run_id in ids if ids.count(run_id) > 1)
        raise UsageError(f"run {twice} is named twice", hint="name different runs")
    return asked, Comparison(
        run_ids=ids,
        figures=tuple(_figures(asked)),
        config=comparison.differences([_settings(run) for run in asked]),
        environment=comparison.differences(_surroundings(asked)),
        phases=comparison.phases([one.view for one in found]),
        losses=comparison.losses([one.losses for one in found]),
    )


def _gather(store: Store, run: Run) -> _Gathered:
    keys = series.keys_of(run)
    found = store.series(run.run_id, keys, counters=runs.counters_of(run)) if keys else []
    told = analytics_facts.told_by_rank(store, run)
    view = RunView(run=run, series={(one.key, one.instance): one for one in found})
    return _Gathered(view, told[min(told)].losses if told else [])


def _figures(asked: Sequence[Run]) -> list[comparison.Figure]:
    may_win = [run.status is Status.COMPLETED for run in asked]
    rows = (
        comparison.figure(
            key,
            check_limits.unit_of(key),
            better,
            [checking.value_of(run, key) for run in asked],
            may_win,
        )
        for key, better in _KEYS.items()
    )
    return [row for row in rows if row is not None]


def _settings(run: Run) -> dict[str, object]:
    config = run.context.get("config")
    settings: dict[str, object] = dict(config) if isinstance(config, Mapping) else {}
    return {**comparison.words(run.command), **settings}


def _surroundings(asked: Sequence[Run]) -> list[dict[str, object]]:
    """Give what is known of the surroundings of every run: a part that one lacks says nothing of a difference."""
    names = [name for name in _ENVIRONMENT if all(run.context.get(name) is not None for run in asked)]
    return [{name: run.context[name] for name in names} for run in asked]

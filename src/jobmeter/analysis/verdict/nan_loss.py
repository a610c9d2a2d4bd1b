"""The loss became NaN and stayed so, by the job's steps or by its output; also in a run that then ended well.

A single NaN that numbers follow is a step that mixed precision skipped. A loss of exactly 0 with a gradient
norm of NaN, row after row, is what trainers print that filter NaN out of their mean.
"""

from math import isnan

import numpy as np

from jobmeter.analysis.verdict import facts, story
from jobmeter.model import metrics
from jobmeter.model.report import Cause, Evidence, LogError, Verdict
from jobmeter.model.steps import StepTable
from jobmeter.model.view import RunView

_SEVERAL = 3


def judge(view: RunView) -> Verdict | None:
    """Say that the loss is not a number."""
    error = story.root(view)
    if error is not None and error.signature != "nan_loss" and facts.went_wrong(view):
        return None
    if error is not None and error.signature == "nan_loss" and facts.went_wrong(view):
        sentence = f"the job stopped because its loss became NaN{facts.on_ranks(error)}"
        evidence = facts.quoted(error, "the job says so")
        return facts.verdict(Cause.NAN_LOSS, sentence, 0.95, evidence, *facts.endings(view.run))
    return _from_steps(view) or _from_rows(view)


def _from_steps(view: RunView) -> Verdict | None:
    for table in view.steps.tables:
        for name in table.columns:
            if metrics.canonical(name) not in (metrics.LOSS, metrics.EVAL_LOSS):
                continue
            since = _since(table, name)
            if since is not None:
                evidence = Evidence(
                    sentence=f"{name} is NaN from step {since} on",
                    source=table.source,
                    value=since,
                    rank=table.rank,
                )
                return facts.verdict(
                    Cause.NAN_LOSS, f"{name} became NaN at step {since} and stayed so", 0.9, evidence,
                    *facts.endings(view.run),
                )  # fmt: skip
    return None


def _since(table: StepTable, name: str) -> int | None:
    """Find the step from which on no value is a number; None where the last ones are."""
    column = table.columns[name]
    rows = range(len(table.steps)) if column.rows is None else column.rows
    hidden = _hidden(table)
    first: int | None = None
    trailing = 0
    enough = min(_SEVERAL, len(column.values))
    for row, value in zip(reversed(rows), reversed(column.values), strict=True):
        if not isnan(value) and not (value == 0 and row in hidden):
            break
        first, trailing = table.steps[row], trailing + 1
        if value == 0:
            enough = _SEVERAL  # one row of 0 and NaN is warm-up; a NaN loss itself is none
    return first if trailing >= enough else None


def _hidden(table: StepTable) -> frozenset[int]:
    """Find the rows whose gradient is NaN."""
    found: set[int] = set()
    for name, column in table.columns.items():
        if metrics.canonical(name) == metrics.GRAD_NORM:
            places = np.flatnonzero(~np.isfinite(np.asarray(column.values, dtype=np.float64)))
            found.update(place if column.rows is None else column.rows[place] for place in map(int, places))
    return frozenset(found)


def _from_rows(view: RunView) -> Verdict | None:
    if any(metrics.canonical(name) == metrics.LOSS for table in view.steps.tables for name in table.columns):
        return None  # the steps themselves say that it is a number again
    rows: list[LogError] = [
        one for one in view.log_errors if one.signature == "nan_loss" and not one.survived
    ]
    if not rows:
        return None
    times = f"{rows[0].count} times" if rows[0].count > 1 else "once"
    return facts.verdict(
        Cause.NAN_LOSS,
        f"{rows[0].fields.get('metric', 'the loss')} is NaN, told {times} and never a number again",
        0.8,
        facts.quoted(rows[0], "the job printed it"),
        *facts.endings(view.run),
    )

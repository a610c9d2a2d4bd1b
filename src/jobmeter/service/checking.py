"""Guard a job: hold a run against another one, or against all earlier runs of the same work.

Against one run a limit decides. Against history a change point test does, because single runs scatter: it needs
nine runs, claims a change once, and then takes the new level for the usual one until it goes back.
"""

import time
from collections.abc import Iterator, Sequence
from math import isfinite

from jobmeter.analysis import jobkey, regression
from jobmeter.analysis.regression import Ruling, Told
from jobmeter.errors import UsageError
from jobmeter.model import text, units
from jobmeter.model.check import Checked, CheckReport
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.service import check_limits, fields, notices, runs
from jobmeter.service.check_limits import Limit
from jobmeter.stores import Store

HISTORY = "history"
DEFAULT_KEYS = ("cpu_seconds", "memory_peak", "samples_per_second", "tokens_per_second", "steps.per_second")
"""What is guarded unless keys are named, as far as a run has it; one measure of throughput is enough."""
_THROUGHPUTS = DEFAULT_KEYS[2:]
_DEFAULT_SHARE = "+10%"
MOST_RUNS = 200


def check(
    home: str,
    ref: str,
    against: str,
    limits: Sequence[str] = (),
    *,
    warn: notices.Warn = notices.to_stderr,
) -> CheckReport:
    """Check a run."""
    wanted = [check_limits.parse(one) for one in limits]
    if against == HISTORY:
        return runs.ask(home, ref, lambda store, run: _over_history(store, run, wanted), warn=warn)
    baseline = runs.find(home, against, warn=warn)
    run = runs.find(home, ref, warn=warn)
    return _against_run(run, baseline, wanted)


def value_of(run: Run, key: str) -> float | None:
    """Read a number of a run; None where it has none."""
    found = fields.look_up(fields.of_run(run), key)
    return float(found) if isinstance(found, int | float) and isfinite(found) else None


def _against_run(run: Run, baseline: Run, wanted: Sequence[Limit]) -> CheckReport:
    _require_ended(run, baseline)
    limits = wanted or [
        check_limits.parse(f"{key}={_DEFAULT_SHARE}")
        for key in DEFAULT_KEYS[:2]
        if value_of(run, key) is not None and value_of(baseline, key) is not None
    ]
    if not limits:
        raise UsageError("the runs have no number in common to check", hint="name one: --max KEY=+5%")
    return CheckReport(
        run_id=run.run_id,
        against=baseline.run_id,
        checks=tuple(_held(run, baseline, limit) for limit in limits),
        notes=(*_notes(run), *_notes(baseline)),
    )


def _held(run: Run, baseline: Run, limit: Limit) -> Checked:
    value = _required(run, limit.key)
    before = _required(baseline, limit.key) if limit.is_relative else value_of(baseline, limit.key)
    bound = limit.amount
    if limit.is_relative and before is not None:
        bound = before + (limit.amount * abs(before) if limit.is_share else limit.amount)
    falls = limit.is_relative and limit.given.startswith("-")
    is_bad = value < bound if falls else value > bound
    percent = None if not before else 100 * (value - before) / abs(before)
    return Checked(
        key=limit.key,
        unit=check_limits.unit_of(limit.key),
        told="exceeded" if is_bad else "ok",
        sentence=_held_sentence(limit, value, before, bound, percent),
        is_bad=is_bad,
        value=value,
        baseline=before,
        change_percent=percent,
        limit=limit.given,
    )


def _held_sentence(
    limit: Limit, value: float, before: float | None, bound: float, percent: float | None
) -> str:
    shown = f"{limit.key} is {show(limit.key, value)}"
    if before is not None:
        shown += f", {signed(percent)} against {show(limit.key, before)}"
    allowed = f"{text.clean(limit.given)} allows " if limit.is_relative else "allowed is "
    return f"{shown}; {allowed}{show(limit.key, bound)}"


def signed(percent: float | None) -> str:
    """Write a change in percent with its sign."""
    if percent is None:
        return "a change"
    return f"{percent:+.1f} %" if abs(percent) < 100 else f"{percent:+,.0f} %"


def show(key: str, value: float) -> str:
    """Write a number of a key for people."""
    return units.format_amount(value, check_limits.unit_of(key))


def _required(run: Run, key: str) -> float:
    value = value_of(run, key)
    if value is None:
        raise UsageError(f"run {run.run_id} has no {key}", hint=f"see `jobmeter show {run.run_id} --all`")
    return value


def _require_ended(*asked: Run) -> None:
    for run in asked:
        if run.status in LIVE:
            raise UsageError(
                f"run {run.run_id} is still {run.status.value}", hint="check it once it has ended"
            )


def _notes(run: Run) -> Iterator[str]:
    if run.status is not Status.COMPLETED:
        yield f"run {run.run_id} did not complete ({run.status.value}): its numbers say little"


def _over_history(store: Store, run: Run, wanted: Sequence[Limit]) -> CheckReport:
    _require_ended(run)
    earlier = _earlier(store, run)
    limits = {limit.key: limit for limit in wanted}
    checks = [_judged(run, earlier, key, limits.get(key)) for key in limits or _keys(run)]
    few = all(one.told == Told.NOT_ENOUGH.value for one in checks)
    notes = [*_notes(run)]
    if few:
        notes.append(
            f"not enough history of {text.clean(jobkey.job_key(run))}: "
            f"{len(earlier)} earlier runs completed, a change shows from {regression.FEWEST} on"
        )
    return CheckReport(run_id=run.run_id, against=HISTORY, checks=tuple(checks), notes=tuple(notes))


def _earlier(store: Store, run: Run) -> list[Run]:
    """Read the completed runs of the same work that began before, oldest first."""
    begin = time.time() if run.started_at is None else run.started_at
    found: list[Run] = []
    for run_id in store.of_key(jobkey.job_key(run)):
        if len(found) == MOST_RUNS:
            break
        other = store.brief(run_id) if run_id != run.run_id else None
        if other is None or other.status is not Status.COMPLETED:
            continue
        if other.started_at is not None and other.started_at < begin:
            found.append(other)
    return found[::-1]


def _keys(run: Run) -> list[str]:
    present = [key for key in DEFAULT_KEYS if value_of(run, key) is not None]
    first = next((key for key in present if key in _THROUGHPUTS), None)
    return [key for key in present if key not in _THROUGHPUTS or key == first]


def _judged(run: Run, earlier: Sequence[Run], key: str, limit: Limit | None) -> Checked:
    value = _required(run, key)
    if limit is not None and not limit.is_relative:
        return _held(run, run, limit)
    told = [(other.run_id, known) for other in earlier if (known := value_of(other, key)) is not None]
    values = [*(known for _, known in told), value]
    names = [*(name for name, _ in told), run.run_id]
    more_is_worse = check_limits.is_more_worse(key) if limit is None else not limit.given.startswith("-")
    ruling = regression.judge(values, more_is_worse=more_is_worse, least=_least(limit, values))
    since = None if ruling.since is None else names[ruling.since]
    is_new = since is not None and ruling.told is not Told.STEADY
    share = ruling.share
    return Checked(
        key=key,
        unit=check_limits.unit_of(key),
        told=ruling.told.value,
        sentence=_sentence(key, ruling, since),
        is_bad=ruling.told is Told.WORSE,
        value=value,
        baseline=ruling.usual,
        change_percent=None if share is None else 100 * share,
        limit=None if limit is None else limit.given,
        since_run=since if is_new else None,
        runs=ruling.runs,
    )


def _least(limit: Limit | None, values: Sequence[float]) -> float:
    """Say the least change to claim, in parts of the usual value."""
    if limit is None:
        return regression.LEAST_SHARE
    if limit.is_share:
        return abs(limit.amount)
    usual = abs(sorted(values)[len(values) // 2])
    return abs(limit.amount) / usual if usual else regression.LEAST_SHARE


def _sentence(key: str, ruling: Ruling, since: str | None) -> str:
    if ruling.usual is None or ruling.now is None:
        return f"{key}: {ruling.runs} earlier runs are too few to tell a change"
    now, usual = show(key, ruling.now), show(key, ruling.usual)
    share = ruling.share
    change = signed(None if share is None else 100 * share)
    match ruling.told:
        case Told.WORSE:
            return (
                f"{key} is {now} since run {since}, {change} against {usual} in the {ruling.runs} runs before"
            )
        case Told.BETTER:
            return f"{key} is better: {now} since run {since}, {change} against {usual}"
        case Told.STILL_WORSE:
            return f"{key} is still {now} since run {since}, {change} against {usual} before; told already"
        case _:
            return f"{key} is {now}, {change} against {usual} in {ruling.runs} runs"

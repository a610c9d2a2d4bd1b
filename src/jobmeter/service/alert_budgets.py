"""What was spent, held against budgets: GPU-hours, energy and its price, of one run or of many.

What can mislead: a GPU counts for as long as the job runs, whether it works or waits, because nobody else may have
it; energy and cost are what was measured, and a run of which neither is known adds nothing.
"""

from collections.abc import Iterable, Iterator

from jobmeter.model.alert import Budget, Holds, Per, Sign, Spent
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.query import Filter
from jobmeter.model.run import LIVE, Run
from jobmeter.service import energy, fields
from jobmeter.stores import Store

_HOUR = 3600.0
_WORDS = {Spent.GPU_HOURS: "GPU-hours", Spent.ENERGY_KWH: "kWh", Spent.COST: ""}


def of_run(budget: Budget, store: Store, run: Run, now: float) -> float | None:
    """Say how much a run spent so far; None where that was not measured."""
    if budget.spent is Spent.GPU_HOURS:
        gpus, seconds = _gpus(store, run), wall_seconds(run, now)
        return None if gpus is None or seconds is None else gpus * seconds / _HOUR
    account = energy.account(run) or {}
    value = account.get("kwh" if budget.spent is Spent.ENERGY_KWH else "energy_cost")
    return float(value) if isinstance(value, int | float) else None


def wall_seconds(run: Run, now: float) -> float | None:
    """Say how long a run took, or has taken."""
    if run.wall_seconds is not None or run.status not in LIVE:
        return run.wall_seconds
    return None if run.started_at is None else max(0.0, now - run.started_at)


def _gpus(store: Store, run: Run) -> int | None:
    """Count the GPUs a job had, by the best tool that saw any."""
    if not any(f"{tool}_{what}" in run.definitions for tool in GPU_TOOLS for what in ("util", "mem_used")):
        return None
    seen = store.statistics(run.run_id)
    for tool in GPU_TOOLS:
        keys = (f"{tool}_util", f"{tool}_mem_used")
        devices = {instance for key, instance in seen if key in keys and instance}
        if devices:
            return len(devices)
    return None


def sign_of_run(budget: Budget, store: Store, run: Run, now: float) -> Iterator[Sign]:
    """Hold one run against its own budget."""
    spent = of_run(budget, store, run, now)
    if spent is not None:
        yield _sign(budget, "", spent, now, happened=run.status not in LIVE)


class Ledger:
    """Adds up what many runs spent; what an ended run came to is remembered."""

    def __init__(self) -> None:
        self._ended: dict[tuple[str, Spent], float] = {}

    def signs(
        self,
        budget: Budget,
        store: Store,
        where: Filter | None,
        now: float,
        only: Iterable[str] | None = None,
    ) -> Iterator[Sign]:
        """Hold the sums of all runs that a rule is about against a budget, group by group."""
        totals: dict[str, float] = {}
        since = None if budget.window_seconds is None else now - budget.window_seconds
        for run_id, known in store.fields():
            started = known.get("started")
            if since is not None and not (isinstance(started, int | float) and started >= since):
                continue
            if where is not None and not where.matches(known):
                continue
            group = group_of(budget, known)
            spent = None if group is None else self._spent(budget, store, run_id, now)
            if group is not None and spent is not None:
                totals[group] = totals.get(group, 0.0) + spent
        for group, total in totals.items():
            if only is None or group in only:
                yield _sign(budget, group, total, now)

    def _spent(self, budget: Budget, store: Store, run_id: str, now: float) -> float | None:
        name = (run_id, budget.spent)
        if name in self._ended:
            return self._ended[name]
        run = store.run(run_id)
        spent = None if run is None else of_run(budget, store, run, now)
        if run is not None and spent is not None and run.status not in LIVE:
            self._ended[name] = spent
        return spent


def group_of(budget: Budget, known: object) -> str | None:
    """Name whose budget a run counts for."""
    if budget.per in (Per.ALL, Per.RUN):
        return ""
    found = known.get(budget.per.value) if isinstance(known, dict) else None
    return None if found is None else str(found)


def group_of_run(budget: Budget, run: Run) -> str | None:
    """Name whose budget a run counts for."""
    return group_of(budget, fields.of_run(run))


def _sign(budget: Budget, group: str, spent: float, now: float, *, happened: bool = False) -> Sign:
    over = spent > budget.limit
    word = _WORDS[budget.spent]
    who = {
        Per.RUN: "the run",
        Per.ALL: "all runs",
        Per.PROJECT: f"project {group}",
        Per.USER: f"user {group}",
    }
    return Sign(
        instance=group,
        holds=Holds.YES if over else Holds.NO,
        sentence=f"{who[budget.per]} spent {spent:.4g} of {budget.limit:.4g} {word}".rstrip(),
        at=now,
        clock=now,
        value=spent,
        happened=happened and over,
    )

"""What many runs spent together, held against a budget."""

from pathlib import Path

from jobmeter.model.alert import Budget, Holds, Per, Spent
from jobmeter.model.run import Run
from jobmeter.service import alert_budgets, filters, index
from jobmeter.stores import Store
from support import folders

HOUR = 3600.0
NOW = folders.STARTED + 10 * HOUR
KWH = 3_600_000
PRICED: folders.Record = {"options": {"energy_price": "0.50 EUR"}}


def home_of_three(home: Path) -> Store:
    """Three runs that ended, of two projects; what the third spent was not measured."""
    for number, (project, joules) in enumerate((("a", 2 * KWH), ("a", 3 * KWH), ("b", None))):
        started = folders.STARTED + number * HOUR
        end: folders.Record = {} if joules is None else {"summary": {"nvml_energy": joules}}
        folders.write_run(
            home,
            run_id=f"{folders.RUN_ID}{number}",
            seconds=2,
            started=started,
            start={"project": project},
            context=PRICED,
            end=end,
        )
    opened = index.open_index(home)
    opened.refresh()
    return opened.ask(lambda store: store)


def spent(
    store: Store, budget: Budget, where: str = "", only: list[str] | None = None
) -> dict[str, float | None]:
    chosen = filters.parse(where, now=NOW) if where else None
    signs = alert_budgets.Ledger().signs(budget, store, chosen, NOW, only)
    return {sign.instance: sign.value for sign in signs}


def test_projects_are_added_up_apart(tmp_path: Path) -> None:
    store = home_of_three(tmp_path)
    budget = Budget(spent=Spent.ENERGY_KWH, limit=4, per=Per.PROJECT)
    assert spent(store, budget) == {"a": 5.0}
    (sign,) = alert_budgets.Ledger().signs(budget, store, None, NOW)
    assert sign.holds is Holds.YES
    assert sign.sentence == "project a spent 5 of 4 kWh"
    assert not sign.happened
    store.close()


def test_only_runs_of_the_window_and_of_the_filter_count(tmp_path: Path) -> None:
    store = home_of_three(tmp_path)
    lately = Budget(spent=Spent.ENERGY_KWH, limit=4, per=Per.ALL, window_seconds=9.5 * HOUR)
    assert spent(store, lately) == {"": 3.0}
    whole = Budget(spent=Spent.COST, limit=100, per=Per.ALL)
    assert spent(store, whole) == {"": 2.5}
    assert spent(store, whole, "project=b") == {}
    store.close()


def test_one_group_may_be_asked_for_alone_and_who_has_none_counts_for_nobody(tmp_path: Path) -> None:
    store = home_of_three(tmp_path)
    budget = Budget(spent=Spent.ENERGY_KWH, limit=4, per=Per.USER)
    assert spent(store, budget) == {"u": 5.0}
    assert spent(store, budget, only=["somebody"]) == {}
    assert alert_budgets.group_of(budget, {"project": "a"}) is None
    store.close()


def test_what_an_ended_run_came_to_is_not_asked_for_again(tmp_path: Path) -> None:
    store = home_of_three(tmp_path)
    ledger = alert_budgets.Ledger()
    budget = Budget(spent=Spent.ENERGY_KWH, limit=4, per=Per.ALL)
    first = [sign.value for sign in ledger.signs(budget, store, None, NOW)]
    asked: list[str] = []
    whole = store.run

    def counted(run_id: str) -> Run | None:
        asked.append(run_id)
        return whole(run_id)

    store.run = counted  # type: ignore[method-assign]
    again = [sign.value for sign in ledger.signs(budget, store, None, NOW)]
    assert first == again == [5.0]
    assert asked == [f"{folders.RUN_ID}2"]  # the one of which nothing was measured
    store.close()


def test_a_run_that_never_began_took_no_time(tmp_path: Path) -> None:
    store = home_of_three(tmp_path)
    run = store.run(f"{folders.RUN_ID}0")
    assert run is not None
    assert alert_budgets.wall_seconds(run, NOW) == 2.0
    assert alert_budgets.of_run(Budget(spent=Spent.GPU_HOURS, limit=1), store, run, NOW) is None
    store.close()

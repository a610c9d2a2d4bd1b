"""What an index answers about a home, gathered so that two indexes can be compared."""

from pathlib import Path

from jobmeter.model.measurement import Kind
from jobmeter.service import index


def answers(home: Path, path: Path, *, refresh: bool = True) -> dict[str, object]:
    """Ask an index everything; the same home must give the same answers however it was indexed."""
    warnings: list[str] = []
    with index.open_index(home, path=path, warn=warnings.append) as opened:
        if refresh:
            opened.refresh()
        found: dict[str, object] = {"briefs": opened.ask(lambda store: store.briefs())}
        found["fields"] = opened.ask(lambda store: list(store.fields()))
        for run_id in sorted(opened.ask(lambda store: store.run_ids())):
            found[run_id] = opened.ask(lambda store, run_id=run_id: _of_run(store, run_id))  # type: ignore[misc]
    return found


def _of_run(store: index.Store, run_id: str) -> tuple[object, ...]:
    run = store.run(run_id)
    assert run is not None
    counters = {key for key, definition in run.definitions.items() if definition.kind is Kind.COUNTER}
    return (
        run,
        store.series(run_id, counters=counters),
        # files of several writers are indexed in the order they grew
        sorted(store.events(run_id), key=lambda event: event.timestamp),
        store.processes(run_id),
        store.steps(run_id),
        store.step_statistics(run_id),
    )

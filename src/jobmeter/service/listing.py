"""What a list of runs needs besides the runs: how many there are, and what their numbers mean."""

from collections.abc import Sequence

from jobmeter.model.query import RunQuery
from jobmeter.model.run import Run
from jobmeter.service import index
from jobmeter.stores import Store


def count(home: str) -> int:
    """Count the runs of a home."""
    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(lambda store: store.count(RunQuery()))


def with_definitions(home: str, listed: Sequence[Run]) -> list[Run]:
    """Read listed runs whole: lists leave out the definitions of summary keys."""

    def read(store: Store) -> list[Run]:
        return [store.run(run.run_id) or run for run in listed]

    with index.open_index(home) as opened:
        opened.refresh()
        return opened.ask(read)

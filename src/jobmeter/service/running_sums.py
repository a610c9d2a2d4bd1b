"""What the windows of running runs sum up to, remembered between looks, so that a look costs what is new.

A memory, not a record: where it does not stand exactly where the index does, the index is asked again.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from jobmeter.model.measurement import Measurement, Scope
from jobmeter.model.view import Window
from jobmeter.stores import Statistics, Store, columns

_MOST_RUNS = 5000

Sums = dict[tuple[str, str], Statistics]


class RunningSums:
    """Statistics of whole-job keys by run, each as of an offset of its `usage.jsonl`."""

    def __init__(self, most_runs: int = _MOST_RUNS) -> None:
        self._most_runs = most_runs
        self._known: OrderedDict[str, tuple[int, Sums]] = OrderedDict()

    def at(self, store: Store, run_id: str, offset: int) -> Sums:
        """Give the sums of all windows before an offset, which is where the index stands."""
        known = self._known.get(run_id)
        if known is not None and known[0] == offset:
            return known[1]
        return store.statistics(run_id) if offset else {}

    def keep(self, run_id: str, offset: int, sums: Sums) -> None:
        """Remember the sums of all windows before an offset."""
        self._known[run_id] = offset, sums
        self._known.move_to_end(run_id)
        if len(self._known) > self._most_runs:
            self._known.popitem(last=False)

    def forget(self, run_id: str) -> None:
        """Let go of a run that ended."""
        self._known.pop(run_id, None)


def extended(sums: Sums, windows: Sequence[Window], definitions: Mapping[str, Measurement]) -> Sums:
    """Add windows that follow; processes are no part of a run's summary."""
    wanted = {key for key, definition in definitions.items() if definition.scope is not Scope.PROCESS}
    found = {name: known for name, known in sums.items() if name[0] in wanted}
    told = [window for window in windows if any(key in wanted for key, _ in window.values)]
    for column in columns.columns(told):
        if column.name[0] in wanted:
            more = columns.statistics(column.values)
            known = found.get(column.name)
            found[column.name] = more if known is None else columns.merge((known, more))
    return found

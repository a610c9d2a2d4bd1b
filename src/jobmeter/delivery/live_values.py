"""The last values of a run that is being recorded, kept up window by window.

Begun with what the index holds, then told by the folder alone: a look costs what was measured since the last one.
"""

from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path

from jobmeter.delivery import folder_labels, following
from jobmeter.exporters import metric_names
from jobmeter.exporters.metric_names import SUM_DIGITS
from jobmeter.exporters.run_metrics import Name
from jobmeter.model.measurement import Kind, Measurement
from jobmeter.model.run import Run
from jobmeter.model.view import Window
from jobmeter.stores import Position, Store

_TRIES = 5


class LiveValues:
    """What is measured of one run now."""

    def __init__(self, run: Run, totals: Mapping[Name, float], offset: int) -> None:
        self._kinds = {key: one.kind for key, one in run.definitions.items() if _is_shown(one)}
        self._totals = dict(totals)
        self._gauges: dict[Name, tuple[float, float]] = {}
        self._states: dict[Name, tuple[float, dict[str, int]]] = {}
        self._follower = following.Follower(Path(run.folder or ""), offset)
        self.devices = folder_labels.devices(run)
        self.measured_at: float | None = None
        self._take(following.last_windows(Path(run.folder or "")), adding=False)

    def look(self) -> None:
        """Take in what was measured since."""
        self._take(self._follower.read(), adding=True)

    def values(self, since: float) -> dict[Name, float]:
        """Give gauges that were measured since a moment, and all sums."""
        found = {name: value for name, (moment, value) in self._gauges.items() if moment >= since}
        return found | {name: round(total, SUM_DIGITS) for name, total in self._totals.items()}

    def states(self, since: float) -> dict[Name, dict[str, int]]:
        """Give the states that were seen since a moment."""
        return {name: tally for name, (moment, tally) in self._states.items() if moment >= since}

    def _take(self, windows: Iterable[Window], *, adding: bool) -> None:
        for window in windows:
            self.measured_at = max(self.measured_at or 0.0, window.timestamp)
            for name, value in window.values.items():
                kind = self._kinds.get(name[0])
                if kind is Kind.CATEGORICAL and isinstance(value, dict):
                    self._states[name] = (window.timestamp, value)
                elif isinstance(value, dict | str) or kind is None:
                    continue
                elif kind is Kind.GAUGE:
                    self._gauges[name] = (window.timestamp, value)
                elif kind is Kind.COUNTER and adding and not isnan(value):
                    self._totals[name] = self._totals.get(name, 0.0) + value


def begin(store: Store, run: Run) -> LiveValues:
    """Take up a run where the index stands."""
    position, totals = _indexed(store, run.run_id), sums(store, run)
    for _ in range(_TRIES):
        if _indexed(store, run.run_id) == position:
            break
        # somebody added to the index in between
        position, totals = _indexed(store, run.run_id), sums(store, run)
    return LiveValues(run, totals, position.offset)


def _indexed(store: Store, run_id: str) -> Position:
    return store.positions(run_id).get(following.USAGE, Position(0))


def sums(store: Store, run: Run) -> dict[Name, float]:
    """Add up the counters of a run as far as it is indexed."""
    counters = {key for key, one in run.definitions.items() if _is_shown(one) and one.kind is Kind.COUNTER}
    known = store.statistics(run.run_id) if counters else {}
    return {
        name: round(one.total, SUM_DIGITS) for name, one in known.items() if name[0] in counters and one.n
    }


def _is_shown(definition: Measurement) -> bool:
    return metric_names.family_of(definition) is not None

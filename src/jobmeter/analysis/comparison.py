"""Runs side by side: numbers with a winner, what differs in how they were run, their phases, loss at equal step.

Only what at least two of them have is compared. What can mislead: the winner is the smallest or largest number,
be the difference ever so small; one run of each says nothing of noise, `jobmeter check --against history` does.
A run that did not complete never wins by using less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite

from jobmeter.analysis import segments
from jobmeter.analysis.series import Resource, curves
from jobmeter.model.view import RunView

Record = dict[str, object]
Number = int | float

MOST_STEPS = 6
_PHASED = (Resource.CPU, Resource.MEMORY, Resource.GPU)


class Better(Enum):
    """Which way a number is better."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of every run; None where a run does not have it."""

    key: str
    unit: str
    values: tuple[float | None, ...]
    winner: int | None = None
    """The place of the best run; None where no way is better, or two are equal."""

    @property
    def changes(self) -> tuple[float | None, ...]:
        """How much more than the first run each has, in percent."""
        first = self.values[0]
        if not first:
            return (None,) * len(self.values)
        return tuple(None if value is None else 100 * (value - first) / abs(first) for value in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that was not the same; None where a run does not have it."""

    path: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase of one run."""

    seconds: float
    level: float
    shown: str
    """The level as people read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """The phases of one resource in every run."""

    resource: str
    runs: tuple[tuple[Phase, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All that is said of several runs."""

    run_ids: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    config: tuple[Difference, ...] = ()
    environment: tuple[Difference, ...] = ()
    phases: tuple[Phases, ...] = ()
    losses: tuple[tuple[int, tuple[float, ...]], ...] = ()
    """Steps that all runs logged, with the loss of each."""

    def as_record(self) -> Record:
        """Render as `compare --json` does."""
        return {
            "runs": list(self.run_ids),
            "metrics": [self._metric(one) for one in self.figures],
            "config": [self._difference(one) for one in self.config],
            "environment": [self._difference(one) for one in self.environment],
            "phases": [
                {"resource": one.resource, "runs": [[_phase(part) for part in run] for run in one.runs]}
                for one in self.phases
            ],
            "loss_at_step": [{"step": step, "values": list(values)} for step, values in self.losses],
        }

    def _metric(self, one: Figure) -> Record:
        return {
            "key": one.key,
            "unit": one.unit,
            "values": list(one.values),
            "change_percent": [None if share is None else round(share, 3) for share in one.changes],
            "winner": None if one.winner is None else self.run_ids[one.winner],
        }

    def _difference(self, one: Difference) -> Record:
        return {"path": one.path, "values": list(one.values)}


def _phase(one: Phase) -> Record:
    return {"seconds": round(one.seconds, 3), "level": one.level, "shown": one.shown}


def figure(
    key: str, unit: str, better: Better, values: Sequence[float | None], may_win: Sequence[bool]
) -> Figure | None:
    """Lay one number out; None where fewer than two runs have it."""
    known = tuple(value if value is not None and isfinite(value) else None for value in values)
    if sum(value is not None for value in known) < 2:
        return None
    return Figure(key=key, unit=unit, values=known, winner=_winner(better, known, may_win))


def _winner(better: Better, values: Sequence[float | None], may_win: Sequence[bool]) -> int | None:
    if better is Better.NEITHER:
        return None
    allowed = [
        (value if better is Better.LESS else -value, place)
        for place, value in enumerate(values)
        if value is not None and (may_win[place] or better is Better.MORE)
    ]
    allowed.sort()
    if not allowed or (len(allowed) > 1 and allowed[0][0] == allowed[1][0]):
        return None
    return allowed[0][1]


def flat(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Lay nested settings out flat: `optimizer.lr`; lists are single values."""
    found: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def words(command: Sequence[str]) -> dict[str, object]:
    """Take a command line apart, so that one option is one row: `--lr`, `argument 2`."""
    found: dict[str, object] = {}
    option, number = "", 0
    for word in command:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            option, equals, value = word.partition("=")
            found[option] = value if equals else True
            option = "" if equals else option
        elif option:
            found[option], option = word, ""
        else:
            found[f"argument {number}" if number else "program"] = word
            number += 1
    return found


def differences(settings: Sequence[Mapping[str, object]]) -> tuple[Difference, ...]:
    """Name what is not the same everywhere, by path."""
    laid = [flat(one) for one in settings]
    paths = sorted({path for one in laid for path in one})
    rows = (Difference(path=path, values=tuple(one.get(path) for one in laid)) for path in paths)
    return tuple(row for row in rows if any(value != row.values[0] for value in row.values))


def phases(views: Sequence[RunView]) -> tuple[Phases, ...]:
    """Cut every run into phases, for resources that all have and that had several in one of them."""
    found = []
    for resource in _PHASED:
        cut = [_phases_of(view, resource) for view in views]
        if all(cut) and any(len(one) > 1 for one in cut):
            found.append(Phases(resource=resource.value, runs=tuple(cut)))
    return tuple(found)


def _phases_of(view: RunView, resource: Resource) -> tuple[Phase, ...]:
    curve = next(iter(curves(view, resource)), None)
    if curve is None:
        return ()
    return tuple(
        Phase(seconds=one.seconds, level=one.level, shown=curve.show(one.level))
        for one in segments.segments(curve)
    )


def losses(told: Sequence[Iterable[tuple[int, float]]]) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """Give the loss of every run at steps that all of them logged, a few over the whole, the last among them."""
    known = [{step: loss for step, loss in one if isfinite(loss)} for one in told]
    common = sorted(set.intersection(*(set(one) for one in known)))
    if not common:
        return ()
    last = len(common) - 1
    places = sorted({round(last * number / (MOST_STEPS - 1)) for number in range(MOST_STEPS)})
    return tuple((common[place], tuple(one[common[place]] for one in known)) for place in places)

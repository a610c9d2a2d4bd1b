"""Smaller images where memory is tight: activations go with the square of the side."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, fits, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model import units
from jobmeter.model.report import Prediction, Recommendation, Severity

_SHARE, _GRID, _LEAST = 0.75, 64, 128
_OF_A_DATASET = "datasets["


def advise(case: Case) -> Iterable[Recommendation]:
    """Go down to three quarters of the side, on a grid that models like."""
    found = configs.find(case.view.run, "resolution")
    room = rooms.model(case)
    side = None if found is None else _side(found)
    if found is None or side is None or room is None or not (room.is_tight or room.is_critical):
        return
    smaller = int(_SHARE * side) // _GRID * _GRID
    share = (smaller / side) ** 2
    yield Recommendation(
        rule="resolution",
        severity=Severity.WARNING,
        title="Consider lower resolution",
        action=f"Set {found.path.rpartition('.')[2]}: {_with(found.value, smaller)}",
        impact=f"Quadratic memory scaling: {units.format_percent(100 * share)} of the activations remain",
        config_path=found.path,
        current_value=found.value,
        recommended_value=_with(found.value, smaller),
        evidence=(room.evidence(), advice.setting_evidence(found)),
        predictions=_predicted(case, room, share),
    )


def _side(found: configs.Setting) -> int | None:
    """Give the largest side; ai-toolkit has a list of them, elsewhere a list is a shape that must keep its parts."""
    sides = found.value if isinstance(found.value, list) else [found.value]
    if sides is found.value and _OF_A_DATASET not in found.path:
        return None
    known = [side for side in sides if isinstance(side, int) and not isinstance(side, bool)]
    largest = max(known, default=0)
    return largest if len(known) == len(sides) and _LEAST <= largest <= 1 << 16 else None


def _with(value: object, smaller: int) -> object:
    if not isinstance(value, list):
        return smaller
    return sorted({min(side, smaller) for side in value})


def _predicted(case: Case, room: rooms.Room, share: float) -> tuple[Prediction, ...]:
    line, batch = fits.by_batch(case.view, room.quantity), fits.batch_of(case.view.run)
    if line is None or batch is None or room.is_exhausted:
        return ()
    saved = (1 - share) * line.slope * batch
    after = room.peak_bytes - saved
    return (advice.bytes_prediction(room, Estimate(after, after - 0.2 * saved, after + 0.4 * saved)),)

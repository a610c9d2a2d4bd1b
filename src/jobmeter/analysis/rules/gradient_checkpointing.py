"""Activations computed twice rather than kept, where memory is tight.

What is kept of a layer is its input; one layer at a time is held whole. How much that saves depends on the model and
on who hands out the memory: on a GPU 15 to 60 % of the activations stay, in host memory, which comes back in pieces,
40 to 80 % (docs/advice.md has the figures). A step takes 15 to 45 % longer.
"""

from collections.abc import Iterable, Iterator

from jobmeter.analysis import advice, configs, fits, loading, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model.report import Prediction, Recommendation, Severity

_KEPT_GPU, _KEPT_HOST = Estimate(0.35, 0.15, 0.6), Estimate(0.6, 0.4, 0.8)
"""The share of the activations that stays."""
SLOWER = Estimate(1.3, 1.15, 1.45)
"""Times the computing part of a step."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Switch it on where it is off and memory is tight."""
    found = configs.find(case.view.run, "gradient_checkpointing")
    room = rooms.model(case)
    if found is None or found.value is not False or room is None:
        return
    if not (room.is_tight or room.is_critical):
        return
    yield Recommendation(
        rule="gradient_checkpointing",
        severity=Severity.WARNING,
        title="Enable gradient checkpointing",
        action=f"Set {found.path.rpartition('.')[2]}: true",
        impact=f"Trades compute for memory: {_gone(room)} of the activations go, steps take 15 to 45 % longer",
        config_path=found.path,
        current_value=False,
        recommended_value=True,
        evidence=(room.evidence(), advice.setting_evidence(found)),
        predictions=tuple(_predicted(case, room)),
    )


def kept(room: rooms.Room) -> Estimate:
    """Give the share of the activations that stays."""
    return _KEPT_GPU if room.quantity == rooms.GPU_PEAK else _KEPT_HOST


def _gone(room: rooms.Room) -> str:
    share = kept(room)
    return f"{100 - 100 * share.high:.0f} to {100 - 100 * share.low:.0f} %"


def _predicted(case: Case, room: rooms.Room) -> Iterator[Prediction]:
    line, batch = fits.by_batch(case.view, room.quantity), fits.batch_of(case.view.run)
    if line is not None and batch is not None and not room.is_exhausted:
        activations = line.slope * batch
        fixed = room.peak_bytes - activations
        share = kept(room)
        after = Estimate(*(fixed + one * activations for one in (share.value, share.low, share.high)))
        yield advice.bytes_prediction(room, after)
    steps = loading.told(case.view)
    if steps is not None:
        times = (SLOWER.value, SLOWER.low, SLOWER.high)
        slower = Estimate(*(steps.wait_seconds + factor * steps.compute_seconds for factor in times))
        yield advice.seconds_prediction(advice.STEP_SECONDS, steps.step_seconds, slower)

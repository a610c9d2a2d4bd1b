"""Activations computed twice rather than kept, where memory is tight.

What is kept of a layer is its input; one layer at a time is held whole. How much that saves depends on the model:
measured on transformers, 15 to 60 % of the activations stay, and a step takes 15 to 45 % longer.
"""

from collections.abc import Iterable, Iterator

from jobmeter.analysis import advice, configs, fits, loading, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model.report import Prediction, Recommendation, Severity

KEPT = Estimate(0.35, 0.15, 0.6)
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
        impact="Trades compute for memory: 40 to 85 % of the activations go, steps take 15 to 45 % longer",
        config_path=found.path,
        current_value=False,
        recommended_value=True,
        evidence=(room.evidence(), advice.setting_evidence(found)),
        predictions=tuple(_predicted(case, room)),
    )


def _predicted(case: Case, room: rooms.Room) -> Iterator[Prediction]:
    line, batch = fits.by_batch(case.view, room.quantity), fits.batch_of(case.view.run)
    if line is not None and batch is not None and not room.is_exhausted:
        activations = line.slope * batch
        fixed = room.peak_bytes - activations
        kept = Estimate(*(fixed + share * activations for share in (KEPT.value, KEPT.low, KEPT.high)))
        yield advice.bytes_prediction(room, kept)
    steps = loading.told(case.view)
    if steps is not None:
        times = (SLOWER.value, SLOWER.low, SLOWER.high)
        slower = Estimate(*(steps.wait_seconds + factor * steps.compute_seconds for factor in times))
        yield advice.seconds_prediction(advice.STEP_SECONDS, steps.step_seconds, slower)

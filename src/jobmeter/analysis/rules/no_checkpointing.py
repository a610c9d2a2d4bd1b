"""Activations kept rather than computed twice, where there is memory for them: steps become shorter."""

from collections.abc import Iterable, Iterator

from jobmeter.analysis import advice, configs, fits, loading, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.analysis.rules.gradient_checkpointing import SLOWER, kept
from jobmeter.model.report import Prediction, Recommendation, Severity
from jobmeter.model.run import Status

_PLENTY = 0.4
"""Of the limit: where no fit tells how much the activations are, at most this may be used."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Switch it off where it is on and memory is comfortable."""
    run = case.view.run
    found = configs.find(run, "gradient_checkpointing")
    room = rooms.model(case)
    if found is None or found.value is not True or room is None or run.status is not Status.COMPLETED:
        return
    if rooms.ran_out(case.view):
        return
    after = _memory(case, room)
    if room.used_ratio > _PLENTY if after is None else after.high > rooms.TIGHT * room.most_bytes:
        return
    memory = () if after is None else (advice.bytes_prediction(room, after),)
    yield Recommendation(
        rule="no_checkpointing",
        severity=Severity.INFO,
        title="Disable gradient checkpointing for speed",
        action=f"Set {found.path.rpartition('.')[2]}: false",
        impact="Steps take 15 to 30 % less time; the activations of all layers are kept",
        config_path=found.path,
        current_value=True,
        recommended_value=False,
        evidence=(room.evidence(), advice.setting_evidence(found)),
        predictions=(*memory, *_faster(case)),
    )


def _memory(case: Case, room: rooms.Room) -> Estimate | None:
    line, batch = fits.by_batch(case.view, room.quantity), fits.batch_of(case.view.run)
    if line is None or batch is None:
        return None
    held, share = line.slope * batch, kept(room)
    fixed = room.peak_bytes - held
    return Estimate(fixed + held / share.value, fixed + held / share.high, fixed + held / share.low)


def _faster(case: Case) -> Iterator[Prediction]:
    steps = loading.told(case.view)
    if steps is not None:
        times = (SLOWER.value, SLOWER.high, SLOWER.low)
        faster = Estimate(*(steps.wait_seconds + steps.compute_seconds / factor for factor in times))
        yield advice.seconds_prediction(advice.STEP_SECONDS, steps.step_seconds, faster)

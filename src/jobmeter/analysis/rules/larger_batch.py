"""A larger batch where memory is left over: at most twice what was seen, never further than a fit can be trusted."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, fits, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model.report import Cause, Evidence, Recommendation, Severity
from jobmeter.model.run import Status

_WORTH_IT = 1.25
"""Times the batch: less more is not worth another run."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Say how much larger the batch can be."""
    run = case.view.run
    found = configs.find(run, "batch_size")
    room = rooms.model(case)
    batch = None if found is None else found.count
    if found is None or batch is None or batch < 1 or room is None or not room.is_comfortable:
        return
    if run.status is not Status.COMPLETED or rooms.ran_out(case.view):
        return
    if case.verdict.cause is not Cause.COMPLETED:
        return  # a training whose loss is NaN has other worries than its speed
    line = fits.by_batch(case.view, room.quantity)
    larger = _larger(line, room, batch)
    if larger < _WORTH_IT * batch:
        return
    after = _after(line, room, larger / batch, larger)
    yield Recommendation(
        rule="larger_batch",
        severity=Severity.INFO,
        title=f"Memory allows batch_size: {larger}, currently using {batch}",
        action=f"Set {found.path.rpartition('.')[2]}: {larger}",
        impact=f"Can increase throughput; {room.words} peak of {advice.between(after.low, after.high)}",
        config_path=found.path,
        current_value=batch,
        recommended_value=larger,
        evidence=(room.evidence(), advice.setting_evidence(found), *_fitted(line)),
        predictions=(advice.bytes_prediction(room, after),),
    )


def _larger(line: fits.Line | None, room: rooms.Room, batch: int) -> int:
    if line is not None:
        return min(2 * batch, line.largest(rooms.TIGHT * room.most_bytes))
    # a batch twice as large takes at most twice the memory
    return 2 * batch if 2 * room.used_ratio <= rooms.TIGHT else batch


def _after(line: fits.Line | None, room: rooms.Room, times: float, larger: int) -> Estimate:
    if line is not None:
        return line.at(larger)
    high = times * room.peak_bytes
    return Estimate((room.peak_bytes + high) / 2, room.peak_bytes, high)


def _fitted(line: fits.Line | None) -> tuple[Evidence, ...]:
    if line is None:
        return ()
    seen = ", ".join(f"{batch:g}" for batch in sorted({batch for batch, _ in line.points}))
    mib = line.slope / advice.MIB
    told = f"{mib:.1f} MiB a sample above {line.fixed / advice.MIB:.0f} MiB, fitted at batches of {seen}"
    return (Evidence(sentence=told, source="history", value=round(line.slope)),)

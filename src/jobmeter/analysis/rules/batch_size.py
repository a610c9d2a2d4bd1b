"""A smaller batch where memory runs short: as small as a fit over earlier runs says, half where there is none."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, fits, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model.report import Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Reduce the batch so that the next run fits, by the upper end of the interval."""
    found = configs.find(case.view.run, "batch_size")
    room = rooms.model(case)
    batch = None if found is None else found.count
    if found is None or batch is None or batch < 2 or room is None or not room.is_critical:
        return
    line = fits.by_batch(case.view, room.quantity)
    smaller = max(1, batch // 2)
    if line is not None:
        smaller = max(1, min(batch - 1, line.largest(rooms.TIGHT * room.most_bytes)))
    after = _after(line, room, smaller / batch, smaller)
    by = "a fit over its runs" if line is not None else "half of it; how much a sample takes is not known yet"
    yield Recommendation(
        rule="batch_size",
        severity=Severity.CRITICAL,
        title=f"Reduce max_batch_size to {smaller}",
        action=f"Set {found.path.rpartition('.')[2]}: {smaller}",
        impact=f"Based on actual peak usage ({by}): {room.words} peak of {advice.between(after.low, after.high)}",
        config_path=found.path,
        current_value=batch,
        recommended_value=smaller,
        evidence=(room.evidence(), advice.setting_evidence(found)),
        predictions=(advice.bytes_prediction(room, after),),
    )


def _after(line: fits.Line | None, room: rooms.Room, share: float, smaller: int) -> Estimate:
    if line is not None:
        return line.at(smaller)
    # between all of it being the batch's, and none
    low = share * room.peak_bytes
    return Estimate((low + room.peak_bytes) / 2, low, room.peak_bytes)

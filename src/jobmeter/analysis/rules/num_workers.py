"""Fewer DataLoader workers where host memory runs short: what they hold beyond the training itself comes back.

Forks share pages with their parent, so the sizes of processes add up to more than the job held: what the workers
hold of their own is the job's peak less what the other processes hold. What one of them keeps to load with (caches,
open files) moves into the training, only the process itself goes.
"""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, rooms, shares
from jobmeter.analysis.case import Case
from jobmeter.analysis.fits import Estimate
from jobmeter.model import roles, units
from jobmeter.model.report import Evidence, Recommendation, Severity

_LEAST_SHARE, _LEAST_BYTES = 0.01, 32 * advice.MIB
_PROCESS_BYTES = 64 * advice.MIB
"""What a worker holds of its own before it has loaded anything, at most."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Do without workers where they hold memory that is short."""
    room = rooms.host(case)
    held = None if room is None or not room.is_critical else _held(case, room)
    if room is None or held is None:
        return
    most, workers = held
    each = most / workers
    moved = max(0.0, each - _PROCESS_BYTES)
    least, saved = most - each, most - moved
    found = configs.find(case.view.run, "num_workers")
    estimate = Estimate(*(room.peak_bytes - part for part in (saved, most, least)))
    yield Recommendation(
        rule="num_workers",
        severity=Severity.CRITICAL,
        title="Reduce worker count",
        action=f"Set num_workers: 0{_with_them(case)}",
        impact=f"Saves {units.format_bytes(each)} per worker, about {units.format_bytes(saved)} of memory "
        f"({advice.between(least, most)}); loading then takes turns with training",
        config_path=None if found is None else found.path,
        current_value=workers if found is None else found.value,
        recommended_value=0,
        evidence=(room.evidence(), _evidence(workers, most)),
        predictions=(advice.bytes_prediction(room, estimate),),
    )


def _held(case: Case, room: rooms.Room) -> tuple[float, int] | None:
    """Give what the workers held of their own, and how many there were at once; None where that is too little."""
    parts = shares.by_role(case.view.processes)
    workers = parts.get(roles.WORKER)
    if workers is None or workers.memory_peak_bytes is None:
        return None
    rest = sum(part.memory_peak_bytes or 0 for role, part in parts.items() if role != roles.WORKER)
    saved = min(float(workers.memory_peak_bytes), room.peak_bytes - rest)
    configured = configs.value_of(case.view.run, "num_workers")
    known = isinstance(configured, int) and 0 < configured <= workers.processes
    crew = (one for one in case.view.processes if one.role == roles.WORKER)
    count = int(configured) if known else shares.most_at_once(crew)  # type: ignore[call-overload]
    return (saved, count) if saved > max(_LEAST_SHARE * room.peak_bytes, _LEAST_BYTES) else None


def _with_them(case: Case) -> str:
    """Name what must go with the workers: PyTorch raises where it is set and there are none."""
    found = (configs.find(case.view.run, name) for name in ("persistent_workers", "prefetch_factor"))
    named = [one.path.rpartition(".")[2] for one in found if one is not None and one.value]
    refused = "it" if len(named) == 1 else "them"
    return (
        f", and remove {' and '.join(named)}: a DataLoader without workers refuses {refused}" if named else ""
    )


def _evidence(workers: int, saved: float) -> Evidence:
    told = f"{workers} workers held {units.format_bytes(saved)} that the training itself does not"
    return Evidence(sentence=told, source="processes", value=round(saved))

"""`--mem` that fits: less where most of it stood empty, more where the job was killed for want of it or nearly so.

A job that leaks is not given more: the leak would take that too.
"""

from collections.abc import Iterable

from jobmeter.analysis import advice, asking, configs, rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.analysis.fits import Estimate
from jobmeter.model import sizing, units
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.report import Cause, Evidence, Prediction, Recommendation, Severity
from jobmeter.model.run import Run, Status

_MUCH = 1.5
"""Times what is advised: less too much is not worth a line."""
_LEAST_BYTES = 256 * advice.MIB
_MORE_FACTOR, _MORE_BYTES = 1.3, 256 * advice.MIB
"""What a killed job asks for next, where nothing else is known of it."""
_LEAST_REQUEST_BYTES = 64 * advice.MIB
_AGAIN = 0.1
"""Of its peak, to either side: so nearly a run uses again what it used."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Say what to ask for."""
    asked = configs.request(case.view.run, Asked.MEMORY)
    room = rooms.host(case)
    limit = None if asked is None else asked.number
    if asked is None or limit is None or room is None or _leaks(case):
        return
    sized = asking.advised(case, sizing.Resource.MEMORY)
    if room.is_critical:
        yield _more(asked, limit, room, sized, was_killed_for_it=case.verdict.cause is Cause.OOM_CGROUP)
    elif case.view.run.status is Status.COMPLETED:
        yield from _less(asked, limit, room, sized, _bound_bytes(case.view.run, room))


def _leaks(case: Case) -> bool:
    """Tell whether host memory leaks: what leaks on a GPU says nothing of it."""
    return any(not (found.key or "").startswith(GPU_TOOLS) for found in case.found("leak"))


def _more(
    asked: configs.Setting,
    limit: float,
    room: rooms.Room,
    sized: sizing.Advice | None,
    *,
    was_killed_for_it: bool,
) -> Recommendation:
    wanted = (
        max(limit * _MORE_FACTOR, limit + _MORE_BYTES)
        if room.is_exhausted
        else asking.MARGIN * room.peak_bytes
    )
    wanted = max(wanted, 0.0 if sized is None else sized.advised)
    severity = Severity.CRITICAL if room.is_exhausted else Severity.WARNING
    came = "it came within a tenth of"
    if room.is_exhausted:
        came = "it was killed at" if was_killed_for_it else "memory ran out, with a limit of"
    return Recommendation(
        rule="memory_request",
        severity=severity,
        title="Ask for more memory",
        action=f"Set {asked.path}={advice.mebibytes(wanted)}",
        impact=f"Room to finish: {came} {units.format_bytes(limit)}",
        config_path=asked.path,
        current_value=advice.mebibytes(limit),
        recommended_value=advice.mebibytes(wanted),
        evidence=(room.evidence(),),
    )


def _bound_bytes(run: Run, room: rooms.Room) -> float:
    """Bound what was held: what samples may have missed counts, page cache in a cgroup's charge does not."""
    peak = run.headline[rooms.HOST_PEAK]
    is_charged = any(key.startswith("cgroup_") for key in peak.keys)
    return room.peak_bytes if is_charged else max(room.peak_bytes, peak.high)


def _less(
    asked: configs.Setting, limit: float, room: rooms.Room, sized: sizing.Advice | None, bound_bytes: float
) -> Iterable[Recommendation]:
    wanted = max(asking.MARGIN * room.peak_bytes, _LEAST_REQUEST_BYTES) if sized is None else sized.advised
    is_bound = bound_bytes > wanted
    wanted = max(wanted, bound_bytes)
    if limit < _MUCH * wanted or limit - wanted < _LEAST_BYTES:
        return
    used = advice.about(room.peak_bytes, _AGAIN)
    if sized is not None:
        used = Estimate(sized.typical, min(sized.low, sized.typical), max(sized.high, sized.typical))
    saved = units.format_bytes(limit - wanted)
    yield Recommendation(
        rule="memory_request",
        severity=Severity.INFO,
        title="Ask for less memory",
        action=f"Set {asked.path}={advice.mebibytes(wanted)}",
        impact=f"Frees {saved} for others and starts sooner; {_chance(sized, is_bound=is_bound)}",
        config_path=asked.path,
        current_value=advice.mebibytes(limit),
        recommended_value=advice.mebibytes(wanted),
        evidence=(room.evidence(), *_learned(sized)),
        predictions=(_limit(limit, wanted), advice.bytes_prediction(room, used)),
    )


def _limit(before: float, after: float) -> Prediction:
    return Prediction(
        quantity="memory_limit_bytes", unit="bytes", before=before, after=after, low=after, high=after
    )


def _chance(sized: sizing.Advice | None, *, is_bound: bool) -> str:
    if sized is not None:
        return f"{units.format_percent(100 * sized.failure_probability)} of runs would need more"
    if is_bound:
        return "by this run alone, as much as its processes may have held at once"
    return "by this run alone, a fifth above its peak"


def _learned(sized: sizing.Advice | None) -> tuple[Evidence, ...]:
    if sized is None:
        return ()
    told = f"{sized.runs} runs used up to {units.format_bytes(sized.largest)}"
    return (Evidence(sentence=told, source="history", value=round(sized.largest)),)

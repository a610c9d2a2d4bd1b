"""`--cpus-per-task` that fits: fewer cores where the job never needed them."""

from collections.abc import Iterable
from math import ceil

from jobmeter.analysis import advice, asking, configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.analysis.fits import Estimate
from jobmeter.analysis.sizing.cores import STRETCH
from jobmeter.model import sizing, units
from jobmeter.model.report import Evidence, Recommendation, Severity
from jobmeter.model.run import Status

_SHORTEST_SECONDS = 5.0
"""What a shorter run does, it does while it starts."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Give back cores that no phase of the run used."""
    run = case.view.run
    asked = configs.request(run, Asked.CPUS)
    cpus, wall = None if asked is None else asked.number, run.wall_seconds
    if asked is None or cpus is None or run.status is not Status.COMPLETED:
        return
    if wall is None or not _SHORTEST_SECONDS <= wall < 1e9 or any(case.found("cpu_throttled")):
        return
    sized = asking.advised(case, sizing.Resource.CPUS)
    own = asking.cores_needed(case.view)
    wanted = own if sized is None else max(sized.advised, own or 0.0)
    if wanted is None or ceil(wanted) > cpus - 1:
        return
    fewer = max(1, ceil(wanted))
    estimate = Estimate(wall, wall * (1 - STRETCH), wall * (1 + 2 * STRETCH))
    yield Recommendation(
        rule="cpus_request",
        severity=Severity.INFO,
        title="Ask for fewer cores",
        action=f"Set {asked.path}={fewer}",
        impact=f"Frees {cpus - fewer:g} cores; the run takes at most {STRETCH:.0%} longer",
        config_path=asked.path,
        current_value=cpus,
        recommended_value=fewer,
        evidence=(_evidence(fewer, cpus, wall),),
        predictions=(advice.seconds_prediction("wall_seconds", wall, estimate),),
    )


def _evidence(fewer: int, cpus: float, wall: float) -> Evidence:
    lasted = units.format_seconds(wall)
    told = f"{fewer} of {cpus:g} cores would have done the same work in {lasted}"
    return Evidence(sentence=told, source="cpu_seconds", value=fewer)

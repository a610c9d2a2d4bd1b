"""Phases: stretches over which a job used about as much, or rose or fell steadily.

One finding for each resource that had phases of different levels. It is no complaint: it is what a person would see
in the plot, in words, and what compares the same phase of two runs. Phases that all used about as much (a compiler's
teeth, a machine that wavers) say nothing of the job and are left out.
"""

from collections.abc import Iterable, Iterator

from jobmeter.analysis import segments
from jobmeter.analysis.segments import Segment
from jobmeter.analysis.series import Curve, Resource, curves
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Value
from jobmeter.model.view import RunView

LOOKED_AT = (Resource.CPU, Resource.MEMORY, Resource.GPU, Resource.GPU_MEMORY)
_RISING_SHARE = 0.2
"""Of its level: a phase that changes less is called flat."""
_UNLIKE_SHARE = 0.2
"""Of the highest level: where the lowest is nearer to it, nothing is worth telling."""
_BRIEF_SHARE = 0.1
"""Of the run: starting up and ending are no phases worth telling by themselves."""


def detect(view: RunView) -> Iterable[Finding]:
    """Tell the phases of every resource that had several."""
    for curve in curves(view, *LOOKED_AT):
        phases = segments.segments(curve)
        if _differ(phases):
            yield _finding(curve, phases)


def _differ(phases: tuple[Segment, ...]) -> bool:
    brief = _BRIEF_SHARE * (phases[-1].end - phases[0].begin)
    # while a machine slept nothing was sampled: every phase may be brief beside the whole
    levels = [one.level for one in phases if one.seconds >= brief] or [one.level for one in phases]
    return max(levels) - min(levels) > _UNLIKE_SHARE * max(levels)


def _finding(curve: Curve, phases: tuple[Segment, ...]) -> Finding:
    largest = max(phases, key=lambda one: one.level)
    sentence = (
        f"{curve.subject} had {len(phases)} phases; the highest, {curve.show(largest.level)}, "
        f"lasted {units.format_seconds(largest.seconds)}"
    )
    return Finding(
        detector="phases",
        severity=Severity.INFO,
        sentence=sentence,
        key=curve.key,
        instance=curve.instance,
        begin=curve.begin,
        end=curve.end,
        evidence=tuple(_evidence(curve, phases)),
        figures={"phase_count": len(phases)} | _figures(curve, phases),
    )


def _evidence(curve: Curve, phases: tuple[Segment, ...]) -> Iterator[Evidence]:
    for one in phases:
        lasted = f"for {units.format_seconds(one.seconds)}"
        change = one.end_value - one.start_value
        moving = abs(change) > max(curve.floor, _RISING_SHARE * abs(one.level))
        ends = (curve.show(max(0.0, one.start_value)), curve.show(max(0.0, one.end_value)))
        words = f"{'rising' if change > 0 else 'falling'} from {ends[0]} to {ends[1]}"
        yield Evidence(
            sentence=f"{words if moving else curve.show(one.level)} {lasted}",
            source=curve.key,
            value=one.level,
            timestamp=one.begin,
        )


def _figures(curve: Curve, phases: tuple[Segment, ...]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for number, one in enumerate(phases, 1):
        found[f"phase_{number}_begin_seconds"] = round(one.begin - curve.begin, 3)
        found[f"phase_{number}_end_seconds"] = round(one.end - curve.begin, 3)
        found[f"phase_{number}_level_{curve.unit}"] = one.level
    return found

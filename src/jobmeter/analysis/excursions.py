"""Spikes and troughs in words: a few are told one by one, many are told as the job's rhythm."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from jobmeter.analysis.episodes import Episode
from jobmeter.analysis.series import Curve
from jobmeter.model import units
from jobmeter.model.report import Finding, Severity
from jobmeter.model.run import Value

FEW = 3
"""So many are told one by one."""

Weigh = Callable[[Episode], Severity]


def findings(
    detector: str, verb: str, curve: Curve, found: Sequence[Episode], weigh: Weigh
) -> Iterator[Finding]:
    """Tell the departures of one curve."""
    if len(found) > FEW:
        yield _rhythm(detector, verb, curve, found)
        return
    for one in found:
        yield Finding(
            detector=detector,
            severity=weigh(one),
            sentence=f"{curve.subject} {_path(verb, curve, one)} for {units.format_seconds(one.seconds)}",
            key=curve.key,
            instance=curve.instance,
            begin=one.begin,
            end=one.end,
            figures=_figures(curve, one) | {"count": 1},
        )


def _rhythm(detector: str, verb: str, curve: Curve, found: Sequence[Episode]) -> Finding:
    largest = max(found, key=lambda one: one.height)
    apart = median(later.begin - one.begin for one, later in pairwise(found))
    sentence = (
        f"{curve.subject} {verb} {len(found)} times, about every {units.format_seconds(apart)}; at most it "
        f"{_path(verb, curve, largest)}"
    )
    return Finding(
        detector=detector,
        severity=Severity.INFO,
        sentence=sentence,
        key=curve.key,
        instance=curve.instance,
        begin=found[0].begin,
        end=found[-1].end,
        figures=_figures(curve, largest) | {"count": len(found), "apart_seconds": round(apart, 3)},
    )


def _path(verb: str, curve: Curve, one: Episode) -> str:
    change = one.percent_change
    share = "" if change is None or abs(change) < 1 else f" ({change:+.1f} %)"
    return f"{verb} from {curve.show(one.from_value)} to {curve.show(one.to_value)}{share}"


def _figures(curve: Curve, one: Episode) -> dict[str, Value]:
    figures: dict[str, Value] = {
        f"from_{curve.unit}": one.from_value,
        f"to_{curve.unit}": one.to_value,
        "seconds": round(one.seconds, 3),
    }
    if one.percent_change is not None:
        figures["percent_change"] = round(one.percent_change, 1)
    return figures

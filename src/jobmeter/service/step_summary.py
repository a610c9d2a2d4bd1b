"""What a run's steps come to: the best source of several, metrics by the names everybody uses.

The SDK is believed before an imported file, and both before what was read out of a log. A metric that only a
lesser source has is taken from there. What can mislead: a run of several ranks is told by its lowest one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobmeter.model import metrics
from jobmeter.model.run import Run
from jobmeter.model.steps import SDK, MetricSummary, Number, StepSummary, as_json, trust
from jobmeter.stores import MetricStatistics, Ranks, StepStatistics, stepcolumns

NO_RANKS = Ranks()


@dataclass(frozen=True, slots=True)
class Told:
    """What one source told of one rank, by all its writers."""

    source: str
    rank: int
    parts: Sequence[StepStatistics]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def metrics(self) -> dict[str, MetricStatistics]:
        found: dict[str, list[MetricStatistics]] = {}
        for part in self.parts:
            for name, statistics in part.metrics.items():
                found.setdefault(name, []).append(statistics)
        return {name: stepcolumns.merge(pieces) for name, pieces in found.items()}


def best_first(found: Iterable[StepStatistics]) -> list[Told]:
    """Gather the writers of each source and rank, the one to believe first."""
    groups: dict[tuple[str, int], list[StepStatistics]] = {}
    for one in found:
        groups.setdefault((one.source, one.rank), []).append(one)
    told = [Told(source, rank, sorted(parts, key=_begun)) for (source, rank), parts in groups.items()]
    return sorted(told, key=_placing)


def _begun(part: StepStatistics) -> tuple[bool, float, str]:
    return part.pace.t0 is None, part.pace.t0 or 0.0, part.writer


def _placing(told: Told) -> tuple[int, int, bool, int, int, str]:
    names = {name for part in told.parts for name in part.metrics}
    has_loss = metrics.pick(names, metrics.LOSS) is not None
    return trust(told.source), told.rank, not has_loss, -len(names), -told.count, told.source


def summarise(found: Sequence[StepStatistics]) -> StepSummary | None:
    """Sum a run's steps up; None where it has none."""
    told = best_first(found)
    if not told:
        return None
    main = told[0]
    newest = max(main.parts, key=lambda part: (part.pace.t1 is not None, part.pace.t1 or 0.0))
    advanced = sum(part.pace.advanced for part in main.parts)
    seconds = sum(part.pace.advancing_seconds for part in main.parts)
    return StepSummary(
        count=main.count,
        last_step=newest.last_step,
        source=main.source,
        rank=main.rank,
        steps_per_second=round(advanced / seconds, 6) if advanced > 0 and seconds > 0 else None,
        metrics=_metrics(told),
    )


def _metrics(told: Sequence[Told]) -> dict[str, MetricSummary]:
    chosen: dict[str, MetricSummary] = {}
    for one in told:
        known = one.metrics()
        taken = set(chosen)
        # a name that is the quantity's own comes before others that mean the same
        for name in sorted(known, key=lambda name: (metrics.canonical(name) != name, name)):
            quantity = metrics.canonical(name)
            if quantity in taken or name in taken:
                continue
            summary = _summary(
                name,
                known[name],
                one.source if one.source != told[0].source else "",
                scaled=quantity not in chosen,
            )
            chosen[quantity if quantity not in chosen else name] = summary
    return dict(sorted(chosen.items()))


def _summary(name: str, found: MetricStatistics, source: str, *, scaled: bool) -> MetricSummary:
    def shown(value: Number) -> Number:
        return metrics.in_base_units(name, value) if scaled else value

    return MetricSummary(
        first=as_json(shown(found.first)),
        last=as_json(shown(found.last)),
        low=shown(found.low) if found.finite else None,
        high=shown(found.high) if found.finite else None,
        not_finite=found.n - found.finite,
        source=source,
    )


def ranks(run: Run, found: Iterable[StepStatistics], labelled: Ranks = NO_RANKS) -> tuple[int, ...]:
    """Name the ranks that were seen; none for a job of one process."""
    known = {*run.ranks, *(labelled.seen if (labelled.world_size or 1) > 1 else ())}
    # a line of a log that names no rank says 0, whichever rank's log it is
    told = {one.rank for one in found if one.rank or one.source == SDK or not known}
    return tuple(sorted({*known, *(told if known or told - {0} else ())}))

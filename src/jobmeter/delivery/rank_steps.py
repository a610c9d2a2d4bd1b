"""Where the training loop of each rank stands, by the source that is to be believed."""

from collections.abc import Iterable

from jobmeter.exporters.run_metrics import RankSteps
from jobmeter.model.steps import trust
from jobmeter.stores import StepStatistics


def latest(found: Iterable[StepStatistics]) -> list[RankSteps]:
    """Choose the best source of every rank and take what it told last."""
    by_rank: dict[int, dict[str, list[StepStatistics]]] = {}
    for one in found:
        by_rank.setdefault(one.rank, {}).setdefault(one.source, []).append(one)
    return [_of_rank(rank, sources) for rank, sources in sorted(by_rank.items())]


def _of_rank(rank: int, sources: dict[str, list[StepStatistics]]) -> RankSteps:
    source = min(sources, key=lambda name: (trust(name), -sum(part.count for part in sources[name]), name))
    parts = sorted(sources[source], key=lambda part: (part.pace.t1 is not None, part.pace.t1 or 0.0))
    newest = parts[-1]
    return RankSteps(
        rank=rank,
        last_step=newest.last_step,
        count=sum(part.count for part in parts),
        told_at=newest.pace.t1,
        # an older writer's metrics stay known until the newest tells them
        metrics={name: float(value.last) for part in parts for name, value in part.metrics.items()},
    )

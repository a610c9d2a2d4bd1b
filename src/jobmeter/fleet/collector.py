"""Collect what the ranks of training jobs tell: all of them at once, each on its own beat.

`TrainingMetricsCollector` keeps a bounded history per rank and answers questions about it; a listener may keep
everything (`jobmeter collect` writes a run folder). Jobs are independent of one another.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from jobmeter.errors import UsageError
from jobmeter.fleet import metrics, statistics, targets
from jobmeter.fleet.alerts import Alert
from jobmeter.fleet.breaker import CircuitBreaker
from jobmeter.fleet.endpoint import Endpoint
from jobmeter.fleet.gpupoller import GpuPoller
from jobmeter.fleet.http import HttpEndpoint
from jobmeter.fleet.job import CollectedJob
from jobmeter.fleet.listener import Listener, Surroundings
from jobmeter.fleet.local import LocalEndpoint
from jobmeter.fleet.metrics import TrainingMetrics
from jobmeter.fleet.poller import Poller
from jobmeter.fleet.rank import Rank
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.ssh import SshEndpoint
from jobmeter.fleet.targets import Scheme, Target

_LAST_LOOK_SECONDS = 2.0


class TrainingMetricsCollector:
    """Collects the metrics of jobs whose ranks a cluster names."""

    def __init__(
        self,
        cluster: Mapping[int, Target],
        config: MetricsCollectorConfig | None = None,
        *,
        policy: BreakerPolicy | None = None,
        listener: Callable[[str], Listener] | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self.cluster = dict(cluster)
        self.config = config or MetricsCollectorConfig()
        self._policy = policy or BreakerPolicy()
        self._listener = listener
        """Given a job's id, who wants to know of it."""
        self._around = around or Surroundings(chance=random.random)
        self._jobs: dict[str, CollectedJob] = {}

    async def start_collection(self, job_id: str, ranks: Sequence[int] | None = None) -> None:
        """Begin to collect a job, of all ranks of the cluster unless some are named."""
        self.begin_collection(job_id, ranks)

    def begin_collection(self, job_id: str, ranks: Sequence[int] | None = None) -> None:
        """Begin from a function that is called within a running event loop."""
        if not job_id:
            raise UsageError("a job needs a name")
        running = self._jobs.get(job_id)
        if running is not None and running.active:
            raise UsageError(f"job {job_id} is being collected already")
        chosen = self._targets(sorted(self.cluster) if ranks is None else ranks)
        self.clean_up()
        forward = None if self._listener is None else self._listener(job_id)
        job = CollectedJob(job_id, sorted(chosen), self.config, self._around, forward)
        self._jobs[job_id] = job
        job.start(self._pollers(job, chosen))

    def _targets(self, ranks: Sequence[int]) -> dict[int, Target]:
        if not ranks:
            raise UsageError("a job needs at least one rank")
        numbers = [metrics.whole("rank", rank) for rank in ranks]
        unknown = [rank for rank in numbers if rank not in self.cluster]
        if unknown:
            known = ", ".join(map(str, sorted(self.cluster)[:8])) or "none"
            raise UsageError(f"rank {unknown[0]} has no target", hint=f"the cluster names: {known}")
        return {rank: self.cluster[rank] for rank in numbers}

    def _pollers(self, job: CollectedJob, chosen: Mapping[int, Target]) -> list[Poller]:
        """Group the ranks by what they share: a connection to a host, or a folder here."""
        places = targets.places(chosen, self.config, job.job_id)
        groups: dict[tuple[object, ...], list[int]] = {}
        for rank, target in sorted(chosen.items()):
            alone = rank if target.scheme is Scheme.HTTP else None
            groups.setdefault((target.scheme, target.address, target.ssh_options, alone), []).append(rank)
        reached = [
            (self._endpoint(chosen[ranks[0]]), [self._rank(rank, places[rank]) for rank in ranks])
            for ranks in groups.values()
        ]
        return self._with_gpus(job, reached)

    def _with_gpus(self, job: CollectedJob, reached: list[tuple[Endpoint, list[Rank]]]) -> list[Poller]:
        """Make the pollers; folders of this host share its GPUs."""
        settings = (self.config, self._policy)
        here = [(endpoint, ranks) for endpoint, ranks in reached if isinstance(endpoint, LocalEndpoint)]
        shared = None
        if here:
            everyone = [rank for _, ranks in here for rank in ranks]
            shared = GpuPoller(here[0][0], everyone, settings, job, self._around)
        pollers = []
        for endpoint, ranks in reached:
            ours = shared if isinstance(endpoint, LocalEndpoint) else None
            gpus = ours or GpuPoller(endpoint, ranks, settings, job, self._around)
            pollers.append(Poller(endpoint, ranks, gpus, settings, job, self._around))
        return pollers

    def _rank(self, number: int, place: targets.Place) -> Rank:
        around = self._around
        return Rank(number, place, CircuitBreaker(self._policy, around.clock, around.chance), around.clock)

    def _endpoint(self, target: Target) -> Endpoint:
        seconds = self.config.collection_timeout
        match target.scheme:
            case Scheme.LOCAL:
                return LocalEndpoint(target.address)
            case Scheme.SSH:
                return SshEndpoint(target, seconds)
            case Scheme.HTTP:
                return HttpEndpoint(target.address, seconds)

    async def stop_collection(self, job_id: str, *, job_ended: bool = False) -> None:
        """Take a last look and let go of a job's hosts; what was collected stays.

        A job that has ended adds nothing to the last line of its log; of one that runs on, that line may be half.
        """
        job = self._jobs.get(job_id)
        if job is None:
            raise UsageError(f"no such job: {job_id}")
        await job.stop(min(_LAST_LOOK_SECONDS, self.config.collection_timeout), ended=job_ended)

    async def stop(self) -> None:
        """Stop every job."""
        async with asyncio.TaskGroup() as group:
            for job_id in self._jobs:
                group.create_task(self.stop_collection(job_id))

    async def wait(self, job_id: str) -> None:
        """Wait until a job is stopped; raise what broke its collection."""
        await self._jobs[job_id].wait()

    def get_latest_metrics(
        self, job_id: str, rank: int | None = None
    ) -> list[TrainingMetrics] | TrainingMetrics | None:
        """Give the newest sample of a rank, or of every rank that has told anything."""
        job = self._jobs.get(job_id)
        if job is None:
            return None
        if rank is not None:
            history = job.histories.get(rank)
            return None if history is None else history.latest()
        newest = (history.latest() for _, history in sorted(job.histories.items()))
        return [sample for sample in newest if sample is not None]

    def get_history(
        self,
        job_id: str,
        rank: int,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[TrainingMetrics]:
        """Give the samples of a rank whose own time lies in a span, oldest first."""
        job = self._jobs.get(job_id)
        history = None if job is None else job.histories.get(rank)
        if history is None:
            return []
        return history.between(
            None if since is None else metrics.moment(since), None if until is None else metrics.moment(until)
        )

    def get_metrics_history(self, job_id: str, rank: int, limit: int | None = None) -> list[TrainingMetrics]:
        """Give the newest samples of a rank, oldest first."""
        found = self.get_history(job_id, rank)
        return found if limit is None else found[max(0, len(found) - limit) :]

    def get_job_statistics(self, job_id: str) -> dict[str, object]:
        """Give averages, extremes and trends, per rank and over all; only of what was measured."""
        job = self._jobs.get(job_id)
        if job is None:
            return {"status": "not_found"}
        shape = statistics.of_job({rank: list(history) for rank, history in job.histories.items()})
        status = "no_metrics" if not shape["total_metrics"] else "active" if job.active else "stopped"
        return {"status": status, **shape, "alerts": len(job.alerts)}

    def get_alerts(self, job_id: str) -> list[Alert]:
        """List the thresholds that ranks of a job crossed, oldest first."""
        job = self._jobs.get(job_id)
        return [] if job is None else list(job.alerts)

    def get_status(self, job_id: str) -> dict[str, object]:
        """Say how collecting goes: per endpoint its beats, per rank its breaker, ages and problems."""
        job = self._jobs.get(job_id)
        return {"status": "not_found"} if job is None else job.status()

    def get_statistics(self) -> dict[str, object]:
        """Count what this collector did."""
        jobs = list(self._jobs.values())
        return {
            "active_jobs": sum(job.active for job in jobs),
            "stored_jobs": len(jobs),
            "total_collections": sum(job.looks for job in jobs),
            "failed_collections": sum(job.failed_looks for job in jobs),
            "metrics_collected": sum(h.collected for job in jobs for h in job.histories.values()),
            "circuit_breakers_open": sum(rank.breaker.is_open() for job in jobs for rank in job.ranks()),
        }

    def clean_up(self) -> int:
        """Let go of samples that are too old, and of stopped jobs that have none left; gives how many went."""
        now = self._around.clock()
        gone = sum(h.clean_up(now) for job in self._jobs.values() for h in job.histories.values())
        self._jobs = {
            job_id: job for job_id, job in self._jobs.items() if job.active or any(job.histories.values())
        }
        return gone


def create_metrics_collector(
    cluster: Mapping[object, object], config: MetricsCollectorConfig | Mapping[str, object] | None = None
) -> TrainingMetricsCollector:
    """Make a collector: `cluster` maps ranks to targets, `config` has the nine keys or is left out."""
    if not isinstance(cluster, Mapping):
        raise UsageError(
            f"a cluster maps ranks to targets, it is no {type(cluster).__name__}",
            hint='write {0: "/data/job", 1: "ssh://node2/data/job"}',
        )
    made = MetricsCollectorConfig.from_dict(config) if isinstance(config, Mapping) else config
    return TrainingMetricsCollector(targets.cluster(cluster), made)

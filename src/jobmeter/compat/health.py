"""Training with its collection around it: a job's ranks are started, watched from the first moment, and let go
when the last of them has ended. A thin front over `service.collecting`.
"""

import asyncio
import shlex
from collections.abc import Mapping, Sequence

from jobmeter.errors import UsageError
from jobmeter.service.collecting import (
    Launched,
    MetricsCollectorConfig,
    Target,
    TrainingMetrics,
    TrainingMetricsCollector,
    launching,
    targets,
)

JOB_FOLDER = "~/ugro_data/jobs/{job}"
"""Where the ranks of an agent without a cluster keep their files, on this host."""
_GLANCE_SECONDS = 0.1

Metrics = list[TrainingMetrics] | TrainingMetrics | None


class HealthMonitorIntegration:
    """Ties the collection of metrics to the life of jobs."""

    def __init__(self, cluster: Mapping[int, Target], config: MetricsCollectorConfig | None = None) -> None:
        self.cluster = dict(cluster)
        self.config = config or MetricsCollectorConfig()
        self._collector: TrainingMetricsCollector | None = None
        self._lives: dict[str, asyncio.Task[None]] = {}

    @property
    def running(self) -> bool:
        """Whether health monitoring was started."""
        return self._collector is not None

    def adopt(self, cluster: Mapping[int, Target]) -> None:
        """Learn where further ranks are."""
        self.cluster.update(cluster)
        if self._collector is not None:
            self._collector.cluster.update(cluster)

    async def start_health_monitoring(self, config: MetricsCollectorConfig | None = None) -> None:
        """Be ready to collect; starting twice changes nothing."""
        if self._collector is None:
            self.config = config or self.config
            self._collector = TrainingMetricsCollector(self.cluster, self.config)

    async def stop_health_monitoring(self) -> None:
        """Stop every collection; the jobs themselves go on."""
        collector, self._collector = self._collector, None
        for life in self._lives.values():
            life.cancel()
        if self._lives:
            await asyncio.wait(self._lives.values())
        self._lives.clear()
        if collector is not None:
            await collector.stop()

    def register_job_start(
        self, job_name: str, ranks: Sequence[int], launched: Launched | None = None
    ) -> None:
        """Begin to collect a job, and end with its commands where we know them."""
        if self._collector is None:
            raise UsageError("health monitoring is not running", hint="await start_health_monitoring() first")
        self._collector.begin_collection(job_name, ranks)
        if launched is not None:
            self._lives[job_name] = asyncio.create_task(self._live(self._collector, job_name, launched))

    async def register_job_end(self, job_name: str) -> None:
        """Stop collecting a job whose end somebody else saw."""
        if self._collector is not None:
            await self._collector.stop_collection(job_name, job_ended=True)

    async def _live(self, collector: TrainingMetricsCollector, job_name: str, launched: Launched) -> None:
        while launched.running():
            await asyncio.sleep(_GLANCE_SECONDS)
        launched.close()
        await collector.stop_collection(job_name, job_ended=True)

    async def wait(self, job_name: str) -> None:
        """Wait until a job that was launched here has ended and its last samples are in."""
        if job_name in self._lives:
            await self._lives[job_name]

    def get_training_metrics(self, job_id: str, rank: int | None = None) -> Metrics:
        """Give the newest sample of a rank or of all; None for a job nobody collects."""
        return None if self._collector is None else self._collector.get_latest_metrics(job_id, rank)

    def get_job_metrics_statistics(self, job_id: str) -> dict[str, object]:
        """Give a job's averages, extremes and trends."""
        if self._collector is None:
            return {"status": "collector_not_running"}
        return self._collector.get_job_statistics(job_id)

    def get_monitoring_status(self) -> dict[str, object]:
        """Say whether monitoring runs and what it did."""
        if self._collector is None:
            return {"status": "stopped"}
        config = {
            "collection_interval": self.config.collection_interval,
            "max_history_size": self.config.max_history_size,
        }
        statistics = self._collector.get_statistics()
        return {"status": "running", "metrics_collector": {"statistics": statistics, "config": config}}


class UGROAgentWithHealthMonitoring:
    """Starts training on a cluster and collects its metrics while it runs."""

    def __init__(
        self,
        cluster: Mapping[object, object] | None = None,
        config: MetricsCollectorConfig | None = None,
    ) -> None:
        self._anywhere = cluster is None
        self._integration = HealthMonitorIntegration(targets.cluster(cluster or {}), config)
        self._launched: dict[str, Launched] = {}

    async def start_health_monitoring(self, config: MetricsCollectorConfig | None = None) -> None:
        """Be ready to collect the metrics of what is launched."""
        await self._integration.start_health_monitoring(config)

    async def stop_health_monitoring(self) -> None:
        """Stop collecting; the training goes on."""
        await self._integration.stop_health_monitoring()

    def launch_training(
        self,
        job_name: str,
        ranks: Sequence[int] | None = None,
        command: str | Sequence[str] | None = None,
        *,
        num_gpus: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> bool:
        """Start the command once per rank and collect until the last one ends; within a running event loop.

        Without a command nothing is started: the ranks run already, and are collected until the job's end is told.
        """
        chosen = list(range(num_gpus) if ranks is None else ranks)
        if not self._integration.running:
            raise UsageError("health monitoring is not running", hint="await start_health_monitoring() first")
        members = self._members(chosen)
        launched = None
        if command is not None:
            words = shlex.split(command) if isinstance(command, str) else list(command)
            config = self._integration.config
            launched = launching.launch(job_name, words, members, config, environment or {})
            self._launched[job_name] = launched
        self._integration.register_job_start(job_name, chosen, launched)
        return True

    def _members(self, ranks: Sequence[int]) -> dict[int, Target]:
        """Find the targets of ranks; an agent without a cluster has them all here."""
        cluster = self._integration.cluster
        if self._anywhere:
            self._integration.adopt({rank: targets.parse(JOB_FOLDER) for rank in ranks})
        unknown = [rank for rank in ranks if rank not in cluster]
        if unknown or not ranks:
            raise UsageError(
                f"rank {unknown[0]} has no target" if unknown else "a job needs at least one rank"
            )
        return {rank: cluster[rank] for rank in ranks}

    async def wait_for_training(self, job_name: str) -> dict[int, int]:
        """Wait for a launched job to end; gives the exit code of every rank."""
        await self._integration.wait(job_name)
        launched = self._launched.get(job_name)
        return {} if launched is None else launched.exit_codes()

    async def stop_training(self, job_name: str) -> None:
        """Ask the commands of a job to end; their collection ends with them."""
        launched = self._launched.get(job_name)
        if launched is None:
            await self._integration.register_job_end(job_name)
            return
        # a host that hangs must not hold up the looks at the others
        await asyncio.to_thread(launched.stop)
        await self._integration.wait(job_name)

    def get_training_metrics(self, job_id: str, rank: int | None = None) -> Metrics:
        """Give the newest sample of a rank or of all; None for a job nobody collects."""
        return self._integration.get_training_metrics(job_id, rank)

    def get_job_metrics_statistics(self, job_id: str) -> dict[str, object]:
        """Give a job's averages, extremes and trends."""
        return self._integration.get_job_metrics_statistics(job_id)

    def get_health_status(self) -> dict[str, object]:
        """Say whether monitoring runs and what it did."""
        return self._integration.get_monitoring_status()

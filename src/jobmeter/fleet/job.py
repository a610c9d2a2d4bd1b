"""One job under collection: its pollers at work, the histories of its ranks, its alerts."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from jobmeter.fleet.alerts import Alert, Watcher
from jobmeter.fleet.gpu import Gpu, GpuLook
from jobmeter.fleet.history import RankHistory
from jobmeter.fleet.listener import Beat, Details, Listener, Surroundings
from jobmeter.fleet.poller import Poller
from jobmeter.fleet.rank import Rank
from jobmeter.fleet.settings import MetricsCollectorConfig
from jobmeter.fleet.told import Told
from jobmeter.model.view import Event

_HOUR_SECONDS = 3600.0
_ALERTS = 1000
_SPREAD = 0.2
"""The first looks are spread over this share of the interval, so that the beats do not fall on one moment."""


class CollectedJob:
    """Keeps what the pollers of one job find, and passes it on."""

    def __init__(
        self,
        job_id: str,
        ranks: Sequence[int],
        config: MetricsCollectorConfig,
        around: Surroundings,
        forward: Listener | None = None,
    ) -> None:
        """Begin empty; `forward` is who else wants to know."""
        self.job_id = job_id
        keep_seconds = config.cleanup_interval_hours * _HOUR_SECONDS
        self.histories = {rank: RankHistory(config.max_history_size, keep_seconds) for rank in ranks}
        self.alerts: deque[Alert] = deque(maxlen=_ALERTS)
        self.best_throughput: float | None = None
        self._forward = forward
        self._config = config
        self._around = around
        self._watcher = Watcher(config)
        self._pollers: list[Poller] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def active(self) -> bool:
        """Whether the job is being collected now."""
        return self._task is not None and not self._task.done()

    @property
    def looks(self) -> int:
        """How often a rank was looked at and answered."""
        return sum(rank.looks for rank in self.ranks())

    @property
    def failed_looks(self) -> int:
        """How often looking at a rank failed."""
        return sum(rank.failed_looks for rank in self.ranks())

    def ranks(self) -> Iterator[Rank]:
        """Give the ranks as they are seen."""
        return (rank for poller in self._pollers for rank in poller.ranks)

    def start(self, pollers: list[Poller]) -> None:
        """Set the pollers to work."""
        self._pollers = pollers
        self._task = asyncio.create_task(self._collect(), name=f"collect {self.job_id}")

    async def _collect(self) -> None:
        began, interval = self._around.clock(), self._config.collection_interval
        async with asyncio.TaskGroup() as group:
            for gpus in {id(poller.gpus): poller.gpus for poller in self._pollers}.values():
                group.create_task(gpus.run(began + interval / 2))
            for place, poller in enumerate(self._pollers):
                first = began + _SPREAD * interval * place / len(self._pollers)
                group.create_task(poller.run(first))

    async def wait(self) -> None:
        """Wait for the end; what broke the collection is raised here."""
        task = self._task
        if task is None:
            return
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    async def stop(self, last_look_seconds: float, *, ended: bool) -> None:
        """End the pollers, look once more where hosts answer, let go of the connections."""
        task, self._task = self._task, None
        if task is None:
            return
        broken = task.done()
        task.cancel()
        await asyncio.wait([task])
        async with asyncio.TaskGroup() as group:
            for poller in self._pollers:
                group.create_task(self._leave(poller, last_look_seconds))
        if ended:
            for poller in self._pollers:
                poller.finish()
        if broken and not task.cancelled():
            task.result()  # what broke the collection is told now

    async def _leave(self, poller: Poller, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await poller.look(self._around.clock())
        except TimeoutError:
            return  # a host that hangs has nothing to add
        finally:
            await poller.endpoint.close()

    def told(self, rank: int, new: Sequence[Told], wall: float) -> None:
        """Keep samples and look whether one crosses a threshold."""
        for one in new:
            now = one.fields().get("throughput_tokens_sec")
            if now is not None and 0 < now < float("inf"):
                self.best_throughput = max(self.best_throughput or now, now)
            sample = one.as_metrics(
                job_id=self.job_id, rank=rank, seen_at=wall, best_throughput=self.best_throughput
            )
            self.histories[rank].add(sample, self._around.clock())
            for alert in self._watcher.look(sample):
                self.alerts.append(alert)
                self.happened("alert", {"rank": rank, "kind": alert.kind.value, "text": alert.sentence})
        if self._forward is not None:
            self._forward.told(rank, new, wall)

    def looked(self, endpoint: str, beat: Beat, wall: float) -> None:
        """Pass on that a look ended."""
        if self._forward is not None:
            self._forward.looked(endpoint, beat, wall)

    def saw_gpus(self, endpoint: str, look: GpuLook, of_ranks: Mapping[int, Gpu]) -> None:
        """Pass on what GPUs told."""
        if self._forward is not None:
            self._forward.saw_gpus(endpoint, look, of_ranks)

    def happened(self, kind: str, details: Details) -> None:
        """Pass on an event."""
        if self._forward is not None:
            self._forward.happened(kind, details)

    def log_said(self, rank: int, event: Event) -> None:
        """Pass on what a log tells."""
        if self._forward is not None:
            self._forward.log_said(rank, event)

    def status(self) -> dict[str, object]:
        """Say how collecting goes."""
        now = self._around.clock()
        return {
            "status": "active" if self.active else "stopped",
            "endpoints": [
                _endpoint_status(poller, self._config.collection_interval) for poller in self._pollers
            ],
            "ranks": {
                rank.number: _rank_status(rank, poller, now)
                for poller in self._pollers
                for rank in poller.ranks
            },
        }


def _endpoint_status(poller: Poller, interval: float) -> dict[str, object]:
    beats = poller.beats
    late = max((beat.began - beat.due for beat in beats), default=0.0)
    shape: dict[str, object] = {
        "target": poller.endpoint.name,
        "ranks": [rank.number for rank in poller.ranks],
        "looks": len(beats),
        "failed_looks": sum(not beat.answered for beat in beats),
        "latest_start_percent": round(100 * late / interval, 1),
        "longest_look_seconds": round(max((beat.ended - beat.began for beat in beats), default=0.0), 6),
    }
    if poller.gpus.absent:
        shape["no_gpus"] = poller.gpus.absent
    return shape


def _rank_status(rank: Rank, poller: Poller, now: float) -> dict[str, object]:
    breaker = rank.breaker
    shape: dict[str, object] = {
        "target": poller.endpoint.name,
        "breaker": breaker.state.value,
        "failures": breaker.failures,
        "looks": rank.looks,
        "samples": rank.samples,
        "missing": rank.missing,
    }
    if rank.last_told is not None:
        shape["seconds_since_new"] = round(now - rank.last_told, 3)
    if breaker.trial_due is not None:
        shape["seconds_to_trial"] = round(max(0.0, breaker.trial_due - now), 3)
    if rank.problem or breaker.failures:
        shape["error"] = breaker.last_error if breaker.failures else rank.problem
    return shape

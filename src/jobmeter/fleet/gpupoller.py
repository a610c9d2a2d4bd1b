"""Ask a machine for its GPUs on a beat, beside the looks at files: a driver may hang, and delays nobody."""

import asyncio
from collections.abc import Sequence

from jobmeter.fleet import gpu
from jobmeter.fleet.breaker import CircuitBreaker
from jobmeter.fleet.endpoint import Endpoint, NoGpusError, NotConnectedError
from jobmeter.fleet.gpu import Gpu, GpuLook
from jobmeter.fleet.listener import Listener, Surroundings
from jobmeter.fleet.rank import Rank
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.tail import TargetError
from jobmeter.fleet.told import GPU, Told

_FRESH_INTERVALS = 2


class GpuPoller:
    """Looks at the GPUs of one machine for the ranks that run there."""

    def __init__(
        self,
        endpoint: Endpoint,
        ranks: Sequence[Rank],
        settings: tuple[MetricsCollectorConfig, BreakerPolicy],
        listener: Listener,
        around: Surroundings,
    ) -> None:
        self.absent = ""
        """Why there are no figures."""
        self._endpoint = endpoint
        self._ranks = ranks
        self._config = settings[0]
        self._listener = listener
        self._around = around
        self._breaker = CircuitBreaker(settings[1], around.clock, around.chance)
        self._latest: GpuLook | None = None
        self._of_ranks: dict[int, Gpu] = {}

    async def run(self, first: float) -> None:
        """Look at the first moment and every interval after it, until there is nothing to look at."""
        due, interval = first, self._config.collection_interval
        while True:
            await asyncio.sleep(max(0.0, due - self._around.clock()))
            try:
                await self.look()
            except NoGpusError as error:
                self.absent = str(error)
                return
            due += interval * (int((self._around.clock() - due) / interval) + 1)

    async def look(self) -> None:
        """Ask once, unless asking failed too often."""
        if not self._breaker.allows():
            return
        began = self._around.clock()
        try:
            async with asyncio.timeout(self._config.collection_timeout):
                text = await self._endpoint.gpus()
        except NoGpusError:
            raise
        except NotConnectedError:
            return  # the breakers of the ranks know why
        except (TargetError, OSError) as error:  # no answer in time, or no process left to ask with
            self.absent = str(error) or "nvidia-smi gave no answer"
            self._breaker.failed(self.absent)
            return
        self.absent = ""
        self._breaker.succeeded()
        self._take(text, began)

    def _take(self, text: str, began: float) -> None:
        now = self._around.clock()
        look = GpuLook(gpus=gpu.parse(text), began=began, ended=now, wall=self._around.wall())
        self._latest = look
        self._of_ranks = gpu.of_ranks(look.gpus, {rank.number: rank.place.gpu for rank in self._ranks})
        self._listener.saw_gpus(self._endpoint.name, look, self._of_ranks)
        for rank in self._ranks:
            mine = self._of_ranks.get(rank.number)
            if mine is not None and not rank.tells:
                self._listener.told(rank.number, [Told(source=GPU, metrics=mine.fields())], look.wall)

    def completed(self, rank: Rank, new: tuple[Told, ...]) -> list[Told]:
        """Add the GPU's figures to the newest record if it says none itself and they are of this moment."""
        *older, newest = new
        mine = self._of_ranks.get(rank.number)
        if mine is None or self._latest is None:
            return list(new)
        age = self._around.clock() - self._latest.ended
        own = newest.fields()
        added = {name: value for name, value in mine.fields().items() if name not in own}
        if not added or age > _FRESH_INTERVALS * self._config.collection_interval:
            return list(new)
        return [*older, newest.with_extra(added)]

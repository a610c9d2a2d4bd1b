"""Look at the ranks of one endpoint on a fixed beat. Whatever one endpoint does, no other waits for it.

A look that takes longer than the interval costs the beats it covered; they are not made up for. Errors go to the
breakers of the ranks they concern: of all ranks asked when the host did not answer, of one when its file is broken.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from jobmeter.fleet.endpoint import Endpoint
from jobmeter.fleet.gpupoller import GpuPoller
from jobmeter.fleet.listener import Beat, Details, Listener, Surroundings
from jobmeter.fleet.rank import Rank, RankLook
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.tail import Got, TargetError, Wanted
from jobmeter.recording import guard

_BEATS = 4096
_RETRY_SHARE = 0.1
"""The pause before a retry, as a share of the interval, up to a second; it varies by half."""
_FOLLOWUP_SHARE = 0.5
"""How much of an interval may be spent on catching up with a long file."""


class Poller:
    """Looks at the ranks of one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        ranks: Sequence[Rank],
        gpus: GpuPoller,
        settings: tuple[MetricsCollectorConfig, BreakerPolicy],
        listener: Listener,
        around: Surroundings,
    ) -> None:
        self.endpoint = endpoint
        self.ranks = ranks
        self.beats: deque[Beat] = deque(maxlen=_BEATS)
        self.gpus = gpus
        self._config, self._policy = settings
        self._listener = listener
        self._around = around
        self._told_problems: dict[int, str] = {}
        self._told_refusals: set[tuple[int, str]] = set()

    async def run(self, first: float) -> None:
        """Look at the first moment and every interval after it, until cancelled."""
        due, interval = first, self._config.collection_interval
        while True:
            await asyncio.sleep(max(0.0, due - self._around.clock()))
            await self.look(due)
            missed = int((self._around.clock() - due) / interval)
            due += interval * (missed + 1)

    async def look(self, due: float) -> None:
        """Ask the ranks whose breakers allow it."""
        asked = [rank for rank in self.ranks if rank.breaker.allows()]
        if not asked:
            return
        began = self._around.clock()
        trial = any(rank.breaker.failures for rank in asked)
        try:
            answers = await self._ask(asked, retries=0 if trial else self._policy.retries)
        except TargetError as error:
            self._end_look(Beat(due, began, self._around.clock(), answered=False))
            self._failed(asked, str(error))
            return
        self._end_look(Beat(due, began, self._around.clock(), answered=True))
        more = self._take(asked, answers)
        await self._follow_up(more, began + self._config.collection_interval * _FOLLOWUP_SHARE)

    def finish(self) -> None:
        """Take what logs held back, now that their job has ended."""
        wall = self._around.wall()
        for rank in self.ranks:
            look = self._guarded(rank, rank.finish)
            if look is not None:
                self._tell(rank, look, wall)

    def _end_look(self, beat: Beat) -> None:
        self.beats.append(beat)
        self._listener.looked(self.endpoint.name, beat, self._around.wall())

    async def _ask(self, ranks: Sequence[Rank], *, retries: int) -> list[list[Got]]:
        questions = [rank.wanted() for rank in ranks]
        answers = await self._read([one for asked in questions for one in asked], retries)
        per_rank: list[list[Got]] = []
        for asked in questions:
            per_rank.append(answers[: len(asked)])
            answers = answers[len(asked) :]
        return per_rank

    async def _read(self, wanted: Sequence[Wanted], retries: int) -> list[Got]:
        seconds = self._config.collection_timeout
        while True:
            try:
                async with asyncio.timeout(seconds):
                    return await self.endpoint.read(wanted)
            except TimeoutError:
                # what hangs is not asked again at once: its interval is gone
                raise TargetError(f"{self.endpoint.name} gave no answer in {seconds:g} s") from None
            except OSError as error:
                raise TargetError(f"{self.endpoint.name}: {error}") from None
            except TargetError:
                if not retries:
                    raise
            retries -= 1
            pause = min(self._config.collection_interval * _RETRY_SHARE, 1.0)
            await asyncio.sleep(pause * (0.5 + self._around.chance()))

    def _failed(self, ranks: Iterable[Rank], error: str) -> None:
        opened = []
        for rank in ranks:
            rank.failed_looks += 1
            if rank.breaker.failed(error):
                opened.append(rank.number)
        if opened:
            self._listener.happened(
                "breaker_open", {"ranks": opened, "target": self.endpoint.name, "error": error}
            )

    def _take(
        self, ranks: Sequence[Rank], answers: Sequence[Sequence[Got]], *, followup: bool = False
    ) -> list[Rank]:
        """Make sense of what came; give the ranks that have more to tell."""
        wall = self._around.wall()
        more, closed = [], []
        for rank, got in zip(ranks, answers, strict=True):
            look = self._guarded(rank, partial(rank.take, got, wall, followup=followup))
            if look is None:
                continue
            if look.broken:
                self._failed([rank], look.broken)
            elif rank.breaker.succeeded():
                closed.append(rank.number)
            self._tell(rank, look, wall)
            if look.more:
                more.append(rank)
        if closed:
            self._listener.happened("breaker_closed", {"ranks": closed, "target": self.endpoint.name})
        return more

    def _guarded(self, rank: Rank, read: Callable[[], RankLook]) -> RankLook | None:
        """Read what one rank told; whatever it held that breaks our reading, the other ranks go on."""
        return guard.attempt(read, lambda error: self._failed([rank], f"cannot be read: {error}"))

    async def _follow_up(self, ranks: list[Rank], until: float) -> None:
        """Read on where files are longer than one piece, as long as the beat allows."""
        while ranks and self._around.clock() < until:
            try:
                answers = await self._ask(ranks, retries=0)
            except TargetError as error:
                self._failed(ranks, str(error))
                return
            ranks = self._take(ranks, answers, followup=True)

    def _tell(self, rank: Rank, look: RankLook, wall: float) -> None:
        if look.new:
            self._listener.told(rank.number, self.gpus.completed(rank, look.new), wall)
        for event in look.events:
            self._listener.log_said(rank.number, event)
        where: Details = {"rank": rank.number, "target": self.endpoint.name}
        if look.problem and self._told_problems.get(rank.number) != look.problem:
            self._listener.happened("source_failed", {**where, "source": "fleet", "error": look.problem})
        self._told_problems[rank.number] = look.problem
        if rank.turned_missing():
            self._listener.happened("rank_missing", {**where, "error": "no metrics file and no log"})
        if rank.turned_up():
            self._listener.happened("rank_found", where)
        for sentence in (sentence for one in look.new for sentence in one.refused):
            name = sentence.partition(" ")[0]
            if (rank.number, name) not in self._told_refusals:
                self._told_refusals.add((rank.number, name))
                self._listener.happened("metric_refused", {**where, "error": sentence})

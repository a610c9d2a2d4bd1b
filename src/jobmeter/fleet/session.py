"""One collection from its start to its end: what `jobmeter collect` does."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from jobmeter.fleet.collector import TrainingMetricsCollector
from jobmeter.fleet.hostsfile import Hosts
from jobmeter.fleet.keeping import Asked, Keeper
from jobmeter.fleet.listener import Details
from jobmeter.recording.clock import SystemClock

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collection leaves behind for its caller."""

    run_id: str
    folder: str | None
    steps: int
    events: dict[str, int]
    ranks: list[int]
    """Those that told anything."""
    never_seen: list[int]
    status: dict[str, object] = field(default_factory=dict)


class _Teller(Keeper):
    """Keeps everything, and says aloud what a person should not miss."""

    def __init__(self, asked: Asked, clock: SystemClock, say: Callable[[str], None]) -> None:
        super().__init__(asked, clock)
        self._say = say

    def happened(self, kind: str, details: Details) -> None:
        """Keep an event and say it."""
        super().happened(kind, details)
        who = details.get("ranks", [details.get("rank")])
        ranks = ", ".join(map(str, who)) if isinstance(who, list) else ""
        words = details.get("text") or details.get("error") or details.get("target") or ""
        self._say(f"{kind.replace('_', ' ')}: rank {ranks}: {words}")


def run(
    hosts: Hosts, asked: Asked, *, duration_seconds: float | None, say: Callable[[str], None]
) -> Collected:
    """Collect until the time is over or somebody says stop, then write the end."""
    return asyncio.run(_collect(hosts, asked, duration_seconds, say))


async def _collect(
    hosts: Hosts, asked: Asked, duration_seconds: float | None, say: Callable[[str], None]
) -> Collected:
    keeper = _Teller(asked, SystemClock(), say)
    collector = TrainingMetricsCollector(
        hosts.cluster, hosts.config, policy=hosts.policy, listener=lambda _: keeper
    )
    stop = asyncio.Event()
    for number in _ENDING:
        # what was ignored when we began (nohup, a background job of a script) stays so
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await collector.start_collection(asked.job_id)
    say(f"collecting {len(hosts.cluster)} ranks into {keeper.path or 'nothing: the disk is full'}")
    try:
        await _until(stop, collector.wait(asked.job_id), duration_seconds)
        await collector.stop()
    finally:
        status = collector.get_status(asked.job_id)
        keeper.end(_missing(status))
    told = _told(status)
    return Collected(
        run_id=keeper.run_id,
        folder=keeper.path,
        steps=keeper.steps,
        events=keeper.events,
        ranks=sorted(told),
        never_seen=sorted(hosts.cluster.keys() - told),
        status=status,
    )


async def _until(stop: asyncio.Event, broken: Coroutine[None, None, None], seconds: float | None) -> None:
    """Wait for the first of: told to stop, time over, collection broken."""
    waits = [asyncio.create_task(stop.wait()), asyncio.create_task(broken)]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()


def _told(status: Mapping[str, object]) -> set[int]:
    """Name the ranks of which anything was ever heard."""
    ranks = status.get("ranks")
    return {rank for rank, facts in ranks.items() if facts["samples"]} if isinstance(ranks, dict) else set()


def _missing(status: Mapping[str, object]) -> dict[str, str]:
    """Say why GPUs of targets are not there."""
    endpoints = status.get("endpoints")
    rows = endpoints if isinstance(endpoints, list) else []
    return {f"nvsmi {row['target']}": str(row["no_gpus"]) for row in rows if "no_gpus" in row}

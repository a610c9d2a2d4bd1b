"""Keep a collection as a run folder: steps of all ranks, GPU figures as windows, what happened as events.

A record without a step number (a metrics file that counts none) is numbered as it comes, and its source says so:
`file:counted`. A step that a log tells without a clock is dated by the look that found it, and its source says so:
`log:<parser>:seen`.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobmeter.aggregation.summary import Summary
from jobmeter.config import home as homes
from jobmeter.config import options as settings
from jobmeter.config import redaction
from jobmeter.fleet import keys
from jobmeter.fleet.gpu import Gpu, GpuLook
from jobmeter.fleet.listener import Beat, Details
from jobmeter.fleet.targets import Target
from jobmeter.fleet.told import FILE, GPU, Number, Told
from jobmeter.model import moments, steps
from jobmeter.model.view import Event
from jobmeter.probes.paths import Paths
from jobmeter.recording import context, report, setup
from jobmeter.recording.clock import SystemClock
from jobmeter.runfolder import usageline, writer

COUNTED = "file:counted"
_GIB = 1 << 30
_WINDOW_KEYS = {"gpu_util": ("fleet_util", 1), "gpu_mem_used_gb": ("fleet_mem_used", _GIB)}
"""What a rank tells of its GPU goes into windows, in base units."""

Record = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a collection was asked to do."""

    job_id: str
    command: list[str]
    home: str
    cluster: Mapping[int, Target]
    interval: float


class Keeper:
    """Writes one run folder; hears everything the pollers of a job find."""

    def __init__(self, asked: Asked, clock: SystemClock) -> None:
        self._asked = asked
        self._clock = clock
        self._began = clock.monotonic()
        self._folder = writer.create(asked.home, clock.wall())
        self._steps = writer.LineFile(self._folder.file("steps.jsonl"))
        self._summary = Summary(keys.DEFINITIONS, lambda _: False)
        self._counts: dict[int, int] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()
        self.steps = 0
        self.events: dict[str, int] = {}
        self._start = self._start_record()
        self._context = self._context_record()
        self._folder.run.append(self._start)
        self._folder.run.append(self._context)
        self._folder.hold_room()

    @property
    def run_id(self) -> str:
        """Name the run."""
        return self._folder.run_id

    @property
    def path(self) -> str | None:
        """Name the folder; None on a full disk."""
        return self._folder.path

    def _start_record(self) -> Record:
        asked = self._asked
        words = ["--job-id", asked.job_id, "--home", asked.home, "--sample-interval", f"{asked.interval:g}"]
        options, _ = settings.parse(words, os.environ, homes.working_directory())
        return setup.start_record(options, asked.command, self._folder, self._clock, Paths())

    def _context_record(self) -> Record:
        by_target: dict[str, list[int]] = {}
        for rank, target in sorted(self._asked.cluster.items()):
            by_target.setdefault(redaction.redact_text(target.address), []).append(rank)
        return {
            "type": "context",
            "timestamp": writer.timestamp(self._clock.wall()),
            "pid": os.getpid(),
            "host": context.host(Paths()),
            "user": context.user(),
            "fleet": {"targets": by_target, "interval": self._asked.interval},
            **_world_size(self._asked.cluster),
            "measurements": [one.as_record() for one in keys.MEASUREMENTS],
            "provenance": {"selected": sorted(keys.DEFINITIONS), "missing": {}},
        }

    def told(self, rank: int, new: Sequence[Told], wall: float) -> None:
        """Keep steps, and what a rank says of its GPU as a window."""
        for one in new:
            if one.source == GPU:
                continue  # the host's GPUs come by `saw_gpus`
            self._keep_step(rank, one)
            readings = [
                (_WINDOW_KEYS[name][0], str(rank), _scaled(value, _WINDOW_KEYS[name][1]))
                for name, value in one.metrics.items()
                if name in _WINDOW_KEYS and math.isfinite(value)
            ]
            if readings:
                # by our clock: windows of many hosts stand in one file, and their clocks differ
                self._keep_window(wall, {}, readings)

    def _keep_step(self, rank: int, one: Told) -> None:
        trained = {name: value for name, value in one.metrics.items() if name not in _WINDOW_KEYS}
        if not trained:
            return
        count = self._counts[rank] = self._counts.get(rank, 0) + 1
        counted = one.step is None
        stamp = moments.iso_time(one.timestamp, moments.MICROSECONDS)
        record: Record = {
            **({} if stamp is None else {"timestamp": stamp}),
            "step": count if counted else one.step,
            "rank": rank,
            "source": _source(one),
            "metrics": {name: steps.as_json(value) for name, value in trained.items()},
        }
        if self._steps.append_line(json.dumps(record, allow_nan=False)):
            self.steps += 1

    def looked(self, endpoint: str, beat: Beat, wall: float) -> None:
        """Keep when a look began and how long it took."""
        if beat.answered:
            took = round(beat.ended - beat.began, 6)
            self._keep_window(wall, {"fleet": (beat.began, beat.ended)}, [("fleet_look", endpoint, took)])

    def saw_gpus(self, endpoint: str, look: GpuLook, of_ranks: Mapping[int, Gpu]) -> None:
        """Keep what a host's GPUs told, by their UUID."""
        readings: list[tuple[str, str, Number | str]] = []
        for gpu in look.gpus:
            known = ((f"nvsmi_{quantity}", value) for quantity, value in gpu.values.items())
            readings += [(key, gpu.uuid, value) for key, value in known if key in keys.DEFINITIONS]
            ranks = ",".join(str(rank) for rank, mine in sorted(of_ranks.items()) if mine.uuid == gpu.uuid)
            readings += self._news(gpu.uuid, {"fleet_host": endpoint, "fleet_rank": ranks})
        if readings:
            self._keep_window(look.wall, {"nvsmi": (look.began, look.ended)}, readings)

    def _news(self, instance: str, labels: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
        """Give the labels that were not said before."""
        for key, text in labels.items():
            if text and self._labels.get((key, instance)) != text:
                self._labels[key, instance] = text
                yield key, instance, text

    def _keep_window(
        self,
        wall: float,
        clock: Mapping[str, tuple[float, float]],
        readings: Sequence[tuple[str, str, Number | str]],
    ) -> None:
        self._summary.add(readings)
        self._used.update(key for key, _, _ in readings)
        values = {(key, instance): value for key, instance, value in readings}
        self._folder.usage.append_line(usageline.encode(writer.timestamp(wall), 1, clock, values))

    def happened(self, kind: str, details: Details) -> None:
        """Keep an event."""
        self.events[kind] = self.events.get(kind, 0) + 1
        self._folder.events.append(
            {"timestamp": writer.timestamp(self._clock.wall()), "type": kind, "details": details}
        )

    def log_said(self, rank: int, event: Event) -> None:
        """Keep an event that a rank's log tells of."""
        self.events[event.type] = self.events.get(event.type, 0) + 1
        stamp = moments.iso_time(event.timestamp) or writer.timestamp(self._clock.wall())
        self._folder.events.append(
            {"timestamp": stamp, "type": event.type, "rank": rank, "details": plain(event.details)}
        )

    def end(self, missing: Mapping[str, str]) -> None:
        """Write the end; the collection was stopped, what becomes of the job is not known here."""
        now, summary = self._clock.wall(), self._summary.values()
        dropped = self._folder.dropped() | ({"steps": self._steps.dropped} if self._steps.dropped else {})
        end: Record = {
            "type": "end",
            "timestamp": writer.timestamp(now),
            "status": "completed",
            "exit_code": 0,
            "signal": None,
            "ended_at": writer.timestamp(now),
            "wall_seconds": round(self._clock.monotonic() - self._began, 6),
            "samples": self.steps,
            "summary": summary,
            "provenance": {"selected": sorted(self._used), "missing": dict(missing)},
            **({"dropped": dropped} if dropped else {}),
        }
        self._folder.release_room()
        self._folder.run.append(end)
        headlines = report.headlines_of(end)
        path = self._folder.path or ""
        self._folder.write_info(report.info(self._start, self._context, end, headlines, path))
        self._steps.close()
        self._folder.close()


def _world_size(cluster: Mapping[int, Target]) -> Record:
    """Say how many ranks the job has, where targets were named for all from 0 on."""
    whole = sorted(cluster) == list(range(len(cluster)))
    return {"world_size": len(cluster)} if whole else {}


def plain(raw: object) -> object:
    """Make details fit for JSON, whatever a log held."""
    if isinstance(raw, dict):
        return {str(key): plain(value) for key, value in raw.items()}
    if isinstance(raw, list | tuple):
        return [plain(value) for value in raw]
    return raw if raw is None or isinstance(raw, str | int | float) else str(raw)


def _source(one: Told) -> str:
    """Name who told, and what of it is the collector's: the number of the step, or its time."""
    if one.step is None and one.source == FILE:
        return COUNTED
    return f"{one.source}{steps.SEEN}" if one.seen else one.source


def _scaled(value: Number, factor: int) -> Number:
    return value if factor == 1 else round(value * factor)

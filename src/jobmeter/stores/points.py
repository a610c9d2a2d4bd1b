"""The points of a run: new windows wait in a tail and are sealed into chunks, a block at a time.

Sealing is bound to numbers of windows, not to when somebody looked, so that an index built in one go and
one that grew with the run answer alike. What is left of an ended run and is too little for a chunk stays
in the tail: a run of a minute is one small row instead of a hundred. Where rows lie is the back end's.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jobmeter.model.steps import packed
from jobmeter.model.view import Series, Window
from jobmeter.stores import Statistics, arrays, coarse, codec, columns, figures, packing, seen, tails
from jobmeter.stores.pointtables import Chunk, ChunkRow, PointTables

JOB = ""
INSTANCES = "*"
BLOCK_WINDOWS = {JOB: 600, INSTANCES: 300}
LEAST_CHUNK_WINDOWS = 64
EVERYTHING = (-math.inf, math.inf)
"""All moments."""


class PointWriter:
    """Adds the windows of one run, inside the caller's transaction."""

    def __init__(
        self, tables: PointTables, counters: Collection[str] = (), packer: packing.Packer | None = None
    ) -> None:
        self._tables = tables
        self._packer = packing.Packer() if packer is None else packer
        self._counters = counters
        """Keys of which a rate will be asked."""

    def add(self, job: list[Window], instances: list[Window], *, final: bool) -> None:
        """Take new windows in; the last call seals what is worth it."""
        self._extend(JOB, job, final=final)
        self._extend(INSTANCES, instances, final=final)
        if final:
            self._tables.drop_young()

    def _extend(self, stream: str, new: list[Window], *, final: bool) -> None:
        if not new and not final:
            return
        waiting, sequence = self._tables.size(stream)
        total = waiting + len(new)
        least = LEAST_CHUNK_WINDOWS if final else BLOCK_WINDOWS[stream]
        if total < least:
            self._wait(stream, sequence + 1, new)
            return
        windows = [*self._waiting(stream), *new]
        self._tables.drop(stream)
        while len(windows) >= least:
            self._seal(stream, windows[: BLOCK_WINDOWS[stream]])
            windows = windows[BLOCK_WINDOWS[stream] :]
        self._wait(stream, 1, windows)

    def _wait(self, stream: str, sequence: int, windows: list[Window]) -> None:
        if windows:
            self._tables.wait(stream, sequence, len(windows), tails.encode(windows))

    def _waiting(self, stream: str) -> list[Window]:
        return [window for blob in self._tables.waiting(stream) for window in tails.decode(blob)]

    def _seal(self, stream: str, block: list[Window]) -> None:
        if stream == JOB:
            self._store(block, columns.columns(block))
            return
        known, waiting = self._tables.old_enough(), self._tables.waiting_processes()
        ready: list[columns.Column] = []
        apart: set[str] = set()
        for column in columns.columns(block):
            instance = column.name[1]
            if seen.is_process(instance) and (instance not in known or instance in waiting):
                apart.add(instance)
            else:
                ready.append(column)
        self._store(block, ready)
        for instance in sorted(apart):
            self._seal_process(instance, block, known=instance in known)

    def _seal_process(self, instance: str, block: list[Window], *, known: bool) -> None:
        """Keep a young process waiting, or store it with what has waited of it."""
        own = [columns.only(window, lambda name: name[1] == instance) for window in block]
        own = [window for window in own if window.values]
        if known:
            windows = [*self._waiting(instance), *own]
            self._tables.drop(instance)
            self._store(windows, columns.columns(windows))
            return
        _, sequence = self._tables.size(instance)
        self._wait(instance, sequence + 1, own)

    def _store(self, block: Sequence[Window], found: Sequence[columns.Column]) -> None:
        axes: list[bytes] = []
        times: dict[columns.Places, _Axis] = {}
        spans: dict[tuple[str, columns.Places], _Spans | None] = {}
        chunks = []
        for column in found:
            source, places = columns.source_of(column.name[0]), column.places
            if places not in times:
                moments = columns.times(block, places)
                times[places] = _Axis(len(axes), min(moments), max(moments))
                axes.append(self._packer.encode(moments))
            if (source, places) not in spans:
                covered = columns.spans(block, source, places)
                spans[source, places] = None if covered is None else _Spans(len(axes), covered)
                axes += [] if covered is None else [self._packer.encode(covered)]
            chunks.append(self._chunk(column, times[places], spans[source, places]))
        if chunks:
            self._tables.store(axes, chunks)

    def _chunk(self, column: columns.Column, times: "_Axis", spans: "_Spans | None") -> Chunk:
        found = columns.statistics(column.values)
        is_rate = spans is not None and column.name[0] in self._counters
        return Chunk(
            name=column.name,
            t0=times.t0,
            t1=times.t1,
            n=len(column.values),
            measured=found.n,
            low=codec.storable(found.low),
            high=codec.storable(found.high),
            total=codec.storable(found.total),
            last=codec.storable(found.last),
            times=times.place,
            spans=None if spans is None else spans.place,
            blob=self._packer.encode(column.values),
            figures=figures.pack_rate(coarse.rate(column.values, spans.seconds))
            if spans and is_rate
            else None,
        )


class _Spans(NamedTuple):
    """The seconds that points cover, and where they are to be stored."""

    place: int
    seconds: list[float]


class _Axis(NamedTuple):
    """Times that are to be stored, and what they span."""

    place: int
    t0: float
    t1: float


_Axes = tuple[int | columns.Places, ...]
"""Where the times of a series are: stored axes, then the places of windows that wait."""


@dataclass(slots=True)
class _Points:
    """One series while it is put together, stretch by stretch; `spans` is None once a stretch has none."""

    axes: list[int | columns.Places] = field(default_factory=list)
    times: list[Sequence[codec.Number]] = field(default_factory=list)
    values: list[Sequence[codec.Number]] = field(default_factory=list)
    spans: list[Sequence[codec.Number]] | None = field(default_factory=list)

    def add(
        self,
        axis: int | columns.Places,
        times: Sequence[codec.Number],
        values: Sequence[codec.Number],
        spans: Sequence[codec.Number] | None,
    ) -> None:
        if not len(times) == len(values) == len(times if spans is None else spans):
            raise codec.DamagedBlobError("a chunk and its axis differ in length")
        self.axes.append(axis)
        self.times.append(times)
        self.values.append(values)
        if spans is None or self.spans is None:
            self.spans = None
        else:
            self.spans.append(spans)

    def inside(self, between: tuple[float, float]) -> "_Points":
        """Leave out the points of other moments."""
        found = _Points(spans=None if self.spans is None else [])
        for place, moments in enumerate(self.times):
            spans = None if self.spans is None else self.spans[place]
            if between[0] <= min(moments) and max(moments) <= between[1]:
                found.add(self.axes[place], moments, self.values[place], spans)
                continue
            kept = [at for at, moment in enumerate(moments) if between[0] <= moment <= between[1]]
            if kept:
                # a part of an axis is shared with no other series
                found.add((), _taken(moments, kept), _taken(self.values[place], kept), _some(spans, kept))
        return found


def _taken(part: Sequence[codec.Number], kept: Sequence[int]) -> Sequence[codec.Number]:
    return packed([part[place] for place in kept])


def _some(part: Sequence[codec.Number] | None, kept: Sequence[int]) -> Sequence[codec.Number] | None:
    return None if part is None else _taken(part, kept)


class PointReader:
    """Reads the points of one run, sealed or waiting."""

    def __init__(self, tables: PointTables) -> None:
        self._tables = tables
        self._joined: dict[_Axes, Sequence[float]] = {}

    def series(
        self, keys: Collection[str] | None, counters: Collection[str], between: tuple[float, float]
    ) -> list[Series]:
        """Put series together from chunks and tail."""
        found = self._sealed(keys, counters, between)
        for name, waiting in self._unsealed(keys).items():
            points = found.setdefault(name, _Points())
            spans = None if waiting.spans is None else waiting.spans[0]
            points.add(waiting.axes[0], waiting.times[0], waiting.values[0], spans)
        return self._made(found, counters, between)

    def sealed(
        self, keys: Collection[str] | None, counters: Collection[str], between: tuple[float, float]
    ) -> list[Series]:
        """Put series together from chunks alone."""
        return self._made(self._sealed(keys, counters, between), counters, between)

    def _made(
        self, found: Mapping[columns.Name, _Points], counters: Collection[str], between: tuple[float, float]
    ) -> list[Series]:
        made = [self._series(name, found[name], counters, between) for name in sorted(found)]
        return [series for series in made if series.times]

    def _sealed(
        self, keys: Collection[str] | None, counters: Collection[str], between: tuple[float, float]
    ) -> dict[columns.Name, _Points]:
        found: dict[columns.Name, _Points] = {}
        sealed = self._tables.chunks(keys, between)
        count = sum(row.n for row in sealed)
        columns_found = arrays.all_of([row.blob for row in sealed], count)
        stored = self._axes(sealed, counters, arrays.decoder(count))
        for row, values in zip(sealed, columns_found, strict=True):
            spans_id = row.spans_id if row.key in counters else None
            points = found.setdefault((row.key, row.instance), _Points())
            spans = None if spans_id is None else stored[spans_id]
            points.add(row.times_id, stored[row.times_id], values, spans)
        return found

    def _series(
        self, name: columns.Name, points: _Points, counters: Collection[str], between: tuple[float, float]
    ) -> Series:
        chosen = points if between == EVERYTHING else points.inside(between)
        spans = chosen.spans if name[0] in counters else None
        return Series(
            key=name[0],
            instance=name[1],
            times=self._times(chosen),
            values=arrays.join(chosen.values),
            spans=None if spans is None else arrays.join(spans),
        )

    def _times(self, points: _Points) -> Sequence[float]:
        """Join the times of a series; those that were sampled together share them."""
        axes = tuple(points.axes)
        if () in axes:
            return columns.rising(arrays.join(points.times))
        if axes not in self._joined:
            self._joined[axes] = columns.rising(arrays.join(points.times))
        return self._joined[axes]

    def _axes(
        self, sealed: Sequence[ChunkRow], counters: Collection[str], decode: arrays.Decode
    ) -> dict[int, Sequence[codec.Number]]:
        wanted = {row.times_id for row in sealed}
        wanted |= {row.spans_id for row in sealed if row.spans_id is not None and row.key in counters}
        found = {axis_id: decode(blob) for axis_id, blob in self._tables.axes(wanted).items()}
        if len(found) != len(wanted):
            raise codec.DamagedBlobError("an axis is missing")
        return found

    def tail(
        self, keys: Collection[str] | None, counters: Collection[str], between: tuple[float, float]
    ) -> dict[columns.Name, Series]:
        """Read of every series what is not sealed."""
        found = self._unsealed(keys)
        made = {name: self._series(name, points, counters, between) for name, points in found.items()}
        return {name: series for name, series in made.items() if series.times}

    def _unsealed(self, keys: Collection[str] | None) -> dict[columns.Name, _Points]:
        found: dict[columns.Name, _Points] = {}
        windows, young = self._tail()
        for column in columns.columns(windows):
            if column.name[1] in young or (keys is not None and column.name[0] not in keys):
                continue
            times = columns.times(windows, column.places)
            covered = columns.spans(windows, columns.source_of(column.name[0]), column.places)
            found[column.name] = _Points()
            found[column.name].add(
                column.places,
                packed(times),
                packed(column.values),
                None if covered is None else packed(covered),
            )
        return found

    def _tail(self) -> tuple[list[Window], set[str]]:
        """Read the windows that wait, oldest first for every series, and who is too young for one."""
        windows = [window for blob in self._tables.tail() for window in tails.decode(blob)]
        return windows, self._tables.young() if windows else set()

    def statistics(self) -> dict[columns.Name, Statistics]:
        """Summarise every series from chunk headers and the tail."""
        parts: dict[columns.Name, list[Statistics]] = {}
        for key, instance, n, *values in self._tables.headers():
            low, high, total, last = (math.nan if value is None else value for value in values)
            parts.setdefault((key, instance), []).append(Statistics(n, low, high, total, last))
        windows, young = self._tail()
        for column in columns.columns(windows):
            if column.name[1] not in young:
                parts.setdefault(column.name, []).append(columns.statistics(column.values))
        return {name: columns.merge(parts[name]) for name in sorted(parts)}

"""One run folder into the store: its new bytes, its facts, and the numbers that are computed on reading."""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import msgspec

from jobmeter.aggregation import headline
from jobmeter.analysis import jobkey
from jobmeter.model.measurement import Kind, Measurement, Scope, Stat
from jobmeter.model.run import LIVE, Headline, Run, Status, Value
from jobmeter.model.steps import Step
from jobmeter.model.view import Event, Window
from jobmeter.runfolder import lines, liveness, reader, sdkfiles, tailer
from jobmeter.service import fields, output_steps, running_sums, step_summary
from jobmeter.service.output_steps import Patience
from jobmeter.service.running_sums import RunningSums
from jobmeter.stores import Batch, Position, Statistics, Store, seen

USAGE = "usage.jsonl"
UNSUMMED = LIVE | {Status.LOST}
"""Runs without an end record."""


def index_run(
    store: Store,
    run_id: str,
    folder: Path,
    machine: liveness.Here,
    now: float,
    *,
    patience: Patience,
) -> bool:
    """Bring the index up to what a folder holds; OSError when the folder cannot be read.

    False when there was no patience to search all of its output for steps.
    """
    return Look(machine, now, patience, RunningSums()).index(store, run_id, folder)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at some folders; who looks again and again gives each the same `sums`."""

    machine: liveness.Here
    now: float
    patience: Patience
    sums: RunningSums

    def index(self, store: Store, run_id: str, folder: Path) -> bool:
        """Do what `index_run` does."""
        since = store.positions(run_id)
        if _shrank(folder, since):
            store.forget(run_id)
            since = {}
        # the facts first: once they say that the run ended, every other file is whole
        run, ended = reader.read_run_and_finality(folder, machine=self.machine, now=self.now)
        if run.run_id != run_id:
            run = dataclasses.replace(run, run_id=run_id)  # a copied folder goes by its name
        adding = _Adding(store, run, folder, since, self.sums, closed=ended)
        last = adding.windows()
        adding.steps()
        complete = adding.output(self.patience)
        adding.finish(last, final=ended and complete)
        return complete


def _shrank(folder: Path, since: dict[str, Position]) -> bool:
    """A file shorter than what was indexed of it is another file."""
    sizes = {file: tailer.size(folder, file) for file in since}
    return any(size is not None and size < since[file].offset for file, size in sizes.items())


@dataclass(frozen=True, slots=True)
class _Part:
    windows: Sequence[Window]
    until: Position


class _Adding:
    """Adds what is new in one folder, a part at a time, and the run's facts with the last of them."""

    def __init__(
        self,
        store: Store,
        run: Run,
        folder: Path,
        since: Mapping[str, Position],
        sums: RunningSums,
        *,
        closed: bool,
    ) -> None:
        self._store = store
        self._sums = sums
        self._folder = folder
        self._closed = closed
        self._known = dict(since)
        self._files = os.listdir(folder)
        # what the index holds so far stays to be seen while more is added
        self._run = _with_steps(run, store) if since else run
        self._job_key = jobkey.job_key(run)
        self._searched: dict[str, Position] = {}
        self._events: list[Event] = []
        self._summed: running_sums.Sums | None = None
        if run.status in UNSUMMED and not run.summary:
            self._summed = sums.at(store, run.run_id, self._position(USAGE).offset)

    def windows(self) -> _Part:
        """Add all windows but the last part, which goes with the facts."""
        last = _Part((), self._position(USAGE))
        for part in self._read_usage():
            self._add_windows(last)
            last = part
            if self._summed is not None:
                self._summed = running_sums.extended(self._summed, part.windows, self._run.definitions)
        return last

    def _add_windows(self, part: _Part) -> None:
        if part.windows:
            self._add({USAGE: part.until}, windows=part.windows)

    def steps(self) -> None:
        """Add the steps that the job's processes, or an import, wrote down."""
        for file in sdkfiles.names(self._files, sdkfiles.STEPS):
            bad_lines = self._position(file).bad_lines
            for piece in self._pieces(file):
                decoded = [lines.step(line) for line in piece.lines]
                bad_lines += piece.skipped + _bad(piece, decoded)
                found = [step for step in decoded if step is not None]
                self._add({file: Position(piece.end, bad_lines)}, steps={file: found})

    def output(self, patience: Patience) -> bool:
        """Add the steps that the job's output shows; False when some of it was left for the next look."""
        outputs = output_steps.OutputReader(
            self._run, self._known, output_steps.line_reader, closed=self._closed
        )
        for part in outputs.parts(patience):
            # most output holds no steps: how far it was searched is noted with the facts
            self._searched.update(part.until)
            self._events += part.events
            if part.steps:
                self._add(self._searched, steps=part.steps, events=self._events)
                self._searched, self._events = {}, []
        return outputs.complete

    def finish(self, last: _Part, *, final: bool) -> None:
        """Add the facts, the events and what was kept for the end."""
        until = {**self._searched, USAGE: last.until}
        events = self._events
        for file in sdkfiles.names(self._files, sdkfiles.EVENTS):
            found, until[file] = self._read_events(file)
            events += found
        files = {*self._known, *until}
        bad_lines = sum((until.get(file) or self._position(file)).bad_lines for file in files)
        run = _count_unreadable(_with_steps(self._run, self._store, last.windows), bad_lines)
        self._run = with_headline(_with_summary(run, self._summed))
        self._add(until, windows=last.windows, events=events, final=final)
        if self._summed is None or final:
            self._sums.forget(run.run_id)
        else:
            self._sums.keep(run.run_id, last.until.offset, self._summed)

    def _add(
        self,
        until: Mapping[str, Position],
        *,
        windows: Sequence[Window] = (),
        events: Sequence[Event] = (),
        steps: Mapping[str, Sequence[Step]] | None = None,
        final: bool = False,
    ) -> None:
        batch = Batch(
            run=self._run,
            final=final,
            fields=fields.of_run(self._run, summary=False),
            job_key=self._job_key,
            windows=windows,
            events=events,
            steps=steps or {},
            since={file: self._position(file) for file in until},
            until=until,
        )
        self._store.append(batch)
        self._known.update(until)

    def _position(self, file: str) -> Position:
        return self._known.get(file, Position(0))

    def _pieces(self, file: str) -> Iterator[tailer.Piece]:
        mapped = sdkfiles.is_mapped(file)
        return tailer.pieces(
            self._folder, file, self._position(file).offset, closed=self._closed, mapped=mapped
        )

    def _read_usage(self) -> Iterator[_Part]:
        window_reader = lines.WindowReader()
        skipped = self._position(USAGE).bad_lines
        for piece in self._pieces(USAGE):
            windows = window_reader.read(piece.lines)
            skipped += piece.skipped
            yield _Part(windows, Position(piece.end, skipped + window_reader.bad))

    def _read_events(self, file: str) -> tuple[list[Event], Position]:
        events: list[Event] = []
        until = self._position(file)
        for piece in self._pieces(file):
            decoded = [lines.event(line) for line in piece.lines]
            events += [event for event in decoded if event is not None]
            until = Position(piece.end, until.bad_lines + piece.skipped + _bad(piece, decoded))
        return events, until


def _bad(piece: tailer.Piece, decoded: Sequence[object]) -> int:
    """Count the lines that were no records; an empty one is nothing, one cut off by a kill is no garbage."""
    if piece.torn:
        return 0
    pairs = zip(piece.lines, decoded, strict=True)
    return sum(found is None and bool(line.strip()) for line, found in pairs)


def _with_steps(run: Run, store: Store, unstored: Sequence[Window] = ()) -> Run:
    """Sum up the steps that the index holds, and name the ranks that processes and steps are of."""
    found = store.step_statistics(run.run_id)
    labelled = seen.together(store.ranks(run.run_id), seen.ranks_in(unstored))
    if not found and not labelled.seen:
        return run
    sizes = [size for size in (run.world_size, labelled.world_size) if size is not None]
    return dataclasses.replace(
        run,
        steps=step_summary.summarise(found),
        ranks=step_summary.ranks(run, found, labelled),
        world_size=max(sizes, default=None),
    )


def _count_unreadable(run: Run, more: int) -> Run:
    if not more:
        return run
    known = run.provenance.dropped
    dropped = {**known, reader.UNREADABLE: known.get(reader.UNREADABLE, 0) + more}
    return dataclasses.replace(run, provenance=dataclasses.replace(run.provenance, dropped=dropped))


def _with_summary(run: Run, summed: running_sums.Sums | None) -> Run:
    """Sum up a run whose recorder has not, or could not: from what its windows say so far."""
    return run if summed is None else dataclasses.replace(run, summary=summarise(run.definitions, summed))


def summarise(
    definitions: Mapping[str, Measurement], statistics: Mapping[tuple[str, str], Statistics]
) -> dict[str, Value]:
    """Name the statistics of whole-job keys as a recorder's summary does."""
    summary: dict[str, Value] = {}
    for key, found in _of_the_job(definitions, statistics).items():
        definition = definitions[key]
        if definition.kind is Kind.COUNTER:
            summary[key] = _tidy(found.total)
            continue
        if not definition.summary:
            summary[key] = _tidy(found.high)
        for stat in definition.summary:
            summary[definition.stat_key(stat.value)] = _tidy(_statistic(stat, found))
    return dict(sorted(summary.items()))


def _of_the_job(
    definitions: Mapping[str, Measurement], statistics: Mapping[tuple[str, str], Statistics]
) -> dict[str, Statistics]:
    """Choose the keys of the whole job; those of its devices are taken together, as the recorder does."""
    chosen: dict[str, Statistics] = {}
    for (key, instance), found in statistics.items():
        definition = definitions.get(key)
        if not found.n or definition is None or definition.scope is Scope.PROCESS:
            continue
        if definition.scope is Scope.DEVICE and key in chosen:
            chosen[key] = _together(chosen[key], found)
        elif not instance or definition.scope is Scope.DEVICE:
            chosen[key] = found
    return chosen


def _together(one: Statistics, other: Statistics) -> Statistics:
    return Statistics(
        n=one.n + other.n,
        low=min(one.low, other.low),
        high=max(one.high, other.high),
        total=one.total + other.total,
        last=other.last,
    )


def _statistic(stat: Stat, found: Statistics) -> float:
    match stat:
        case Stat.PEAK:
            return found.high
        case Stat.LOW:
            return found.low
        case Stat.LAST:
            return found.last
        case Stat.TOTAL:
            return found.total
        case Stat.MEAN:
            return found.total / found.n
        case _:
            assert_never(stat)


def _tidy(value: float) -> float:
    """Write what is whole as a whole number, the rest to the microsecond."""
    if isinstance(value, int):
        return value
    return int(value) if value.is_integer() else round(value, 6)


def with_headline(run: Run) -> Run:
    """Compute the numbers of record from a run's summary."""
    figures = msgspec.convert(headline.headlines(run.summary, run.provenance.inexact), dict[str, Headline])
    if run.status in UNSUMMED:
        # what happened after the last window is not in them
        figures = {name: dataclasses.replace(found, exact=False) for name, found in figures.items()}
    return dataclasses.replace(run, headline=figures)

"""One run folder into the store: its new bytes, its facts, and the numbers that are computed on reading."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import msgspec

from jobmeter.aggregation import headline
from jobmeter.model.measurement import Kind, Measurement, Scope, Stat
from jobmeter.model.run import LIVE, Headline, Run, Status, Value
from jobmeter.model.view import Event, Window
from jobmeter.runfolder import lines, liveness, reader, tailer
from jobmeter.service import fields
from jobmeter.stores import Batch, Position, Statistics, Store

USAGE, EVENTS = "usage.jsonl", "events.jsonl"
UNSUMMED = LIVE | {Status.LOST}
"""Runs without an end record."""


def index_run(store: Store, run_id: str, folder: Path, machine: liveness.Here, now: float) -> None:
    """Bring the index up to what a folder holds; OSError when the folder cannot be read."""
    since = store.positions(run_id)
    if _shrank(folder, since):
        store.forget(run_id)
        since = {}
    # the facts first: once they say that the run ended, every other file is whole
    run, final = reader.read_run_and_finality(folder, machine=machine, now=now)
    _append(store, dataclasses.replace(run, run_id=run_id), folder, since, final=final)


def _shrank(folder: Path, since: dict[str, Position]) -> bool:
    """A file shorter than what was indexed of it is another file."""
    sizes = {file: tailer.size(folder, file) for file in since}
    return any(size is not None and size < since[file].offset for file, size in sizes.items())


def _append(store: Store, run: Run, folder: Path, since: dict[str, Position], *, final: bool) -> None:
    known = {EVENTS: since.get(EVENTS, Position(0)), USAGE: since.get(USAGE, Position(0))}
    last = _Part((), known[USAGE])
    for part in _read_usage(folder, known[USAGE], closed=final):
        if last.windows:
            known = _append_part(store, run, last, known)
        last = part
    if last.windows and run.status in UNSUMMED:
        # its numbers so far are computed from the index, which must hold these windows first
        known = _append_part(store, run, last, known)
        last = _Part((), last.until)
    events, until_events = _read_events(folder, known[EVENTS], closed=final)
    until = {USAGE: last.until, EVENTS: until_events}
    run = _count_unreadable(run, last.until.bad_lines + until_events.bad_lines)
    run = with_headline(_with_summary(run, store))
    store.append(_batch(run, final=final, windows=last.windows, events=events, since=known, until=until))


def _append_part(store: Store, run: Run, part: "_Part", since: dict[str, Position]) -> dict[str, Position]:
    until = {**since, USAGE: part.until}
    store.append(_batch(run, final=False, windows=part.windows, events=(), since=since, until=until))
    return until


def _batch(
    run: Run,
    *,
    final: bool,
    windows: Sequence[Window],
    events: Sequence[Event],
    since: dict[str, Position],
    until: dict[str, Position],
) -> Batch:
    named = fields.of_run(dataclasses.replace(run, summary={}))
    return Batch(run=run, final=final, fields=named, windows=windows, events=events, since=since, until=until)


@dataclass(frozen=True, slots=True)
class _Part:
    windows: Sequence[Window]
    until: Position


def _read_usage(folder: Path, since: Position, *, closed: bool) -> Iterator[_Part]:
    window_reader = lines.WindowReader()
    skipped = since.bad_lines
    for piece in tailer.pieces(folder, USAGE, since.offset, closed=closed):
        windows = window_reader.read(piece.lines)
        skipped += piece.skipped
        yield _Part(windows, Position(piece.end, skipped + window_reader.bad))


def _read_events(folder: Path, since: Position, *, closed: bool) -> tuple[list[Event], Position]:
    events: list[Event] = []
    offset, bad_lines = since.offset, since.bad_lines
    for piece in tailer.pieces(folder, EVENTS, since.offset, closed=closed):
        found = [(line, lines.event(line)) for line in piece.lines]
        events += [event for _, event in found if event is not None]
        bad_lines += piece.skipped + sum(event is None and bool(line.strip()) for line, event in found)
        offset = piece.end
    return events, Position(offset, bad_lines)


def _count_unreadable(run: Run, more: int) -> Run:
    if not more:
        return run
    known = run.provenance.dropped
    dropped = {**known, reader.UNREADABLE: known.get(reader.UNREADABLE, 0) + more}
    return dataclasses.replace(run, provenance=dataclasses.replace(run.provenance, dropped=dropped))


def _with_summary(run: Run, store: Store) -> Run:
    """Sum up a run whose recorder has not, or could not: from what its windows say so far."""
    if run.status not in UNSUMMED or run.summary:
        return run
    return dataclasses.replace(run, summary=summarise(run.definitions, store.statistics(run.run_id)))


def summarise(
    definitions: Mapping[str, Measurement], statistics: Mapping[tuple[str, str], Statistics]
) -> dict[str, Value]:
    """Name the statistics of whole-job keys as a recorder's summary does."""
    summary: dict[str, Value] = {}
    for (key, instance), found in statistics.items():
        definition = definitions.get(key)
        if instance or not found.n or definition is None or definition.scope is Scope.PROCESS:
            continue
        if definition.kind is Kind.COUNTER:
            summary[key] = _tidy(found.total)
            continue
        if not definition.summary:
            summary[key] = _tidy(found.high)
        for stat in definition.summary:
            summary[definition.stat_key(stat.value)] = _tidy(_statistic(stat, found))
    return dict(sorted(summary.items()))


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

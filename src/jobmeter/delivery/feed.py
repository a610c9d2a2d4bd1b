"""New samples of a run out of the store, each with the time it was taken, none twice.

A counter is handed on as the sum of its deltas since the run began, added up in the order they were stored, so that
it comes out the same whichever process adds, and begins with a 0 where its first delta begins. Steps are handed on as
they stand at each look, not one by one: a loop may take thousands a second. Series of single processes stay here.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from jobmeter.delivery import folder_labels, following, rank_steps
from jobmeter.delivery.samples import MILLISECONDS, Mark, Points, Slice, Story
from jobmeter.exporters import metric_families, metric_names, run_metrics
from jobmeter.exporters.metric_names import SUM_DIGITS, Family, Labels, Type
from jobmeter.exporters.prometheus import MAX_SERIES_OF_RUN
from jobmeter.exporters.run_metrics import Name
from jobmeter.model.measurement import Kind
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import Series
from jobmeter.stores import Store, columns

FUTURE_SECONDS = 600.0
"""A sample from a clock that is farther ahead would make receivers refuse everybody else's."""
MAX_STORY_STEPS = 200
MAX_STORY_EVENTS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which of a run's new samples are asked for."""

    now: float
    max_age_seconds: float
    max_points: int
    until: Mark | None = None
    """Where to end, if that was decided before."""
    story: bool = False
    """Also what is told of an ended run."""

    @property
    def not_before_ms(self) -> int:
        return _ms(self.now - self.max_age_seconds)

    @property
    def not_after_ms(self) -> int:
        return _ms(self.now + FUTURE_SECONDS)

    def takes(self, moment_ms: int) -> bool:
        """Say whether a receiver takes a sample of this moment."""
        return self.not_before_ms <= moment_ms <= self.not_after_ms


@dataclass(slots=True)
class _Remembered:
    """What is known of a run at a mark; worked out again where the mark is another."""

    usage_ms: int
    totals: dict[Name, float] = field(default_factory=dict)
    devices: folder_labels.Devices = field(default_factory=dict)
    admitted: set[tuple[str, Labels]] = field(default_factory=set)
    """Series that are sent: names of metrics are the job's, and it may invent thousands."""
    follower: following.Follower | None = None
    """Reads on from the mark, where that is near the end of the file."""


class Feed:
    """Reads runs, a slice at a time; remembers the sums of those it read last."""

    def __init__(self) -> None:
        self._known: dict[str, _Remembered] = {}

    def forget(self, run_id: str) -> None:
        """Drop what is remembered of a run."""
        self._known.pop(run_id, None)

    def slice(self, store: Store, run: Run, since: Mark, wanted: Wanted) -> Slice:
        """Read what a run has brought since a mark, at most `max_points` of its windows' and what goes with them."""
        if not since.usage_ms and _ms(run.started_at or 0.0) < wanted.not_before_ms:
            since = replace(since, usage_ms=wanted.not_before_ms - 1)
        exported = {key for key, one in run.definitions.items() if _is_series(metric_names.family_of(one))}
        counters = {key for key in exported if run.definitions[key].kind is Kind.COUNTER}
        known = self._remembered(store, run, since, counters)
        found = _series(store, run, exported, since, known)
        until_ms, more = _end(found, since.usage_ms, wanted)
        look = _Look(run, since, until_ms, wanted, known)
        made = look.points(found)
        steps, steps_ms = ([], since.steps_ms) if more else look.steps(store)
        ended = wanted.until.final if wanted.until else run.status not in LIVE and not more
        until = wanted.until or look.ending(steps_ms, ended=ended)
        follower = None if more or ended else _follower(run, until, found, known)
        self._known[run.run_id] = replace(known, usage_ms=until.usage_ms, follower=follower)
        # what is known of the run is of now, not of a backlog
        facts = [] if more else look.facts(until.usage_ms)
        points, too_many = _admitted([*facts, *made, *look.states(), *steps], known.admitted)
        return Slice(
            run=run,
            until=until,
            points=points,
            too_old=look.too_old,
            too_many=too_many,
            more=more,
            over=look.over(store)[:MAX_SERIES_OF_RUN] if ended and wanted.takes(until.usage_ms) else (),
            story=_story(store, run) if ended and wanted.story else None,
        )

    def _remembered(self, store: Store, run: Run, since: Mark, counters: Collection[str]) -> _Remembered:
        known = self._known.get(run.run_id)
        if known is not None and known.usage_ms == since.usage_ms:
            return replace(known, totals=dict(known.totals))
        fresh = _Remembered(since.usage_ms, devices=folder_labels.devices(run))
        if since.usage_ms:
            # key by key: a run may be weeks old
            for key in sorted(counters):
                fresh.totals |= _totals(store, run, key, since.usage_ms)
        return fresh


class _Look:
    """One look at a run between two marks."""

    def __init__(self, run: Run, since: Mark, until_ms: int, wanted: Wanted, known: _Remembered) -> None:
        self._run = run
        self._since = since
        self._until_ms = until_ms
        self._wanted = wanted
        self._known = known
        self._own = metric_names.labels_of_run(run)
        self._numbers = run_metrics.gpu_numbers(known.devices)
        self.too_old = 0

    def _series(self, key: str, instance: str) -> tuple[Family, Labels] | None:
        return run_metrics.series_of(self._run.definitions.get(key), instance, self._own, self._numbers)

    def points(self, found: Sequence[Series]) -> list[Points]:
        """Take the new points of every series; what is too old is counted."""
        made: list[Points] = []
        for one in found:
            series = self._series(one.key, one.instance)
            if series is None:
                continue
            is_delta = series[0].type is Type.COUNTER
            times, values = _new(one, self._since.usage_ms, self._until_ms, is_delta=is_delta)
            if is_delta:
                times, values = _summed(one, times, values, self._known.totals)
            # rising, so what is too old comes first
            old = bisect_left(times, self._wanted.not_before_ms)
            self.too_old += old
            if old < len(times):
                made.append(Points(*series, times[old:], values[old:]))
        return made

    def steps(self, store: Store) -> tuple[list[Points], Mapping[int, int]]:
        """Say where the loop of every rank stands that went on."""
        made: list[Points] = []
        reached = dict(self._since.steps_ms)
        decided = None if self._wanted.until is None else self._wanted.until.steps_ms
        for rank in rank_steps.latest(store.step_statistics(self._run.run_id)):
            moment = _ms(rank.told_at) if rank.told_at is not None and math.isfinite(rank.told_at) else 0
            if moment <= reached.get(rank.rank, 0) or not self._wanted.takes(moment):
                continue
            if decided is not None and moment != decided.get(rank.rank):
                continue  # it went on since that was decided
            reached[rank.rank] = moment
            told = run_metrics.steps(rank, self._own)
            made += [Points(one.family, one.labels, [moment], [one.value]) for one in told]
        return made, reached

    def states(self) -> list[Points]:
        """Say in which states devices were last seen."""
        made: list[Points] = []
        for (key, instance), (seen_at, tally) in folder_labels.states(self._run).items():
            moment, series = _ms(seen_at), self._series(key, instance)
            if series is None or not self._since.usage_ms < moment <= self._until_ms:
                continue
            for state, count in tally.items() if self._wanted.takes(moment) else ():
                labels = metric_names.joined(series[1], metric_names.labels({"state": state}))
                made.append(Points(series[0], labels, [moment], [count]))
        return made

    def ending(self, steps_ms: Mapping[int, int], *, ended: bool) -> Mark:
        """Say how far this look came; an end is told when it was, and not before the last window."""
        if not ended:
            return Mark(usage_ms=self._until_ms, steps_ms=steps_ms)
        moment_ms = max(self._until_ms + 1, _ms(self._run.ended_at or 0.0))
        # one that was lost may be heard of again: its host was away, not its recorder
        return Mark(usage_ms=moment_ms, steps_ms=steps_ms, final=self._run.status is not Status.LOST)

    def facts(self, moment_ms: int) -> list[Points]:
        """Say what is known of the run beside its series."""
        if moment_ms <= self._since.usage_ms or not self._wanted.takes(moment_ms):
            return []
        measured_at = self._until_ms / MILLISECONDS if self._until_ms else None
        found = run_metrics.facts(self._run, self._own, measured_at)
        return [Points(one.family, one.labels, [moment_ms], [one.value]) for one in found]

    def over(self, store: Store) -> list[tuple[Family, Labels]]:
        """Name the gauges that nobody measures any more; sums stay true."""
        named = [self._series(*name) for name in store.statistics(self._run.run_id)]
        gauges = [series for series in named if series is not None and series[0].type is Type.GAUGE]
        states = [metric_names.joined(self._own, (("state", status.value),)) for status in LIVE]
        return [*gauges, *((metric_families.RUN_STATE, labels) for labels in states)]


def _series(
    store: Store, run: Run, exported: Collection[str], since: Mark, known: _Remembered
) -> Sequence[Series]:
    """Read what is new: from the folder where that is followed, else from the store."""
    if not exported:
        return []
    counters = {key for key in exported if run.definitions[key].kind is Kind.COUNTER}
    if known.follower is None:
        after = (since.usage_ms / MILLISECONDS, math.inf)
        return store.series(run.run_id, exported, counters=counters, between=after)
    windows = known.follower.read()
    earliest = (since.usage_ms + 1) / MILLISECONDS
    return [
        Series(
            key=column.name[0],
            instance=column.name[1],
            # where the wall clock was set back time stands still, as in the store
            times=columns.rising(max(moment, earliest) for moment in columns.times(windows, column.places)),
            values=column.values,
            spans=columns.spans(windows, columns.source_of(column.name[0]), column.places),
        )
        for column in columns.columns(windows)
        if column.name[0] in exported
    ]


def _admitted(points: Sequence[Points], admitted: set[tuple[str, Labels]]) -> tuple[list[Points], int]:
    """Keep the points of series that were sent before, and of new ones while there is room; count the others'."""
    kept: list[Points] = []
    left_out = 0
    for one in points:
        name = (one.family.name, one.labels)
        if name in admitted or len(admitted) < MAX_SERIES_OF_RUN:
            admitted.add(name)
            kept.append(one)
        else:
            left_out += len(one.times_ms)
    return kept, left_out


def _follower(
    run: Run, until: Mark, found: Sequence[Series], known: _Remembered
) -> following.Follower | None:
    """Follow a live run from a mark on; from a clock that is ahead more was read than was taken."""
    is_ahead = any(len(one.times) and _ms(one.times[-1]) > until.usage_ms for one in found)
    if known.follower is not None and not is_ahead:
        return known.follower
    return None if run.folder is None else following.after(Path(run.folder), until.usage_ms)


def _is_series(family: Family | None) -> bool:
    return family is not None and family.type is not Type.INFO


def _ms(moment: float) -> int:
    return round(moment * MILLISECONDS)


def _end(found: Sequence[Series], since_ms: int, wanted: Wanted) -> tuple[int, bool]:
    """Choose up to which moment so many points are taken, and whether some remain."""
    if wanted.until is not None:
        return wanted.until.usage_ms, False
    moments = sorted(
        moment for one in found for moment in map(_ms, one.times) if since_ms < moment <= wanted.not_after_ms
    )
    if not moments:
        return since_ms, False
    # those that are too old cost nothing
    young = [moment for moment in moments if moment >= wanted.not_before_ms]
    if len(young) <= wanted.max_points:
        return moments[-1], False
    last = young[wanted.max_points - 1]
    return last, last < young[-1]


def _new(one: Series, since_ms: int, until_ms: int, *, is_delta: bool) -> tuple[list[int], list[float]]:
    """Take the points between two marks."""
    kept: dict[int, float] = {}
    for moment, value in zip(map(_ms, one.times), one.values, strict=True):
        if since_ms < moment <= until_ms:
            # within one millisecond the last gauge counts, and all deltas
            kept[moment] = kept.get(moment, 0.0) + value if is_delta else value
    return list(kept), list(kept.values())


def _summed(
    one: Series, times: list[int], values: list[float], totals: dict[Name, float]
) -> tuple[list[int], list[float]]:
    """Add deltas up, from where the last slice ended; the first sum of a run is preceded by a 0."""
    if not times:
        return [], []
    name = (one.key, one.instance)
    begins = name not in totals
    deltas = [0.0 if math.isnan(value) else value for value in values]
    sums = list(accumulate(deltas, initial=totals.get(name, 0.0)))
    totals[name] = sums[-1]
    # what adding leaves beyond the digits that were measured would be told as if it had been
    sums = [round(total, SUM_DIGITS) for total in sums]
    span = one.spans[0] if one.spans else math.nan
    zero_ms = times[0] - _ms(span) if math.isfinite(span) else times[0]
    return ([zero_ms, *times], sums) if begins and zero_ms < times[0] else (times, sums[1:])


def _totals(store: Store, run: Run, key: str, until_ms: int) -> dict[Name, float]:
    """Add up what a counter came to at a mark, in the same order as when it was handed on."""
    found: dict[Name, float] = {}
    between = (-math.inf, until_ms / MILLISECONDS)
    for one in store.series(run.run_id, {key}, counters={key}, between=between):
        times, values = _new(one, -1, until_ms, is_delta=True)
        if times:
            _summed(one, times, values, found)
    return found


def _story(store: Store, run: Run) -> Story:
    tables = store.steps(run.run_id)
    rows = sum(map(len, tables))
    every = max(1, math.ceil(rows / MAX_STORY_STEPS))
    steps = [
        step
        for table in tables
        for place, step in enumerate(table.rows())
        if place % every == 0 or place == len(table) - 1
    ]
    return Story(
        events=store.events(run.run_id)[:MAX_STORY_EVENTS], steps=steps, steps_left_out=rows - len(steps)
    )

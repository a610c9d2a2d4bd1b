"""Hands the new samples of all runs to one outlet, batch by batch, through outages and restarts.

The store is the queue: what an outlet does not take stays there, and is asked for again. One batch is under way at a
time, and it stays the same until it was taken or refused for good.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from jobmeter.delivery.feed import Feed, Wanted
from jobmeter.delivery.positions import Positions
from jobmeter.delivery.samples import MILLISECONDS, REFUSED, TOO_MANY, TOO_OLD, Counts, Mark, Slice
from jobmeter.errors import StoreError
from jobmeter.model.run import LIVE, Run
from jobmeter.stores import Store

MAX_POINTS = 5_000
"""After which a batch is full, and of one run in it: cutting a run in two costs reading it twice."""
NEWEST_RUNS = 500
"""Of which those that ended lately are looked at when the server starts."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
_KEPT_AGES = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an outlet says of a batch."""

    taken: bool
    """False: try the same batch again."""
    dropped: int = 0
    """Points that were refused for good."""
    unsent: int = 0
    """Points that this outlet does not speak of."""
    reason: str = ""
    retry_seconds: float | None = None
    """How long the receiver asks to be left alone."""


class Outlet(Protocol):
    """Where samples go."""

    wants_story: bool

    def send(self, batch: Sequence[Slice], *, again: bool) -> Outcome:
        """Send a batch; `again` says that it may have been taken before the server was killed."""

    def close(self) -> None:
        """Give connections back."""


@dataclass(slots=True)
class _Batch:
    slices: list[Slice] = field(default_factory=list)
    again: bool = False

    @property
    def size(self) -> int:
        return sum(one.size for one in self.slices)


class Pump:
    """Moves samples from a store to an outlet; `turn` does all that can be done now."""

    def __init__(
        self,
        outlet: Outlet,
        positions: Positions,
        reading: Callable[[], AbstractContextManager[Store]],
        *,
        max_age_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._outlet = outlet
        self._positions = positions
        self._reading = reading
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._feed = Feed()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._in_hand: set[str] = set()
        """Runs that are being read, and those that could not be: they are looked at again in the next turn."""
        self._unread: Exception | None = None
        self._waiting: _Batch | None = None
        self._failures = 0
        self._begun = False
        self.counts = Counts(trouble=positions.trouble)

    def note(self, run_ids: Iterable[str]) -> None:
        """Have runs looked at that changed; any thread may say so."""
        with self._lock:
            self._changed.update(run_ids)

    def turn(self) -> float | None:
        """Send all that is new; how many seconds to wait before trying again, None when nothing is left."""
        self.note(self._in_hand)
        for run_id in self._in_hand:
            self._feed.forget(run_id)  # it may have read on further than was handed over
        self._in_hand.clear()
        self._unread = None
        with self._reading() as store:
            if not self._begun:
                self._begin(store)
            while True:
                batch = self._waiting or self._gather(store)
                if batch is None and self._unread is not None:
                    raise self._unread
                if batch is None:
                    return None
                pause = self._deliver(batch)
                if pause is not None:
                    return pause

    def close(self) -> None:
        """Give connections back."""
        self._outlet.close()

    def _begin(self, store: Store) -> None:
        """Look at what the last server left, and at what ended while none was there."""
        since = self._clock() - self._max_age_seconds
        recent = [run for run in store.briefs(limit=NEWEST_RUNS) if _is_recent(run, since)]
        open_ids = [run_id for run_id, mark in self._positions.marks.items() if not mark.final]
        self.note([*store.unfinished(), *(run.run_id for run in recent), *open_ids])
        if self._positions.pending:
            slices = [self._again(store, *item) for item in self._positions.pending.items()]
            self._waiting = _Batch([one for one in slices if one is not None], again=True)
            if not self._waiting.slices:
                self._waiting = None
        self._begun = True

    def _again(self, store: Store, run_id: str, until: Mark) -> Slice | None:
        """Read the slice again that was being sent."""
        run = store.run(run_id)
        if run is None:
            return None
        since = self._positions.marks.get(run_id, Mark())
        return self._feed.slice(store, run, since, self._wanted(until=until))

    def _wanted(self, until: Mark | None = None) -> Wanted:
        return Wanted(
            now=self._clock(),
            max_age_seconds=self._max_age_seconds,
            max_points=MAX_POINTS,
            until=until,
            story=self._outlet.wants_story,
        )

    def _gather(self, store: Store) -> _Batch | None:
        """Read new slices of changed runs until a batch is full."""
        batch = _Batch()
        while batch.size < MAX_POINTS and (run_id := self._next()) is not None:
            try:
                found = self._read(store, run_id)
            except (StoreError, OSError, ValueError) as error:
                self._unread = error
                continue
            if found is None:
                self._in_hand.discard(run_id)
            else:
                batch.slices.append(found)
        if not batch.slices:
            return None
        until = {one.run.run_id: one.until for one in batch.slices}
        self._positions.begin(until)
        self._in_hand -= until.keys()
        self._waiting = batch
        return batch

    def _read(self, store: Store, run_id: str) -> Slice | None:
        """Read what is new of a run; None where that is nothing."""
        mark = self._positions.marks.get(run_id, Mark())
        run = None if mark.final else store.run(run_id)
        if run is None or not self._is_wanted(run, mark):
            self._feed.forget(run_id)
            return None
        found = self._feed.slice(store, run, mark, self._wanted())
        self.counts.drop(TOO_OLD, found.too_old)
        self.counts.drop(TOO_MANY, found.too_many)
        if found.more:
            self.note([run_id])
        return found if found.size or found.until != mark else None

    def _next(self) -> str | None:
        with self._lock:
            found = min(self._changed - self._in_hand, default=None)
            if found is not None:
                self._changed.discard(found)
                self._in_hand.add(found)
        return found

    def _is_wanted(self, run: Run, mark: Mark) -> bool:
        """A run that ended long ago was never ours to tell; one that was begun is finished."""
        return bool(mark.usage_ms) or _is_recent(run, self._clock() - self._max_age_seconds)

    def _deliver(self, batch: _Batch) -> float | None:
        """Send a batch; how long to wait where it was not taken."""
        self.counts.requests += 1
        outcome = self._outlet.send(batch.slices, again=batch.again)
        if not outcome.taken:
            self.counts.retries += 1
            self.counts.trouble = outcome.reason
            pause: float = min(FIRST_PAUSE_SECONDS * 2.0**self._failures, LONGEST_PAUSE_SECONDS)
            self._failures = min(self._failures + 1, 10)
            return max(pause, outcome.retry_seconds or 0.0)
        self._failures = 0
        self.counts.drop(REFUSED, outcome.dropped)
        self.counts.sent += batch.size - outcome.dropped - outcome.unsent
        self.counts.delivered_at = self._clock()
        self.counts.trouble = outcome.reason or None
        self._waiting = None
        for one in batch.slices:
            if one.run.status not in LIVE and not one.more:
                self._feed.forget(one.run.run_id)
        long_ago = self._clock() - _KEPT_AGES * self._max_age_seconds
        self._positions.forget_before(round(long_ago * MILLISECONDS))
        self._positions.finish()
        return None


def retry_seconds(header: str | None) -> float | None:
    """Read how long a receiver asks to be left alone: seconds, or a date, which is left to our own patience."""
    text = header or ""
    return min(float(text), 600.0) if text.isascii() and text.isdecimal() else None


def _is_recent(run: Run, since: float) -> bool:
    return run.status in LIVE or (run.ended_at or run.started_at or 0.0) >= since

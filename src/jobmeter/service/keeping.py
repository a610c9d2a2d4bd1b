"""Keeps the index of a home up while a server runs: the only writer, in a thread of its own.

A look is cheap whatever the home holds: only months whose folder changed are listed, only runs that have not
ended are looked into, and of many such only some at a time. What another process of this machine indexed
first is still told, because what counts is that files grew, not who read them.

What can mislead: an error is told once and never ends the keeper; `health` says when it last succeeded.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from jobmeter import stores
from jobmeter.errors import StoreError, reason_of
from jobmeter.model.run import LIVE, Status
from jobmeter.runfolder import liveness
from jobmeter.service import folder_watch, index, indexing, notices, output_steps, running_sums
from jobmeter.stores import Store

BUSY_SECONDS, IDLE_SECONDS = 0.5, 1.0
"""Between looks: while something runs, and else."""
_BATCH = 64
"""Runs that are indexed before those who wait for news are told."""
_LOOKED_INTO = 200
"""Running runs whose files are looked at in one look."""
_PULSE_SECONDS = 5.0
"""How often a run that writes nothing is asked whether its recorder lives."""
_WAIT_SECONDS = 10.0
_RETRY_SECONDS = 5.0
_STOP_SECONDS = 30.0
_MENDED_SECONDS = 60.0
_FIRST_SECONDS = 10.0
"""A home of many new runs is shown while it is still being indexed."""


class Change(Enum):
    """What became of a run."""

    NEW = "new"
    GREW = "grew"
    ENDED = "ended"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Changed:
    """One run whose index is another than it was."""

    run_id: str
    change: Change


Observer = Callable[[Store, Sequence[Changed]], None]
"""Is called by the keeper's thread, after the rows are committed, with a store it may read."""
Chore = Callable[[], None]
"""Is called by the keeper's thread after every look: what has to be done now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the keeper fares."""

    alive: bool
    looked_at: float | None
    """When a look last succeeded."""
    runs: int
    running: int
    trouble: str | None
    """What the last look failed of."""


@dataclass(slots=True)
class _Known:
    """What is remembered between looks."""

    statuses: dict[str, Status] = field(default_factory=dict)
    """Of runs of which not all is known yet."""
    sizes: dict[str, tuple[object, ...]] = field(default_factory=dict)
    pulses: dict[str, float] = field(default_factory=dict)
    """When each was last indexed, on the monotonic clock."""
    told_at: dict[str, float] = field(default_factory=dict)
    """When a run was last pushed here: those who push tell of every change."""
    waiting: dict[str, None] = field(default_factory=dict)
    """Runs to be indexed, in order; one stays here until it is, whatever goes wrong meanwhile."""
    gone: dict[str, None] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why a run could not be indexed the last time."""


class Keeper:
    """Looks at the folders again and again, indexes what is new, and tells."""

    def __init__(
        self,
        home: Path,
        opener: Callable[[], index.Index],
        *,
        observers: Sequence[Observer] = (),
        chores: Sequence[Chore] = (),
        replaced: Callable[[], None],
        warn: notices.Warn = notices.to_stderr,
    ) -> None:
        self._home = home
        self._open = opener
        self._observers = observers
        self._chores = chores
        self._replaced = replaced
        self._warn = warn
        self._touched: queue.SimpleQueue[tuple[str, bool] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="jobmeter-keeper", daemon=True)
        self._watch = folder_watch.Watch(home)
        self._known = _Known()
        self._sums = running_sums.RunningSums()
        self._looked_at: float | None = None
        self._trouble: str | None = None
        self._first_look = threading.Event()
        self._damage: stores.DamagedError | None = None
        self._mended_at = -math.inf

    def start(self) -> None:
        """Begin in a thread; come back when the home was looked at once, or after some seconds."""
        self._thread.start()
        self._first_look.wait(_FIRST_SECONDS)

    def stop(self) -> None:
        """End after the batch that is being indexed."""
        self._stopping.set()
        self._touched.put(None)
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def touch(self, run_id: str, *, pushed: bool = False) -> None:
        """Index a run as soon as possible; one that is pushed here is not looked at in between."""
        self._touched.put((run_id, pushed))

    def mend(self, error: stores.DamagedError) -> None:
        """Have an index that a reader found damaged built again."""
        self._damage = error
        self._touched.put(None)

    def health(self) -> Health:
        """Say how it goes."""
        statuses = dict(self._known.statuses)
        return Health(
            alive=self._thread.is_alive(),
            looked_at=self._looked_at,
            runs=len(self._watch.names),
            running=sum(status in LIVE for status in statuses.values()),
            trouble=self._trouble,
        )

    def _keep(self) -> None:
        opened: index.Index | None = None
        while not self._stopping.is_set():
            try:
                if opened is None:
                    opened = self._begin()
                pause = self._look(opened)
                self._trouble, self._looked_at = None, time.time()
                for chore in self._chores:
                    self._call(chore)
            except stores.DamagedError as error:
                opened, pause = self._mend_or_give_up(opened, error), 0.0
                if opened is None:
                    pause = _RETRY_SECONDS
            except stores.BusyError as error:
                self._complain(error)
                pause = _RETRY_SECONDS
            except Exception as error:  # noqa: BLE001  # a fault in one look must not end the service: it is told and tried again
                self._give_up(opened, error)
                opened = None
                pause = _RETRY_SECONDS
            self._first_look.set()
            self._sleep(pause)
        if opened is not None:
            opened.close()

    def _begin(self) -> index.Index:
        """Open the index and bring it up to all that is there."""
        opened = self._open()
        self._watch = folder_watch.Watch(self._home)
        self._watch.skip_changes()
        self._watch.look(time.time())
        done = opened.refresh()
        self._known = _Known(statuses=opened.ask(lambda store: store.unfinished()))
        if self._looked_at is not None:
            # nobody was told of anything while the index was away
            told = [Changed(run_id, Change.GREW) for run_id in done.indexed]
            self._tell(opened.ask(lambda store: store), told)
        return opened

    def _mend_or_give_up(self, opened: index.Index | None, error: stores.DamagedError) -> index.Index | None:
        """Have a damaged index built again; None where that cannot be done now."""
        if opened is None:
            self._give_up(None, error)
            return None
        try:
            self._mend(opened, error)
        except (StoreError, OSError) as failed:
            # it is in no file that could be set aside, or the disk is full
            self._give_up(opened, failed)
            return None
        return opened

    def _mend(self, opened: index.Index, error: stores.DamagedError) -> None:
        """Have a damaged index built again; readers of the old file are sent to the new one."""
        self._complain(error)
        self._mended_at = time.monotonic()
        damage = [error]

        def question(store: Store) -> dict[str, Status]:
            if damage:
                raise damage.pop()  # the index sets itself aside, begins anew and is asked again
            return store.unfinished()

        self._known.statuses = opened.ask(question)
        self._replaced()

    def _give_up(self, opened: index.Index | None, error: Exception) -> None:
        """Let go of an index that nobody knows what is wrong with; the next look opens it again."""
        self._complain(error)
        if opened is None:
            return
        try:
            opened.close()
        except (StoreError, OSError) as failed:
            self._complain(failed)
        self._replaced()

    def _look(self, opened: index.Index) -> float:
        found, self._damage = self._damage, None
        # readers that hold the old file may complain for a while after it was set aside
        if found is not None and time.monotonic() - self._mended_at > _MENDED_SECONDS:
            raise found
        store = opened.ask(index.answering)
        seen = self._watch.look(time.time())
        known = self._known
        known.gone.update(dict.fromkeys(seen.gone))
        known.waiting.update(dict.fromkeys([*self._taken(), *seen.new, *seen.changed]))
        self._forget(store, list(known.gone))
        known.waiting.update(dict.fromkeys(self._grown()))
        self._index(store, list(known.waiting))
        live = any(status in LIVE for status in self._known.statuses.values())
        return BUSY_SECONDS if live or self._watch.is_waiting() else IDLE_SECONDS

    def _taken(self) -> list[str]:
        """Take what was touched since the last look."""
        now = time.monotonic()
        ids: list[str] = []
        while True:
            try:
                touched = self._touched.get_nowait()
            except queue.Empty:
                return list(dict.fromkeys(ids))
            if touched is None:
                continue
            run_id, pushed = touched
            ids.append(run_id)
            if pushed:
                self._known.told_at[run_id] = now

    def _grown(self) -> list[str]:
        """Choose unfinished runs whose files grew, or that were silent for long enough to be asked."""
        now, known = time.monotonic(), self._known
        patience = _PULSE_SECONDS * (1 + len(known.statuses) / 100)
        chosen: list[str] = []
        for run_id in list(islice(known.statuses, _LOOKED_INTO)):
            # the next look begins with those that this one did not come to
            known.statuses[run_id] = known.statuses.pop(run_id)
            if now - known.told_at.get(run_id, -math.inf) < patience:
                continue
            sizes = folder_watch.sizes(self._watch.folder(run_id))
            silent = now - known.pulses.get(run_id, now - patience) >= patience
            if sizes != known.sizes.get(run_id) or silent:
                known.sizes[run_id] = sizes
                chosen.append(run_id)
        return chosen

    def _forget(self, store: Store, gone: Sequence[str]) -> None:
        if not gone:
            return
        with store.writing(_WAIT_SECONDS):
            for run_id in gone:
                store.forget(run_id)
        for run_id in gone:
            self._drop(run_id)
        self._tell(store, [Changed(run_id, Change.GONE) for run_id in gone])

    def _index(self, store: Store, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _BATCH):
            if self._stopping.is_set():
                return
            self._index_batch(store, ids[start : start + _BATCH])

    def _index_batch(self, store: Store, ids: Sequence[str]) -> None:
        before = self._known.statuses
        patience = output_steps.Patience(index.LOOK_SECONDS, index.LOOK_BYTES)
        look = indexing.Look(liveness.here(), time.time(), patience, self._sums)
        done: list[tuple[str, bool]] = []
        with store.writing(_WAIT_SECONDS):
            for run_id in ids:
                was_known = run_id in before or bool(store.positions(run_id))
                folder = self._watch.folder(run_id)
                try:
                    look.index(store, run_id, folder)
                except StoreError:
                    raise
                except Exception as error:  # noqa: BLE001  # one folder that a parser stumbles over must not hold up the others
                    self._complain_of(run_id, _reason(error))
                    continue
                finally:
                    self._known.pulses[run_id] = time.monotonic()
                done.append((run_id, was_known))
                self._known.unreadable.pop(run_id, None)
        after = store.unfinished()
        self._tell(store, [Changed(run_id, self._change(run_id, after, known)) for run_id, known in done])
        self._remember(ids, after)

    def _change(self, run_id: str, after: dict[str, Status], was_known: bool) -> Change:
        if not was_known:
            return Change.NEW
        was_live = self._known.statuses.get(run_id) in LIVE
        return Change.ENDED if was_live and after.get(run_id) not in LIVE else Change.GREW

    def _remember(self, ids: Iterable[str], after: dict[str, Status]) -> None:
        for run_id in ids:
            self._known.waiting.pop(run_id, None)
            if run_id in after:
                self._known.statuses[run_id] = after[run_id]
            else:
                self._drop(run_id)

    def _drop(self, run_id: str) -> None:
        known = self._known
        memories: tuple[dict[str, Any], ...] = (
            known.statuses,
            known.sizes,
            known.pulses,
            known.told_at,
            known.waiting,
            known.gone,
            known.unreadable,
        )
        for memory in memories:
            memory.pop(run_id, None)

    def _tell(self, store: Store, changes: Sequence[Changed]) -> None:
        if changes:
            for observer in self._observers:
                self._call(partial(observer, store, changes))

    def _call(self, told: Chore) -> None:
        """Let others do their part; what goes wrong there is theirs, and the index is kept up all the same."""
        try:
            told()
        except Exception as error:  # noqa: BLE001  # they may be anybody's code: alerts, streams, forwarding
            self._warn(f"{type(error).__name__} while telling of runs: {error}")

    def _complain_of(self, run_id: str, reason: str) -> None:
        """Say why a run cannot be indexed, once: it is tried again for as long as it is not over."""
        if self._known.unreadable.get(run_id) != reason:
            self._warn(f"cannot index {run_id}: {reason}")
        self._known.unreadable[run_id] = reason

    def _complain(self, error: Exception) -> None:
        sentence = _reason(error)
        if sentence != self._trouble:
            self._warn(f"the index is not kept up: {sentence}")
        self._trouble = sentence

    def _sleep(self, seconds: float) -> None:
        """Wait for the next look, or for somebody who touches a run."""
        if seconds <= 0 or self._stopping.is_set():
            return
        try:
            touched = self._touched.get(timeout=seconds)
        except queue.Empty:
            return
        if touched is not None:
            self._touched.put(touched)


def _reason(error: Exception) -> str:
    match error:
        case StoreError():
            return str(error)
        case OSError():
            return reason_of(error)
        case _:
            return f"{type(error).__name__}: {error}"

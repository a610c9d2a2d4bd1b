"""Alerts of a server: every run that changed is held against the rules, in a thread of its own.

The keeper only says which runs changed. One run is looked at every two seconds at most, and all of them together
cost a tenth of a core at most: with very many runs each is looked at less often. A run that its own follower
watches (`alert_follow`) is left to it, and what it says is shown.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from jobmeter.delivery.courier import Courier
from jobmeter.delivery.outbox import Fate, Message
from jobmeter.errors import JobmeterError, StoreError
from jobmeter.model import sync
from jobmeter.model.alert import Budget, Change, Per, RunBook, Turn
from jobmeter.model.report import Report
from jobmeter.model.run import LIVE, Run
from jobmeter.service import (
    alert_budgets,
    alert_desk,
    alert_follow,
    alert_settings,
    alert_signs,
    alert_turn,
    alert_watch,
    analysis,
    keeping,
    live,
    notices,
)
from jobmeter.service.alert_records import AlertRecords
from jobmeter.service.alert_silences import Silences
from jobmeter.stores import Store
from jobmeter.stores.server_db import ServerDb

Reading = Callable[[], AbstractContextManager[Store]]

TICK_SECONDS = 0.5
LOOK_SECONDS = 2.0
"""Between two looks at one run."""
_SHARE = 0.1
"""Of one core."""
_SETTINGS_SECONDS, _LOOKED_SECONDS, _HOME_SECONDS = 10.0, 60.0, 60.0
_ANALYSE_SHARE = 0.05
_LATELY_SECONDS = 86_400.0
_NEWEST_RUNS = 1000
_MOST_FAILURES = 10
"""After so many a run is looked at again only when it changes."""
HOME = "@home"
"""The book of what is about all runs together."""


class ServerAlerts:
    """Holds the runs of a server against the rules of its home."""

    def __init__(
        self,
        home: str,
        db: ServerDb,
        read: Reading,
        *,
        touch: Callable[[str], None],
        hub: live.Hub,
        warn: notices.Warn = notices.to_stderr,
    ) -> None:
        self._home = home
        self._read = read
        self._touch = touch
        self._hub = hub
        self._warn = warn
        self.records = AlertRecords(db)
        self.settings = self._load()
        self._stamp = self._file_stamps()
        self._watcher = alert_watch.Watcher(self.settings.rules, now=time.time())
        self._silences = Silences(home)
        self._events = alert_desk.EventWriter(home)
        self._ledger = alert_budgets.Ledger()
        self._courier = Courier(self.settings.channels, self.records.waiting(), keep=self._keep_waiting)
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}
        self._gone: dict[str, None] = {}
        self._failed: dict[str, list[str]] = {}
        """What went wrong with a run, look by look."""
        self._books: dict[str, RunBook] = {}
        self._held: dict[str, tuple[Path, int]] = {}
        self._only_one = alert_turn.OnlyOne(home)
        self._looked: dict[str, float] = {}
        self._cost_seconds = 0.0
        self._next: dict[str, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="jobmeter-alerts", daemon=True)

    def observe(self, store: Store, changes: Sequence[keeping.Changed]) -> None:
        """Take in which runs changed; called by the keeper, which is not held up."""
        del store
        with self._lock:
            for one in changes:
                known, other = self._changed, self._gone
                if one.change is keeping.Change.GONE:
                    known, other = other, known
                known[one.run_id] = None
                other.pop(one.run_id, None)

    def start(self) -> None:
        """Begin to watch and to tell, once no other server of this home does."""
        self._thread.start()

    def stop(self) -> None:
        """End after the run that is looked at; what waits is kept."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(10.0)
        self._courier.stop()
        self._only_one.release()
        for folder, fd in self._held.values():
            alert_follow.release(folder, fd)
        self._held.clear()

    def messages(self) -> tuple[Message, ...]:
        """List what waits to be told and what could not be."""
        return self._courier.kept().messages

    def _watch(self) -> None:
        said = ""
        if not self._only_one.wait(self._stopping):
            return
        if self._only_one.was_anothers:
            self._courier = Courier(self.settings.channels, self.records.waiting(), keep=self._keep_waiting)
        self._courier.start()
        self._begin_safely()
        while not self._stopping.wait(TICK_SECONDS):
            try:
                self.tick(time.time())
                said = ""
            except Exception as error:  # noqa: BLE001  # a fault with one run must not end the watch over all
                sentence = f"alerts are not watched for: {type(error).__name__}: {error}"
                if sentence != said:
                    self._warn(sentence)
                said = sentence

    def _begin_safely(self) -> None:
        try:
            self._begin()
        except Exception as error:  # noqa: BLE001  # whatever it is, what runs from now on is watched
            self._warn(f"what ended while the server was down raises no alerts: {error}")

    def _begin(self) -> None:
        """Take up the runs that go on, and those that ended while nobody looked."""
        since = self.records.looked_at()
        with self._read() as store:
            ids = [run_id for run_id, status in store.unfinished().items() if status in LIVE]
            if since is not None:
                newest = store.briefs(limit=_NEWEST_RUNS)
                ids += [run.run_id for run in newest if run.ended_at is not None and run.ended_at >= since]
        ids += [book.run_id for book in self.records.books() if not book.is_done and book.run_id != HOME]
        with self._lock:
            self._changed |= dict.fromkeys(ids)

    def tick(self, now: float) -> None:
        """Look at the runs whose turn it is."""
        self._reload(now)
        self._forget_gone()
        for run_id in self._due():
            if self._stopping.is_set():
                return
            begun = time.thread_time()
            self._look_safely(run_id, now)
            self._looked[run_id] = time.monotonic()
            self._cost_seconds += 0.1 * (time.thread_time() - begun - self._cost_seconds)
        if self._is_time("looked", _LOOKED_SECONDS):
            self.records.keep_looked_at(now)
        if self._is_time(HOME, _HOME_SECONDS):
            self._look_home(now)

    def _forget_gone(self) -> None:
        with self._lock:
            gone, self._gone = self._gone, {}
        for run_id in gone:
            self._drop(run_id)
            self.records.forget(run_id)

    def _look_safely(self, run_id: str, now: float) -> None:
        """Look at a run; what goes wrong with it holds up no other, and is tried again some times."""
        try:
            self._look(run_id, now)
        except OSError:
            self._drop(run_id)  # its folder is gone, or cannot be read any more
        except Exception as error:  # noqa: BLE001  # a fault with one run must not end the watch over all
            sentence = f"alerts of {run_id} are not watched for: {type(error).__name__}: {error}"
            failed = self._failed.setdefault(run_id, [])
            if sentence not in failed:
                self._warn(sentence)
            failed.append(sentence)
            if len(failed) < _MOST_FAILURES:
                with self._lock:
                    self._changed[run_id] = None
        else:
            self._failed.pop(run_id, None)

    def _due(self) -> list[str]:
        """Choose the runs that changed or go on, and were not looked at for long enough."""
        pause = max(LOOK_SECONDS, len(self._books) * self._cost_seconds / _SHARE)
        now = time.monotonic()
        with self._lock:
            wanted = [*self._changed, *(run_id for run_id in self._books if run_id not in self._changed)]
            due = [run_id for run_id in wanted if now - self._looked.get(run_id, -pause) >= pause]
            for run_id in due:
                self._changed.pop(run_id, None)
        return due

    def _look(self, run_id: str, now: float) -> None:
        begun = time.monotonic()
        with self._read() as store:
            run = store.run(run_id)
            if run is None or run.folder is None:
                self._drop(run_id)
                return
            folder = Path(run.folder)
            book = self._book_of(run, folder, now)
            if book is None:
                return
            scene = alert_watch.Scene(
                store=store,
                run=run,
                folder=folder,
                now=now,
                analyst=lambda: self._analysed(store, run),
                since_seconds=begun - self._looked.get(run_id, begun),
            )
            found, changes = self._watcher.look(scene, book)
        found, told = alert_desk.tell(
            run, found, changes, settings=self.settings, silences=self._silences, now=now
        )
        changes = alert_desk.with_silences(changes, found)
        if changes and self._events.write(folder, changes):
            self._touch(run_id)
        self._publish(run, changes)
        self._courier.add(told)
        if told:
            self._keep_waiting()
        self._remember(found, folder, changed=bool(changes or told))

    def _publish(self, run: Run, changes: Sequence[Change]) -> None:
        """Write changes into the history and tell live readers."""
        pairs = [(change, alert_desk.notice_of(run, change)) for change in changes]
        told = [notice for change, notice in pairs if self.records.note(change, job=notice.job)]
        if told:
            self._hub.publish(
                live.LiveEvent(
                    kind=live.Kind.ALERT, run_id=one.run_id, data=one.as_record(), project=one.project
                )
                for one in told
            )

    def _remember(self, book: RunBook, folder: Path, *, changed: bool) -> None:
        if book.is_done:
            self.records.keep(book)
            if book.run_id in self._held:  # a follower that begins only now finds that all is told
                alert_follow.save(folder, alert_follow.Remembered(book=book))
            self._drop(book.run_id, folder)
            return
        self._books[book.run_id] = book
        known = self.records.book(book.run_id)
        # what only moves on within a state is worth no write
        if changed or known is None or len(known.standings) != len(book.standings):
            self.records.keep(book)

    def _book_of(self, run: Run, folder: Path, now: float) -> RunBook | None:
        """Give what is remembered of a run; None where it is not ours to watch."""
        if run.run_id in self._books:
            return self._books[run.run_id]
        known = self.records.book(run.run_id)
        if known is not None and known.is_done and run.status not in LIVE:
            return None
        if run.status not in LIVE and known is None and not _ended_lately(run, now):
            return None
        if not (folder / sync.MARKER).exists():
            held, remembered = alert_follow.take_over(folder)
            if held is None:
                self._mirror(run, remembered)
                return None
            self._held[run.run_id] = (folder, held)
            known = known if remembered is None else self._taken_over(folder, remembered)
        return known or RunBook(run_id=run.run_id, offset=alert_signs.beginning(folder))

    def _taken_over(self, folder: Path, remembered: alert_follow.Remembered) -> RunBook:
        """Take on what a follower that was killed left: where alerts stand, and what nobody was told yet."""
        for message in remembered.waiting.messages:
            if message.fate is Fate.WAITING:
                self._courier.add((notice, (message.channel,)) for notice in message.notices)
        self._keep_waiting()
        self.records.keep(remembered.book)
        (folder / alert_follow.FILE).unlink(missing_ok=True)
        return remembered.book

    def _mirror(self, run: Run, remembered: alert_follow.Remembered | None) -> None:
        """Show what a run's own follower says."""
        if remembered is None:
            return
        self.records.keep(remembered.book)
        for one in remembered.book.standings:
            turns = ((Turn.FIRED, one.fired_at), (Turn.RESOLVED, one.resolved_at))
            self._publish(
                run, [Change(turn=turn, standing=one, at=at) for turn, at in turns if at is not None]
            )

    def _analysed(self, store: Store, run: Run) -> Report | None:
        begun = time.monotonic()
        if run.status in LIVE and begun < self._next.get("analysis", 0.0):
            return None
        _, report = analysis.of_run(store, run)
        self._next["analysis"] = begun + max(1.0, (time.monotonic() - begun) / _ANALYSE_SHARE)
        return report

    def _look_home(self, now: float) -> None:
        """Hold the sums of many runs against budgets."""
        budgets = [
            (rule, rule.condition)
            for rule in self._watcher.rules.values()
            if isinstance(rule.condition, Budget) and rule.condition.per is not Per.RUN
        ]
        if not budgets:
            return
        book = self.records.book(HOME) or RunBook(run_id=HOME)
        looking = alert_watch.Looking(HOME, {one.name: one for one in book.standings})
        with self._read() as store:
            for rule, budget in budgets:
                where = self._watcher.filter_of(rule)
                looking.take(rule, self._ledger.signs(budget, store, where, now))
        book = RunBook(run_id=HOME, standings=tuple(looking.standings.values()))
        book, told = alert_desk.tell(
            alert_watch.NO_RUN,
            book,
            looking.changes,
            settings=self.settings,
            silences=self._silences,
            now=now,
        )
        self._publish(alert_watch.NO_RUN, alert_desk.with_silences(looking.changes, book))
        self._courier.add(told)
        if looking.changes:
            self._keep_waiting()
            self.records.keep(book)

    def _drop(self, run_id: str, folder: Path | None = None) -> None:
        self._books.pop(run_id, None)
        self._looked.pop(run_id, None)
        self._failed.pop(run_id, None)
        held = self._held.pop(run_id, None)
        if held is not None:
            alert_follow.release(*held)
        if folder is not None:
            self._events.forget(folder)

    def _load(self) -> alert_settings.AlertSettings:
        return alert_settings.load(self._home, os.environ, self._home, now=time.time())

    def _reload(self, now: float) -> None:
        """Read the rules again where a file changed; what cannot be read leaves them as they were."""
        if not self._is_time("settings", _SETTINGS_SECONDS):
            return
        stamp = self._file_stamps()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.settings = self._load()
        except JobmeterError as error:
            self._warn(f"the rules of alerts stay as they were: {error}")
            return
        self._watcher = alert_watch.Watcher(self.settings.rules, now=now)
        self._courier.use(self.settings.channels)

    def _file_stamps(self) -> list[tuple[str, int, int]]:
        return alert_settings.stamps(self._home, os.environ, self._home)

    def _is_time(self, what: str, seconds: float) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + seconds
        return True

    def _keep_waiting(self) -> None:
        try:
            self.records.keep_waiting(self._courier.kept())
        except StoreError as error:
            if self._is_time("complaint", _LOOKED_SECONDS):
                self._warn(f"what waits to be told would not outlive the server: {error}")


def _ended_lately(run: Run, now: float) -> bool:
    return run.ended_at is not None and now - run.ended_at < _LATELY_SECONDS

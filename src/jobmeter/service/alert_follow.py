"""Alerts of one run without a server: a task of the process that follows it.

The run is indexed into a database of its own in a temporary folder, so that neither the home's index nor another job
is waited for. What must outlive this process is in the run's folder, `alerts.json`; whoever holds the lock beside it
evaluates the run, so that a server of the same home leaves it alone.
"""

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from jobmeter import stores
from jobmeter.delivery.courier import Courier
from jobmeter.delivery.follower import Followed
from jobmeter.delivery.outbox import Fate, Waiting
from jobmeter.errors import JobmeterError, StoreError
from jobmeter.model.alert import Budget, Change, Rule, RunBook, Sign
from jobmeter.model.report import Report
from jobmeter.model.run import LIVE, Run
from jobmeter.runfolder import liveness, reader
from jobmeter.service import (
    alert_budgets,
    alert_desk,
    alert_settings,
    alert_signs,
    alert_watch,
    analysis,
    index,
    indexing,
    lifecycle,
    output_steps,
)
from jobmeter.service.alert_silences import Silences
from jobmeter.stores import Store

FILE, LOCK = "alerts.json", "alerts.lock"
LOOK_SECONDS, LAST_LOOK_SECONDS = 2.0, 0.2
"""Between looks while the run lasts, and after it."""
LINGER_SECONDS = 45.0
"""How long messages are tried after the run is over; less than a follower stays."""
_SAVE_SECONDS = 30.0
"""How old what is remembered may be where nothing changed."""
_GROUP_SECONDS = 300.0
_ANALYSE_SECONDS, _ANALYSE_SHARE = 30.0, 0.02
"""How often a run that goes on is analysed: not more often than this, nor for more than this share of the time."""
_WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What `alerts.json` holds."""

    book: RunBook
    waiting: Waiting = field(default_factory=Waiting)
    trouble: str | None = None
    """Why nothing is watched."""

    def is_all_told(self) -> bool:
        """Tell whether nothing is left to watch for and nobody left to tell."""
        return self.book.is_done and all(one.fate is not Fate.WAITING for one in self.waiting.messages)


def read(folder: Path) -> Remembered | None:
    """Read what is remembered of a run; None where nothing is, or nothing that can be read."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Remembered)
    except (OSError, ValueError):
        return None  # there is none, or it was cut off: the run is looked at from its beginning


def save(folder: Path, remembered: Remembered) -> None:
    """Write what is remembered, whole or not at all."""
    partial = folder / f"{FILE}.part"
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(remembered))
    partial.rename(folder / FILE)


def lock(folder: Path) -> int | None:
    """Become the one who evaluates a run; None where somebody is."""
    while True:
        fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        if os.fstat(fd).st_nlink:
            return fd
        # whoever held it took the file away since it was opened: the next one locks another file
        os.close(fd)


def release(folder: Path, held: int) -> None:
    """Let somebody else evaluate a run."""
    try:
        # before it is let go: behind that the file may be another's
        (folder / LOCK).unlink(missing_ok=True)
    except OSError:
        return  # nobody may write there any more: a file that nobody holds keeps nobody out
    finally:
        os.close(held)


def take_over(folder: Path) -> tuple[int | None, Remembered | None]:
    """Become the one who evaluates a run unless somebody is, or was to its end; with what is remembered of it."""
    known = read(folder)
    held = None if known is not None and known.book.is_done else lock(folder)
    if held is None:
        return None, known
    known = read(folder)  # only now nobody else can be about to write it
    if known is not None and known.book.is_done:
        release(folder, held)
        return None, known
    return held, known


def begin(followed: Followed) -> "FolderAlerts | None":
    """Prepare the alerts of a run; None where there is nothing to watch for, or somebody does already."""
    folder = followed.folder
    home = str(folder.parent.parent.parent)
    held = lock(folder)
    if held is None:
        return None
    known = read(folder)
    if known is not None and known.is_all_told():
        # the run was over before its follower had begun, and a server of this home saw to it
        release(folder, held)
        return None
    try:
        cwd = reader.read_run(folder).cwd or home
        settings = alert_settings.load(home, followed.environ, cwd, now=time.time())
    except JobmeterError as error:
        save(folder, Remembered(book=RunBook(run_id=folder.name, is_done=True), trouble=str(error)))
        settings = alert_settings.AlertSettings()
    if not settings.files:
        release(folder, held)
        return None
    return FolderAlerts(home, folder, settings, held, known)


class FolderAlerts:
    """Watches one run folder."""

    def __init__(  # whose run it is, what is watched for, and what somebody before has done of it
        self,
        home: str,
        folder: Path,
        settings: alert_settings.AlertSettings,
        held: int,
        known: Remembered | None,
    ) -> None:
        self._home = home
        self._folder = folder
        self._settings = settings
        self._held = held
        self._watcher = alert_watch.Watcher(settings.rules, now=time.time())
        self._silences = Silences(home)
        self._events = alert_desk.EventWriter(home)
        self._book = RunBook(run_id=folder.name) if known is None else known.book
        if known is None:
            self._book = RunBook(run_id=folder.name, offset=alert_signs.beginning(folder))
        self._saving = threading.Lock()
        self._saved_at = 0.0
        self._over_at: float | None = None
        self._looked_at: float | None = None
        self._next_analysis = time.monotonic() + _ANALYSE_SECONDS
        self._next_groups: dict[str, float] = {}
        self._scratch = tempfile.mkdtemp(prefix="jobmeter-alerts-")
        self._store: Store = stores.load("sqlite").open_store(Path(self._scratch, "index.db"))
        self._courier = Courier(settings.channels, None if known is None else known.waiting, keep=self._save)
        self._courier.start()

    def turn(self, *, ended: bool) -> float | None:
        """Look once; gives the seconds until the next look, None when all is done."""
        try:
            is_done = self._step(time.time(), ended=ended)
        except (OSError, StoreError):
            # what cannot be read now may be later
            is_done = not self._folder.is_dir() or self._is_late()
        if not is_done:
            return LAST_LOOK_SECONDS if ended else LOOK_SECONDS
        self.close()
        return None

    def _step(self, now: float, *, ended: bool) -> bool:
        if self._over_at is None and ended:
            self._over_at = time.monotonic()
        if not self._book.is_done:
            self._look(now)
        if self._is_late():
            self._courier.give_up("the run is over and nobody answered in time")
            self._save()
            return True
        if not self._book.is_done:
            return False
        self._courier.hasten()
        return self._courier.is_empty()

    def _is_late(self) -> bool:
        return self._over_at is not None and time.monotonic() - self._over_at > LINGER_SECONDS

    def close(self) -> None:
        """Give everything back; what waits is kept in the folder."""
        self._courier.stop()
        self._store.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        release(self._folder, self._held)

    def _look(self, now: float) -> None:
        run = self._indexed(now)
        scene = alert_watch.Scene(
            store=self._store,
            run=run,
            folder=self._folder,
            now=now,
            analyst=lambda: self._analysed(run),
            since_seconds=self._since_seconds(),
            groups=lambda rule, budget: self._groups(run, rule, budget, now),
        )
        book, changes = self._watcher.look(scene, self._book)
        book, told = alert_desk.tell(
            run, book, changes, settings=self._settings, silences=self._silences, now=now
        )
        self._note(run, book, changes)
        changed = bool(changes or told) or len(book.standings) != len(self._book.standings)
        with self._saving:
            self._book = book
            self._courier.add(told)
        if changed or book.is_done or time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self._save()

    def _since_seconds(self) -> float:
        before, self._looked_at = self._looked_at, time.monotonic()
        return 0.0 if before is None else self._looked_at - before

    def _note(self, run: Run, book: RunBook, changes: Sequence[Change]) -> None:
        """Write changes down as events of the run."""
        if not changes:
            return
        try:
            self._events.write(self._folder, alert_desk.with_silences(changes, book))
            lifecycle.touch(self._home, [run.run_id])
        except OSError:
            return  # the disk is full: people are told all the same

    def _indexed(self, now: float) -> Run:
        """Bring the index of the run up to what its folder holds."""
        patience = output_steps.Patience(index.LOOK_SECONDS, index.LOOK_BYTES)
        with self._store.writing(_WAIT_SECONDS):
            indexing.index_run(
                self._store, self._folder.name, self._folder, liveness.here(), now, patience=patience
            )
        run = self._store.run(self._folder.name)
        if run is None:
            raise FileNotFoundError(f"{self._folder} holds no run")
        return run

    def _analysed(self, run: Run) -> Report | None:
        begun = time.monotonic()
        if begun < self._next_analysis and run.status in LIVE:
            return None
        _, report = analysis.of_run(self._store, run)
        took = time.monotonic() - begun
        self._next_analysis = begun + max(_ANALYSE_SECONDS, took / _ANALYSE_SHARE)
        return report

    def _groups(self, run: Run, rule: Rule, budget: Budget, now: float) -> Iterable[Sign]:
        """Hold the sums of the home's runs against a budget, now and then."""
        group = alert_budgets.group_of_run(budget, run)
        begun = time.monotonic()
        if group is None or (begun < self._next_groups.get(rule.name, 0.0) and run.status in LIVE):
            return []
        self._next_groups[rule.name] = begun + _GROUP_SECONDS
        where = self._watcher.filter_of(rule)
        with index.open_index(self._home, warn=_ignore) as opened:
            opened.refresh()
            return opened.ask(
                lambda store: list(alert_budgets.Ledger().signs(budget, store, where, now, only=[group]))
            )

    def _save(self) -> None:
        with self._saving:
            self._saved_at = time.monotonic()
            try:
                save(self._folder, Remembered(book=self._book, waiting=self._courier.kept()))
            except OSError:
                return  # the disk is full, or the folder gone: what is remembered grows old


def _ignore(_: str) -> None:
    """Nobody reads what a process in the background complains of."""

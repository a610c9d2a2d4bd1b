"""The index of a home, kept up with its run folders: only new bytes are read, each exactly once.

A run that ended and is indexed is never looked at again. Whatever happens to the index, the folders are
the truth: damage means it is set aside and built anew, and where none can be kept one is made in memory.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from jobmeter import stores
from jobmeter.errors import StoreError, reason_of
from jobmeter.runfolder import lines, liveness, reader, tailer
from jobmeter.service import cache, database, indexing, notices, output_steps
from jobmeter.stores import Position, Store

Answer = TypeVar("Answer")

WAIT_SECONDS = 10.0
CHANGES = "changes.jsonl"
"""In the home: ids of ended runs whose folder changed since, appended by whoever changed it."""
LOOK_SECONDS, LOOK_BYTES = 2.0, 64 << 20
"""How much of all outputs is searched for steps before a list is shown; the next look goes on."""
ASKED_SECONDS = 60.0
"""How long the output of the one run that is asked for is searched."""
_HOME = "@home"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@-")
_LONGEST_NAME = 200


@dataclass(slots=True)
class Refreshed:
    """What one look at the folders did."""

    indexed: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)
    """By folder name: why it is no run."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """By folder name: why the run in it could not be read."""
    unsearched: list[str] = field(default_factory=list)
    """Runs with more output than one look searches for steps."""


class Index:
    """An open index of one home."""

    def __init__(self, home: Path, store: Store, *, path: Path | None, warn: notices.Warn) -> None:
        self.home = home
        self._store = store
        self._path = path
        self._warn = warn
        self._unsearched: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the store back."""
        self._store.close()

    def ask(self, question: Callable[[Store], Answer]) -> Answer:
        """Put a question to the store; one that turns out damaged is built again first."""
        try:
            return question(self._store)
        except stores.DamagedError as error:
            self._replace(str(error))
            self.refresh()
            return question(self._store)

    def refresh(self, *, wait_seconds: float = WAIT_SECONDS) -> Refreshed:
        """Index new bytes of every run folder; where that cannot be, keep to what is known."""
        try:
            return self._refresh(wait_seconds)
        except stores.DamagedError as error:
            self._replace(str(error))
        except (stores.BusyError, stores.ReadOnlyError) as error:
            self._warn(f"{error}; showing what it holds")
            return Refreshed()
        except StoreError as error:
            self._warn(f"{error}; reading all run folders instead")
            self._store = stores.load("memory").open_store(Path())
        return self._refresh(wait_seconds)

    def search(self, run_id: str) -> None:
        """Search what is left of a run's output for steps, longer than for a list."""
        if run_id not in self._unsearched:
            return
        folder = list_folders(self.home).get(run_id)
        if folder is None:
            return
        machine, now, patience = liveness.here(), time.time(), output_steps.Patience(ASKED_SECONDS)
        try:
            with self._store.writing(WAIT_SECONDS):
                complete = indexing.index_run(
                    self._store, run_id, folder / run_id, machine, now, patience=patience
                )
        except (StoreError, OSError) as error:
            self._warn(f"the output of {run_id} was not searched for steps: {error}")
            return
        if not complete:
            self._warn(f"the output of {run_id} is long and not yet searched to its end: ask again for more")

    def rebuild(self) -> Refreshed:
        """Throw the index away and build it again."""
        with self._store.writing(WAIT_SECONDS):
            for run_id in sorted(self._store.run_ids()):
                self._store.forget(run_id)
        return self.refresh()

    def _refresh(self, wait_seconds: float) -> Refreshed:
        folders = list_folders(self.home)
        work = self._work(folders)
        if work.any():
            with self._store.writing(wait_seconds):
                # another process may have done it all while this one waited
                work = self._work(folders)
                self._carry_out(folders, work)
        self._unsearched = frozenset(work.done.unsearched)
        for name, reason in list(work.done.unreadable.items())[:1]:
            others = f" and {len(work.done.unreadable) - 1} more" if len(work.done.unreadable) > 1 else ""
            self._warn(f"cannot read run folder {name}{others}: {reason}")
        return work.done

    def _work(self, folders: dict[str, Path]) -> "_Work":
        known = self._store.run_ids()
        position = self._store.positions(_HOME).get(CHANGES, Position(0))
        changed, until = self._changed(position)
        done = Refreshed()
        new = [name for name in folders.keys() - known if self._usable(name, folders[name] / name, done)]
        unfinished = self._store.unfinished()
        # what ended and waits only to be searched comes last, as far as there is patience
        waiting = {run_id for run_id, status in unfinished.items() if status not in indexing.UNSUMMED}
        again = {run_id for run_id in (*unfinished, *changed) if run_id in folders}
        first = sorted({*new, *again} - (waiting - set(changed)), reverse=True)
        last = sorted((waiting & again) - set(changed), reverse=True)
        return _Work(first, last, sorted(known - folders.keys()), position, until, done)

    def _usable(self, name: str, folder: Path, done: Refreshed) -> bool:
        reason = None if is_run_id(name) else "its name is no run id"
        try:
            if reason is None and not reader.is_run(folder):
                reason = "it holds no run"
        except OSError as error:
            done.unreadable[name] = reason_of(error)
            return False
        if reason is not None:
            done.ignored[name] = reason
        return reason is None

    def _changed(self, position: Position) -> tuple[list[str], Position]:
        size = tailer.size(self.home, CHANGES) or 0
        offset = position.offset if position.offset <= size else 0
        if size == offset:
            return [], Position(offset)
        ids, end = [], offset
        for piece in tailer.pieces(self.home, CHANGES, offset):
            end = piece.end
            records = (lines.record(line) for line in piece.lines)
            ids += [str(record.get("run_id")) for record in records if record is not None]
        return ids, Position(end)

    def _carry_out(self, folders: dict[str, Path], work: "_Work") -> None:
        done = work.done
        for run_id in work.gone:
            self._store.forget(run_id)
            done.forgotten.append(run_id)
        patience = output_steps.Patience(LOOK_SECONDS, LOOK_BYTES)
        for run_id in work.todo:
            self._index(run_id, folders[run_id] / run_id, done, patience)
        for run_id in work.waiting:
            if patience.is_over():
                done.unsearched.append(run_id)
                continue
            begun = time.monotonic()
            self._index(run_id, folders[run_id] / run_id, done, patience)
            patience.spend(begun)
        done.indexed.sort()
        if work.since != work.until:
            self._store.set_position(_HOME, CHANGES, work.until)

    def _index(self, run_id: str, folder: Path, done: Refreshed, patience: output_steps.Patience) -> None:
        machine, now = liveness.here(), time.time()
        try:
            complete = indexing.index_run(self._store, run_id, folder, machine, now, patience=patience)
        except OSError as error:
            done.unreadable[run_id] = reason_of(error)
            return
        done.indexed.append(run_id)
        if not complete:
            done.unsearched.append(run_id)

    def _replace(self, reason: str) -> None:
        """Set a damaged index aside and begin a new one."""
        self._store.close()
        if self._path is None:
            raise StoreError(f"the index is in no file that could be set aside: {reason}")
        aside = set_aside(self._path)
        self._warn(f"{reason}; set aside as {aside.name} and built again from the run folders")
        self._store = stores.load("sqlite").open_store(self._path)


class KeptIndex(Index):
    """A reader of an index that a server keeps up: it never writes, and closing it gives the store back."""

    def __init__(self, home: Path, store: Store, *, give_back: Callable[[Store], None]) -> None:
        super().__init__(home, store, path=None, warn=notices.to_stderr)
        self._give_back = give_back

    def close(self) -> None:
        self._give_back(self._store)

    def ask(self, question: Callable[[Store], Answer]) -> Answer:
        return question(self._store)

    def refresh(self, *, wait_seconds: float = WAIT_SECONDS) -> Refreshed:
        del wait_seconds  # the keeper does it
        return Refreshed()

    def search(self, run_id: str) -> None:
        del run_id  # the keeper does it


KEPT: dict[str, Callable[[], Index]] = {}
"""By the real path of a home: opens a reader of the index that a server in this process keeps up."""


@dataclass(frozen=True, slots=True)
class _Work:
    todo: list[str]
    waiting: list[str]
    """Ended runs whose output is not yet searched to its end."""
    gone: list[str]
    since: Position
    until: Position
    done: Refreshed

    def any(self) -> bool:
        return bool(self.todo or self.waiting or self.gone or self.since != self.until)


def open_index(
    home: str | Path, *, path: Path | None = None, warn: notices.Warn = notices.to_stderr
) -> Index:
    """Open the index of a home: a server's where one keeps it up, else as `open_own` does."""
    opener = KEPT.get(os.path.realpath(home)) if path is None else None
    return open_own(home, path=path, warn=warn) if opener is None else opener()


def open_own(
    home: str | Path,
    *,
    path: Path | None = None,
    url: str | None = None,
    warn: notices.Warn = notices.to_stderr,
) -> Index:
    """Open an index to be kept up by the caller: in the file or database given, or that of the settings.

    Without either it lies in the home's local cache directory. A database that cannot be used is an error.
    """
    folder = Path(home)
    named = database.chosen(os.environ) if path is None and url is None else url
    if named is not None:
        return _open_database(folder, named, warn)
    try:
        file = cache.index_path(folder, os.environ) if path is None else path
        return _open(folder, file, warn)
    except (StoreError, OSError) as error:
        warn(f"no index can be kept: {error}; reading all run folders instead")
        return Index(folder, stores.load("memory").open_store(Path()), path=None, warn=warn)


def _open_database(home: Path, url: str, warn: notices.Warn) -> Index:
    """Open the index in a database, beside those of other homes."""
    store = stores.open_shared(database.back_end(url), url, origin=database.origin(home))
    return Index(home, store, path=None, warn=warn)


def _open(home: Path, path: Path, warn: notices.Warn) -> Index:
    sqlite = stores.load("sqlite")
    try:
        store = sqlite.open_store(path)
    except stores.DamagedError as error:
        aside = set_aside(path)
        warn(f"{error}; set aside as {aside.name} and built again from the run folders")
        store = sqlite.open_store(path)
    return Index(home, store, path=path, warn=warn)


def set_aside(path: Path) -> Path:
    """Rename a damaged index, its log with it, so that nothing of it is read again."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.corrupt-{stamp}-{os.getpid()}")
    # the log first: left behind, it would be applied to the database that takes this one's place
    for ending in ("-wal", "-shm", ""):
        try:
            os.rename(f"{path}{ending}", f"{aside}{ending}")
        except FileNotFoundError:
            continue  # another process was first, or there was no log
    return aside


def answering(store: Store) -> Store:
    """Give a store that answers: where nothing happens, nobody else would notice that its database is away."""
    store.positions(_HOME)
    return store


def list_folders(home: Path) -> dict[str, Path]:
    """Find the month of every run folder by its name; of two with one name the older month's counts."""
    found: dict[str, Path] = {}
    for month in _directories(home / "runs"):
        try:
            names = os.listdir(month)
        except NotADirectoryError:
            continue  # a stray file among the months
        shown = [name for name in names if name[0] != "."]
        found = {**dict.fromkeys(shown, month), **found}
    return found


def folder_of(home: Path, run_id: str) -> Path:
    """Name the folder of a run in a home: its month stands in its id."""
    return home / "runs" / f"{run_id[:4]}-{run_id[4:6]}" / run_id


def _directories(folder: Path) -> Iterable[Path]:
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return ()
    return (folder / name for name in names if name[0] != ".")


def is_run_id(name: str) -> bool:
    """Tell a name that can stand in paths, tables and terminals from one that cannot."""
    return 0 < len(name) <= _LONGEST_NAME and name[0].isalnum() and _LETTERS.issuperset(name)

"""The keeper: indexes what is new, tells of it, and is not ended by what goes wrong."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter import stores
from jobmeter.errors import StoreError
from jobmeter.model.run import Status
from jobmeter.service import index, keeping, lifecycle
from jobmeter.service.keeping import Change, Changed
from jobmeter.stores import Store
from support import folders
from support.recorder import wait_for

ONE = folders.RUN_ID
TWO = "20261115T095001Z-000002"


class Home:
    """A home with a keeper, what it told, and what it complained of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[Changed] = []
        self.warnings: list[str] = []
        self.replaced = 0
        self.chores = 0
        self.keeper = keeping.Keeper(
            path,
            self.open,
            observers=[self._tell],
            chores=[self._chore],
            replaced=self._replace,
            warn=self.warnings.append,
        )

    def open(self) -> index.Index:
        return index.open_own(self.path, path=self.path / "index.db", warn=self.warnings.append)

    def status(self, run_id: str = ONE) -> Status | None:
        """Ask the index, without bringing it up to date."""
        with self.open() as opened:
            run = opened.ask(lambda store: store.brief(run_id))
            return None if run is None else run.status

    def was_told(self, run_id: str, change: Change) -> bool:
        return Changed(run_id, change) in self.told

    def _tell(self, store: Store, changes: Sequence[Changed]) -> None:
        # rows are there before anybody is told of them
        assert all((store.brief(one.run_id) is None) == (one.change is Change.GONE) for one in changes)
        self.told += changes

    def _chore(self) -> None:
        self.chores += 1

    def _replace(self) -> None:
        self.replaced += 1


@contextmanager
def keeping_up(home: Home) -> Iterator[Home]:
    home.keeper.start()
    try:
        yield home
    finally:
        home.keeper.stop()
    assert not home.keeper.health().alive


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


def test_what_is_there_is_indexed_before_the_first_question(home: Home) -> None:
    folders.write_run(home.path, seconds=2)
    with keeping_up(home):
        assert home.status() is Status.COMPLETED
        assert home.keeper.health().looked_at is not None
        assert home.keeper.health().runs == 1


def test_a_new_run_is_told_of_then_its_growth_then_its_end(home: Home) -> None:
    with keeping_up(home):
        folder = folders.write_run(home.path, seconds=2, start=folders.this_recorder(), ended=False)
        wait_for(lambda: home.was_told(ONE, Change.NEW))
        assert home.keeper.health().running == 1
        folders.append(folder / "usage.jsonl", *folders.usage(3))
        wait_for(lambda: home.was_told(ONE, Change.GREW))
        assert home.status() is Status.RUNNING
        folders.append(folder / "run.jsonl", folders.end_record(3))
        wait_for(lambda: home.was_told(ONE, Change.ENDED))
        assert home.status() is Status.COMPLETED
        assert home.keeper.health().running == 0
    assert home.warnings == []


def test_a_run_whose_recorder_died_is_found_without_a_byte_more(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_PULSE_SECONDS", 0.1)
    with keeping_up(home):
        folder = folders.write_run(home.path, seconds=2, start=folders.this_recorder(), ended=False)
        wait_for(lambda: home.status() is Status.RUNNING)
        size = (folder / "run.jsonl").stat().st_size
        dead = folders.dump(folders.start_record(**folders.dead_recorder()))
        text = (folder / "run.jsonl").read_bytes()
        (folder / "run.jsonl").write_bytes((dead + text.split(b"\n", 1)[1])[:size].ljust(size))
        wait_for(lambda: home.status() is Status.LOST)


def test_a_touched_run_is_indexed_at_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "IDLE_SECONDS", 3600.0)
    with keeping_up(home):
        folders.write_run(home.path, seconds=2)
        home.keeper.touch(ONE)
        wait_for(lambda: home.was_told(ONE, Change.NEW))


def test_touching_what_is_no_run_harms_nobody(home: Home) -> None:
    with keeping_up(home):
        home.keeper.touch("20261115T095001Z-nobody")
        folders.write_run(home.path, seconds=2)
        home.keeper.touch(ONE)
        wait_for(lambda: home.was_told(ONE, Change.NEW))
        assert home.keeper.health().trouble is None


def test_a_removed_run_is_forgotten_and_told_of(home: Home) -> None:
    folder = folders.write_run(home.path, seconds=2)
    with keeping_up(home):
        shutil.rmtree(folder)
        wait_for(lambda: home.was_told(ONE, Change.GONE))
        assert home.status() is None


def test_a_tag_on_an_ended_run_is_told_of(home: Home) -> None:
    folder = folders.write_run(home.path, seconds=2)
    with keeping_up(home):
        lifecycle.tag(str(home.path), str(folder), {"k": "w"})
        wait_for(lambda: home.was_told(ONE, Change.GREW))


def test_what_another_process_indexed_first_is_told_all_the_same(home: Home) -> None:
    with keeping_up(home):
        folder = folders.write_run(home.path, seconds=2, start=folders.this_recorder(), ended=False)
        wait_for(lambda: home.was_told(ONE, Change.NEW))
        home.told.clear()
        folders.append(folder / "usage.jsonl", *folders.usage(3))
        with home.open() as other:
            other.refresh()
        wait_for(lambda: home.was_told(ONE, Change.GREW))


def test_a_locked_index_is_waited_for_and_nothing_is_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(keeping, "_RETRY_SECONDS", 0.05)
    with keeping_up(home), home.open() as other:
        with other.ask(lambda store: store.writing(5.0)):
            folders.write_run(home.path, seconds=2)
            wait_for(lambda: home.keeper.health().trouble)
        wait_for(lambda: home.was_told(ONE, Change.NEW))
        wait_for(lambda: home.keeper.health().trouble is None)
    # told once, however often it was tried
    assert len([warning for warning in home.warnings if "not kept up" in warning]) == 1


def test_a_damaged_index_is_built_again_and_readers_are_sent_to_the_new_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_RETRY_SECONDS", 0.05)
    folders.write_run(home.path, seconds=2)
    with keeping_up(home):
        for path in home.path.glob("index.db*"):
            if not path.name.endswith((".lock", "-shm")):
                path.write_bytes(b"garbage" * 4000)
        folders.write_run(home.path, run_id=TWO, seconds=2)
        wait_for(lambda: home.replaced and home.was_told(TWO, Change.GREW))
        assert home.status(ONE) is Status.COMPLETED
    assert list(home.path.glob("index.db.corrupt-*"))


def test_an_observer_that_fails_is_named_and_the_others_are_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.keeper._observers = [_broken, *home.keeper._observers]
    with keeping_up(home):
        folders.write_run(home.path, seconds=2)
        wait_for(lambda: home.was_told(ONE, Change.NEW))
    assert home.warnings == ["ZeroDivisionError while telling of runs: broken"]


def _broken(store: Store, changes: Sequence[Changed]) -> None:
    raise ZeroDivisionError("broken")


def test_a_store_that_cannot_be_opened_is_tried_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_RETRY_SECONDS", 0.02)
    folders.write_run(home.path, seconds=2)
    tries = 0
    real = home.keeper._open

    def opener() -> index.Index:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StoreError("the database is away")
        return real()

    home.keeper._open = opener
    with keeping_up(home):
        wait_for(lambda: home.keeper.health().looked_at)
        assert home.status() is Status.COMPLETED
    assert home.warnings == ["the index is not kept up: the database is away"]


def test_chores_are_done_after_every_look(home: Home) -> None:
    with keeping_up(home):
        wait_for(lambda: home.chores)


def test_of_many_runs_only_some_are_looked_into_at_once_and_all_in_turn(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_LOOKED_INTO", 2)
    monkeypatch.setattr(keeping, "BUSY_SECONDS", 0.01)
    ids = [f"20261115T095001Z-00000{number}" for number in range(5)]
    made = [
        folders.write_run(home.path, run_id=run_id, seconds=1, start=folders.this_recorder(), ended=False)
        for run_id in ids
    ]
    with keeping_up(home):
        for folder in made:
            folders.append(folder / "usage.jsonl", *folders.usage(2))
        wait_for(lambda: {one.run_id for one in home.told} >= set(ids))


def test_damage_of_an_index_that_is_no_file_does_not_end_the_keeper(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_RETRY_SECONDS", 0.05)
    folders.write_run(home.path, seconds=2)
    opened: list[index.Index] = []

    def opener() -> index.Index:
        # as one in a database is opened: there is no file that could be set aside
        store = home.open().ask(lambda store: store)
        opened.append(index.Index(home.path, store, path=None, warn=home.warnings.append))
        return opened[-1]

    home.keeper = keeping.Keeper(
        home.path, opener, chores=[home._chore], replaced=home._replace, warn=home.warnings.append
    )
    with keeping_up(home):
        home.keeper.mend(stores.DamagedError("a page of it is damaged"))
        wait_for(lambda: len(opened) == 2)
        looks = home.chores
        wait_for(lambda: home.chores > looks)
        assert home.keeper.health().trouble is None
        assert home.status() is Status.COMPLETED


def test_a_run_that_cannot_be_indexed_is_complained_of_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "BUSY_SECONDS", 0.01)
    folder = folders.write_run(home.path, seconds=2, start=folders.this_recorder(), ended=False)
    with home.open() as opened:
        opened.refresh()
    (folder / "run.jsonl").unlink()
    (folder / "run.jsonl").symlink_to("run.jsonl")
    with keeping_up(home):
        wait_for(lambda: any("cannot index" in one for one in home.warnings))
        looks = home.chores
        wait_for(lambda: home.chores > looks + 20)
    assert len([one for one in home.warnings if "cannot index" in one]) == 1

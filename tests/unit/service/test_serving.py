"""A server without its HTTP: what it keeps up, lends and mends."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter import stores
from jobmeter.errors import StoreError
from jobmeter.model.run import Status
from jobmeter.service import index, runs
from jobmeter.service.server_settings import ServerSettings
from jobmeter.service.serving import Readers, Server
from jobmeter.stores import Store
from support import folders
from support.recorder import wait_for


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    folders.write_run(path, seconds=5)
    return path


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    warnings: list[str] = []
    with Server(ServerSettings(home=str(home)), warn=warnings.append) as found:
        yield found


def test_every_service_function_reads_what_the_server_keeps_up(server: Server, home: Path) -> None:
    with index.open_index(home) as opened:
        assert isinstance(opened, index.KeptIndex)
    assert runs.find(str(home), folders.RUN_ID).status is Status.COMPLETED


def test_a_server_that_stopped_keeps_nothing_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Server(ServerSettings(home=str(home))).__enter__().stop()
    with index.open_index(home) as opened:
        assert not isinstance(opened, index.KeptIndex)


def test_readers_of_many_threads_have_a_store_each(server: Server) -> None:
    inside = threading.Barrier(4, timeout=20)
    seen: set[int] = set()

    def read() -> None:
        with server.read() as store:
            seen.add(id(store))
            inside.wait()
            assert store.brief(folders.RUN_ID) is not None

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4


def test_a_store_is_lent_again_when_it_came_back(server: Server) -> None:
    with server.read() as first:
        pass
    with server.read() as second:
        assert second is first


def test_damage_that_only_a_reader_meets_is_mended(server: Server, home: Path) -> None:
    def read() -> None:
        with server.read() as store:
            store.brief(folders.RUN_ID)
            raise stores.DamagedError("a page that the keeper never reads")

    with pytest.raises(stores.DamagedError):
        read()
    wait_for(lambda: list((home.parent / "cache").rglob("index.db.corrupt-*")))
    wait_for(lambda: server.health().trouble is None)
    with server.read() as store:
        assert store.brief(folders.RUN_ID) is not None


def test_a_service_function_that_meets_damage_reports_it_too(server: Server, home: Path) -> None:
    def question(store: Store) -> None:
        raise stores.DamagedError("a page that the keeper never reads")

    with index.open_index(home) as opened, pytest.raises(stores.DamagedError):
        opened.ask(question)
    wait_for(lambda: list((home.parent / "cache").rglob("index.db.corrupt-*")))


def test_where_no_index_can_be_kept_it_does_not_start(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    with pytest.raises(StoreError, match="no index can be kept on this machine"):
        Server(ServerSettings(home=str(home)), warn=lambda _: None).require_store()


class _Closing:
    """A store that only remembers that it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_stores_of_a_replaced_index_are_closed_when_they_come_back() -> None:
    readers = Readers(_Closing)  # type: ignore[arg-type]
    lent, idle = readers.take(), readers.take()
    readers.give_back(idle)
    readers.renew()
    assert idle.closed  # type: ignore[attr-defined]
    assert not lent.closed  # type: ignore[attr-defined]
    readers.give_back(lent)
    assert lent.closed  # type: ignore[attr-defined]
    assert readers.take() not in (lent, idle)


def test_a_store_that_was_opened_while_the_index_was_replaced_is_not_kept() -> None:
    def open_late() -> _Closing:
        readers.renew()  # the keeper set the file aside just now
        return _Closing()

    readers = Readers(open_late)  # type: ignore[arg-type]
    late = readers.take()
    readers.give_back(late)
    assert late.closed  # type: ignore[attr-defined]

"""A PostgreSQL server that is killed, restarted or shared while it is written to: nothing is lost, nothing twice."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobmeter.errors import StoreError
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Step
from jobmeter.model.view import Event, Window
from jobmeter.stores import Batch, Position, Store, postgres
from support import postgres as servers
from support.server import serving

USAGE, STEPS = "usage.jsonl", "steps.jsonl"
PIECE = 10
KILLS = int(os.environ.get("JOBMETER_KILLS", "4"))
"""How often the server is killed; 50 in the long form."""


@pytest.fixture
def server() -> Iterator[servers.Server]:
    made = servers.Server(settings=("autovacuum=off",))
    made.start()
    yield made
    made.remove()


def make_run(run_id: str) -> Run:
    return Run(run_id=run_id, job_id=run_id, status=Status.RUNNING, command=("train",))


def piece(run_id: str, since: int, size: int = PIECE) -> Batch:
    """Make the windows, steps and events from a place on, which is also their value."""
    places = range(since, since + size)
    return Batch(
        run=make_run(run_id),
        final=False,
        fields={"status": "running"},
        windows=[
            Window(
                timestamp=float(n), num_samples=1, clock={}, values={("a_x", ""): n, ("proc_rss", "7@9"): n}
            )
            for n in places
        ],
        steps={
            STEPS: [
                Step(timestamp=float(n), step=n, rank=0, source="sdk", metrics={"loss": n}) for n in places
            ]
        },
        events=[Event(timestamp=float(since), type="milestone")],
        since={USAGE: Position(since), STEPS: Position(since)},
        until={USAGE: Position(since + size), STEPS: Position(since + size)},
    )


def told(store: Store, run_id: str) -> tuple[list[object], list[int], int]:
    """Read everything back."""
    values = [list(series.values) for series in store.series(run_id)]
    steps = [step for table in store.steps(run_id) for step in table.steps]
    return values, steps, len(store.events(run_id))


class Keeper:
    """Indexes runs as a server does: from where the store says it is, and again after every failure."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.at = 0
        self.failures = 0

    def write_until(self, run_id: str, over: threading.Event) -> None:
        """Add to a run until told that it is over."""
        while not over.is_set():
            try:
                self.at = self.store.positions(run_id).get(USAGE, Position(0)).offset
                while not over.is_set() and self.store.append(piece(run_id, self.at)):
                    self.at += PIECE
            except StoreError:
                self.failures += 1


def test_a_server_killed_while_it_is_written_to_loses_nothing_and_doubles_nothing(
    server: servers.Server,
) -> None:
    server.execute("CREATE DATABASE jobs")
    store = postgres.open_store(server.url("jobs"))
    run_id, keeper, over = "20261115T095001Z-7f3a9c", Keeper(store), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(keeper.write_until, run_id, over)
        try:
            # a kill between two batches is not noticed when the server is back before the next one
            for _ in range(3 * KILLS):
                servers.wait_for(lambda due=keeper.at + 10 * PIECE: keeper.at >= due)
                server.kill()
                server.start()
                if keeper.failures >= KILLS:
                    break
        finally:
            over.set()
        writing.result(timeout=90)
    assert keeper.failures >= KILLS
    # a crash may take the last batches back: what the store says it has is what it must have, to the point
    end = store.positions(run_id)[USAGE].offset
    assert end > 10 * PIECE * KILLS // 2
    expected = list(range(end))
    assert told(store, run_id) == ([expected, expected], expected, end // PIECE)
    store.close()


def test_tables_just_made_are_there_after_a_crash(server: servers.Server) -> None:
    server.execute("CREATE DATABASE jobs")
    store = postgres.open_store(server.url("jobs"))
    server.kill()
    server.start()
    assert store.append(piece("a", 0))
    assert store.run_ids() == {"a"}
    store.close()


def test_an_ended_run_is_on_disk_when_its_last_batch_returns(server: servers.Server) -> None:
    server.execute("CREATE DATABASE jobs")
    store = postgres.open_store(server.url("jobs"))
    for number in range(2):
        run_id = f"run{number}"
        store.append(Batch(run=make_run(run_id), final=True, fields={}, until={USAGE: Position(7)}))
        server.kill()
        server.start()
        assert store.positions(run_id) == {USAGE: Position(7)}
        assert run_id not in store.unfinished()
    store.close()


def test_a_store_answers_again_after_its_server_was_restarted(server: servers.Server) -> None:
    server.execute("CREATE DATABASE jobs")
    store = postgres.open_store(server.url("jobs"))
    store.append(piece("a", 0))
    server.stop()
    with pytest.raises(StoreError, match="cannot connect to the database jobs"):
        store.run_ids()
    server.start()
    assert store.run_ids() == {"a"}
    with store.writing(5.0):
        assert store.append(piece("a", PIECE))
    store.close()


def test_a_server_with_nothing_to_do_says_that_its_database_is_away(
    server: servers.Server, tmp_path: Path
) -> None:
    server.execute("CREATE DATABASE jobs")
    with serving(tmp_path, env={"JOBMETER_DATABASE": server.url("jobs")}) as served:

        def is_told(status: str) -> bool:
            return bool(served.client.get("/health").json()["status"] == status)

        servers.wait_for(lambda: is_told("ok"))
        server.stop()
        servers.wait_for(lambda: is_told("degraded"))
        server.start()
        servers.wait_for(lambda: is_told("ok"))


def test_two_servers_that_index_one_run_at_once_add_every_byte_once() -> None:
    with servers.database() as url:
        both = [postgres.open_store(url) for _ in range(2)]
        begin = threading.Barrier(2)

        def index(store: Store) -> int:
            begin.wait()
            return sum(store.append(piece("a", at)) for at in range(0, 1000, PIECE))

        with ThreadPoolExecutor(2) as pool:
            added = list(pool.map(index, both))
        assert sum(added) == 1000 // PIECE
        expected = list(range(1000))
        assert told(both[0], "a") == ([expected, expected], expected, 1000 // PIECE)
        for store in both:
            store.close()


def test_many_writers_add_runs_of_their_own_at_once() -> None:
    with servers.database() as url:
        store = postgres.open_store(url)
        names = [f"run{number}" for number in range(8)]

        def index(name: str) -> int:
            return sum(store.append(piece(name, at)) for at in range(0, 300, PIECE))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(index, names)) == [300 // PIECE] * 8
        assert store.run_ids() == set(names)
        expected = list(range(300))
        for name in names:
            assert told(store, name) == ([expected, expected], expected, 30)
        store.close()


def test_tables_are_made_once_however_many_servers_come_at_once(server: servers.Server) -> None:
    server.execute("CREATE DATABASE jobs")
    with ThreadPoolExecutor(6) as pool:
        opened = list(pool.map(postgres.open_store, [server.url("jobs")] * 6))
    assert [store.run_ids() for store in opened] == [set()] * 6
    for store in opened:
        store.close()


def test_homes_that_share_a_database_see_all_runs_and_look_after_their_own() -> None:
    with servers.database() as url:
        one, other = (postgres.open_store(url, origin=origin) for origin in ("home one", "home other"))
        one.append(piece("a", 0))
        other.append(piece("b", 0))
        assert (one.run_ids(), other.run_ids()) == ({"a"}, {"b"})
        assert (list(one.unfinished()), list(other.unfinished())) == (["a"], ["b"])
        assert {run.run_id for run in one.briefs()} == {run.run_id for run in other.briefs()} == {"a", "b"}
        assert told(one, "b") == told(other, "b")
        one.set_position("@home", "changes.jsonl", Position(5))
        assert (one.positions("@home"), other.positions("@home")) == ({"changes.jsonl": Position(5)}, {})
        for store in (one, other):
            store.close()


def test_a_run_that_two_homes_hold_is_indexed_by_the_first_and_then_by_the_other() -> None:
    with servers.database() as url:
        one, other = (postgres.open_store(url, origin=origin) for origin in ("home one", "home other"))
        assert one.append(piece("a", 0))
        assert not other.append(piece("a", 0))
        assert not other.append(piece("a", PIECE))
        # known there, so that it is not taken for new at every look; not unfinished, because the other looks at it
        assert (other.run_ids(), other.unfinished()) == ({"a"}, {})
        assert told(other, "a")[1] == list(range(PIECE))
        other.forget("a")
        assert (one.run_ids(), other.run_ids()) == ({"a"}, set())
        assert not other.append(piece("a", 0))
        one.forget("a")
        assert (one.run_ids(), other.run_ids()) == (set(), set())
        assert other.append(piece("a", 0))
        assert told(one, "a")[1] == list(range(PIECE))
        for store in (one, other):
            store.close()

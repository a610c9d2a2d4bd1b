"""What a person is told when a database cannot be used, and what must never be told."""

import traceback
from collections.abc import Iterator

import psycopg
import pytest

from jobmeter.errors import JobmeterError, StoreError, UsageError
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event
from jobmeter.stores import Batch, BusyError, ReadOnlyError, postgres, postgres_link, postgres_migrate
from support import postgres as servers

HIDDEN = "hunter2secret"
"""A password."""


@pytest.fixture
def url() -> Iterator[str]:
    with servers.database() as found:
        yield found


@pytest.fixture(scope="module")
def secured() -> str:
    server = servers.server()
    server.execute(f"CREATE DATABASE {servers.SECURED}")
    server.execute(f"CREATE ROLE ann LOGIN PASSWORD '{HIDDEN}'")
    server.execute(f"GRANT CREATE ON DATABASE {servers.SECURED} TO ann")
    return servers.SECURED


def refusal(url: str) -> JobmeterError:
    with pytest.raises(JobmeterError) as caught:
        postgres.open_store(url)
    told = "".join(traceback.format_exception(caught.value))
    assert HIDDEN not in told
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_right_password_opens_the_database(secured: str) -> None:
    store = postgres.open_store(servers.server().url(secured, user="ann", password=HIDDEN))
    assert store.run_ids() == set()
    store.close()


def test_a_wrong_password_is_told_in_one_sentence(secured: str) -> None:
    error = refusal(servers.server().url(secured, user="ann", password=f"{HIDDEN}x"))
    assert str(error) == "wrong user or password for the database secured"
    assert "~/.pgpass" in error.hint


def test_a_missing_password_is_told_in_one_sentence(secured: str) -> None:
    error = refusal(servers.server().url(secured, user="ann"))
    assert str(error) == "the database secured asks for a password"


def test_a_database_that_is_not_there_is_named(secured: str) -> None:
    error = refusal(servers.server().url("nowhere"))
    assert str(error) == 'cannot connect to the database nowhere: database "nowhere" does not exist'


def test_a_server_that_is_not_there_is_told_in_one_sentence() -> None:
    error = refusal(f"postgresql://ann:{HIDDEN}@127.0.0.1:1/jobs")
    assert str(error) == "cannot connect to the database jobs at 127.0.0.1:1: connection refused"


@pytest.mark.parametrize(
    "url", [f"postgresql://ann:{HIDDEN}@[::/jobs", f"postgresql://ann:{HIDDEN}%zz@host/jobs"]
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    error = refusal(url)
    assert isinstance(error, UsageError)
    assert str(error) == "the URL of the database cannot be read"


def test_a_user_who_may_not_make_tables_is_told_how_to_be_allowed(secured: str) -> None:
    server = servers.server()
    server.execute("CREATE ROLE guest LOGIN")
    with servers.database() as url:
        error = refusal(url.replace("postgres@", "guest@"))
    assert "permission denied" in str(error)
    assert "GRANT CREATE ON DATABASE" in error.hint


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            f"postgresql://ann:{HIDDEN}@db.example:5433/jobs?password={HIDDEN}",
            "the database jobs at db.example:5433",
        ),
        (f"postgresql://ann:{HIDDEN}@/jobs?host=/run/postgresql", "the database jobs"),
        (f"host=db dbname=jobs user=ann password={HIDDEN}", "the database jobs at db"),
    ],
)
def test_a_database_is_named_without_its_password(given: str, expected: str) -> None:
    assert postgres_link.shown(postgres_link.read_url(given)) == expected


def test_a_lock_that_another_holds_is_told_as_busy(url: str) -> None:
    store = postgres.open_store(f"{url}&options=-c%20lock_timeout%3D50ms")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE jobmeter.run IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(BusyError, match="is locked by another process"):
            store.run_ids()
    assert store.run_ids() == set()
    store.close()


def test_an_answer_that_takes_too_long_is_stopped(url: str) -> None:
    store = postgres.open_store(f"{url}&options=-c%20statement_timeout%3D50ms")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE jobmeter.run IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="took too long"):
            store.run_ids()
    store.close()


def test_a_second_process_of_a_home_waits_and_another_home_does_not(url: str) -> None:
    one, same, other = (postgres.open_store(url, origin=origin) for origin in ("a", "a", "b"))
    with one.writing(1.0):
        with pytest.raises(BusyError, match="another process is updating"), same.writing(0.05):
            pass
        with other.writing(0.05):
            assert other.run_ids() == set()
    with same.writing(1.0):
        assert same.run_ids() == set()
    for store in (one, same, other):
        store.close()


def test_tables_of_a_newer_jobmeter_are_read_and_not_written(url: str) -> None:
    postgres.open_store(url).close()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO jobmeter.version VALUES (9999, now())")
    store = postgres.open_store(url)
    assert store.run_ids() == set()
    with pytest.raises(ReadOnlyError, match="has schema 9999"), store.writing(1.0):
        pass
    store.close()
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM jobmeter.version WHERE number = 9999")


def test_tables_that_are_up_to_date_are_not_changed_again(url: str) -> None:
    postgres.open_store(url).close()
    with psycopg.connect(f"{url}&options=-c%20search_path%3Djobmeter", autocommit=True) as connection:
        before = connection.execute("SELECT number, applied_at FROM version").fetchall()
        assert postgres_migrate.upgrade(connection) == before[-1][0]
        assert connection.execute("SELECT number, applied_at FROM version").fetchall() == before


def test_a_run_that_another_server_is_adding_to_is_told_as_busy_and_then_added(url: str) -> None:
    store = postgres.open_store(f"{url}&options=-c%20lock_timeout%3D50ms")
    run = Run(run_id="a", job_id="a", status=Status.RUNNING, command=("make",))
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('a', 5))")
        with pytest.raises(BusyError, match="is locked by another process"):
            store.append(Batch(run=run, final=False, fields={}))
    assert store.append(Batch(run=run, final=False, fields={}))
    assert store.run_ids() == {"a"}
    store.close()


def test_a_batch_that_cannot_be_added_leaves_nothing_and_the_store_goes_on(url: str) -> None:
    store = postgres.open_store(url)
    run = Run(run_id="a", job_id="a", status=Status.RUNNING, command=("make",), started_at=1.0)
    with psycopg.connect(url) as other:
        other.execute("ALTER TABLE jobmeter.event ADD CONSTRAINT none_at_seven CHECK (timestamp <> 7)")
    told = Batch(run=run, final=True, fields={"tag.k": "v"}, events=[Event(timestamp=7.0, type="odd")])
    with pytest.raises(StoreError, match="none_at_seven"):
        store.append(told)
    assert (store.run_ids(), store.positions("a"), store.events("a")) == (set(), {}, [])
    with psycopg.connect(url) as other:
        other.execute("ALTER TABLE jobmeter.event DROP CONSTRAINT none_at_seven")
    assert store.append(told)
    assert [event.timestamp for event in store.events("a")] == [7.0]
    store.close()

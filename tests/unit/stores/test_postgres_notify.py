"""Messages between server processes, over a real server."""

import queue
from collections.abc import Iterator

import pytest

from jobmeter.errors import StoreError
from jobmeter.stores.postgres_notify import LONGEST_BYTES, Exchange
from support import postgres

MISSED = "(missed)"


@pytest.fixture
def url() -> Iterator[str]:
    with postgres.database() as found:
        yield found


@pytest.fixture
def two(url: str) -> Iterator[tuple[Exchange, Exchange]]:
    one, other = Exchange(url), Exchange(url)
    yield one, other
    one.close()
    other.close()


def listening(exchange: Exchange, channel: str = "runs") -> "queue.Queue[str]":
    heard: queue.Queue[str] = queue.Queue()
    assert exchange.listen(channel, heard.put, lambda: heard.put(MISSED)).is_listening(10)
    return heard


def test_another_process_hears_a_message(two: tuple[Exchange, Exchange]) -> None:
    heard = listening(two[1])
    two[0].notify("runs", "20261115T095001Z-7f3a9c 17")
    assert heard.get(timeout=10) == "20261115T095001Z-7f3a9c 17"


def test_messages_come_in_the_order_they_were_sent(two: tuple[Exchange, Exchange]) -> None:
    heard = listening(two[1])
    for number in range(50):
        two[0].notify("runs", str(number))
    assert [heard.get(timeout=10) for _ in range(50)] == [str(number) for number in range(50)]


def test_a_process_does_not_hear_itself(two: tuple[Exchange, Exchange]) -> None:
    mine, others = listening(two[0]), listening(two[1])
    two[0].notify("runs", "from one")
    two[1].notify("runs", "from other")
    assert (mine.get(timeout=10), others.get(timeout=10)) == ("from other", "from one")
    assert (mine.empty(), others.empty()) == (True, True)


def test_a_listener_hears_its_channel_only(two: tuple[Exchange, Exchange]) -> None:
    heard = listening(two[1], "alerts; DROP TABLE run")
    two[0].notify("runs", "no")
    two[0].notify("alerts; DROP TABLE run", "yes")
    assert heard.get(timeout=10) == "yes"


def test_after_the_connection_was_lost_the_listener_is_told_and_hears_again(
    url: str, two: tuple[Exchange, Exchange]
) -> None:
    heard = listening(two[1])
    postgres.server().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        " AND pid <> pg_backend_pid()"
    )
    assert heard.get(timeout=10) == MISSED
    two[0].notify("runs", "back")
    assert heard.get(timeout=10) == "back"


def test_text_that_postgresql_cannot_hold_is_sent_readable(two: tuple[Exchange, Exchange]) -> None:
    heard = listening(two[1])
    two[0].notify("runs", "caf\u00e9 \0 \udce9")
    assert heard.get(timeout=10) == "caf\u00e9 \\x00 \\udce9"


def test_a_message_that_is_too_long_is_refused(two: tuple[Exchange, Exchange]) -> None:
    heard = listening(two[1])
    two[0].notify("runs", "x" * LONGEST_BYTES)
    assert heard.get(timeout=10) == "x" * LONGEST_BYTES
    with pytest.raises(StoreError, match="too long to be sent"):
        two[0].notify("runs", "x" * (LONGEST_BYTES + 1))

"""What no client library sends: requests cut, doubled, swollen or never ended. None costs the others anything."""

import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import zstandard

from support import folders
from support.routes import attacked, bearer
from support.server import Served
from support.wire import Wire, answers_to

MIB = 1 << 20
HALF_REQUESTS = 1_500
DEPTH = 50_000
SYNC = "/api/v1/runs/20261116T030000Z-b0b0b0/sync"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with attacked(tmp_path_factory.mktemp("wire")) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def half_asked(served: Served) -> Iterator[socket.socket]:
    """A connection on which half a request was sent when the other tests began."""
    parts = urlsplit(served.url)
    with closing(socket.create_connection((parts.hostname or "", parts.port or 80), 60)) as connection:
        connection.send(b"GET /health HTTP/1.1\r\nHost: loc")
        yield connection


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    with Wire(served.url) as found:
        yield found


def rss_bytes(served: Served) -> int:
    pages = int(Path(f"/proc/{served.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def request(
    served: Served, *lines: str, first: str = "GET /api/v1/runs HTTP/1.1", body: bytes = b""
) -> bytes:
    """Write a request with a good token and host; lines that begin with `-` leave one of them out."""
    named = {"Host": urlsplit(served.url).netloc, "Authorization": f"Bearer {served.token}"}
    left_out = {line[1:] for line in lines if line.startswith("-")}
    told = [f"{name}: {value}" for name, value in named.items() if name not in left_out]
    told += [line for line in lines if not line.startswith("-")]
    return "\r\n".join([first, *told, "", ""]).encode("latin-1") + body


def smuggled(served: Served) -> bytes:
    return request(served, "-Authorization", first="GET /health HTTP/1.1")


POST = f"POST {SYNC} HTTP/1.1"


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked", "Content-Length: 5"), b"0\r\n\r\n"),
        (("Content-Length: 0", "Content-Length: 5"), b""),
        (("Content-Length: 5", "Content-Length: 0"), b"01234"),
        (("Content-Length: 0, 5",), b""),
        (("Content-Length: +0",), b""),
        (("Content-Length: -1",), b""),
        (("Content-Length: 0x0",), b""),
        (("Content-Length: \N{ARABIC-INDIC DIGIT ZERO}",), b""),
        (("Content-Length : 0",), b""),
        (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n"),
        (("Transfer-Encoding: identity, chunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: \x0bchunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"0\r\n\r\n"),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"-1\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"F" * 25 + b"\r\n"),
        (("Transfer-Encoding: chunked",), b"0;" + b"x" * MIB + b"\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"1\r\nxy\r\n0\r\n\r\n"),
    ],
)
def test_one_request_is_never_taken_for_two(served: Served, lines: tuple[str, ...], body: bytes) -> None:
    encoded = tuple(line.encode().decode("latin-1") for line in lines)
    answers = answers_to(served.url, request(served, *encoded, first=POST, body=body) + smuggled(served))
    assert len(answers) == 1
    assert 400 <= answers[0] < 500


@pytest.mark.parametrize(
    "text",
    [
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/0.9\r\n\r\n",
        b"GET /health HTTP/1.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1 \r\nHost: localhost\r\n\r\n",
        b"GET health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://localhost/api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX Y: 1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n: 1\r\n\r\n",
        b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n",
        b"GET /health\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\r\nX: y HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"\x00" * 1000,
        b"A" * 200_000,
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 40_000 + b"\r\n",
    ],
    ids=lambda text: text[:40].decode("latin-1"),
)
def test_what_is_no_request_is_refused(served: Served, text: bytes) -> None:
    # nothing at all is an answer too: it was not heard to its end
    assert all(400 <= status < 500 for status in answers_to(served.url, text))


def test_a_body_of_no_bytes_in_chunks_is_answered(served: Served) -> None:
    text = request(served, "Transfer-Encoding: chunked", first=POST, body=b"0\r\n\r\n")
    assert answers_to(served.url, text) == [415]


def test_a_body_is_not_asked_for_before_the_token_is_seen(served: Served) -> None:
    text = request(served, "-Authorization", "Expect: 100-continue", "Content-Length: 1000", first=POST)
    assert answers_to(served.url, text) == [401]


@pytest.mark.parametrize(
    "pack", [lambda text: gzip.compress(text, 1), zstandard.compress], ids=["gzip", "zstd"]
)
def test_a_bomb_is_refused_in_bounded_memory(
    served: Served, wire: Wire, pack: Callable[[bytes], bytes]
) -> None:
    bomb = pack(b"\0" * (256 * MIB))
    assert len(bomb) < 2 * MIB
    before = rss_bytes(served)
    for name in ("gzip", "zstd", "x-gzip", "gzip, gzip", "deflate", "br"):
        headers = bearer(served.token) | {
            "Content-Type": "application/x-jobmeter-sync",
            "Content-Encoding": name,
        }
        assert wire.ask("POST", SYNC, headers, bomb).status in (400, 413, 415)
    assert rss_bytes(served) - before < 100 * MIB


def test_a_body_that_says_it_is_huge_is_refused_before_it_comes(served: Served) -> None:
    for length in (1 << 30, 1 << 40):
        assert answers_to(served.url, request(served, f"Content-Length: {length}", first=POST)) == [413]
    assert answers_to(served.url, request(served, f"Content-Length: {10**30}", first=POST)) == [400]


def test_a_body_that_never_ends_is_refused(served: Served) -> None:
    before = rss_bytes(served)
    parts = urlsplit(served.url)
    with closing(socket.create_connection((parts.hostname or "", parts.port or 80), 20)) as connection:
        connection.sendall(request(served, "Transfer-Encoding: chunked", first=POST))
        piece = b"100000\r\n" + b"x" * MIB + b"\r\n"
        sent = 0
        try:
            while sent < 200:
                connection.sendall(piece)
                sent += 1
        except OSError:
            assert sent < 200  # the server had enough
    assert rss_bytes(served) - before < 100 * MIB


@pytest.mark.parametrize(
    ("opening", "ending"), [("[", "]"), ('{"a":', "}"), ('{"tags":{"a":', "}}"), ('{"name":[', "]}")]
)
def test_json_that_is_deep_is_refused(served: Served, wire: Wire, opening: str, ending: str) -> None:
    text = opening * DEPTH + "1" + ending * DEPTH
    for method, path in (
        ("PATCH", f"/api/v1/runs/{folders.RUN_ID}"),
        ("POST", f"/api/jobs/{folders.RUN_ID}/apply"),
        ("POST", "/api/v1/alerts/silences"),
    ):
        for kind in ("application/json", "text/plain", "application/merge-patch+json"):
            answer = wire.ask(method, path, bearer(served.token) | {"Content-Type": kind}, text.encode())
            assert 400 <= answer.status < 500, (path, kind, answer)


def test_a_push_whose_lines_are_deep_harms_nobody(served: Served, wire: Wire) -> None:
    run_id = "20261116T040000Z-b0b0b1"
    deep = b'{"type":"start","run_id":"x","command":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"
    header = json.dumps(
        {"files": [{"name": "run.jsonl", "offset": 0, "crc32": 0, "length": len(deep)}], "final": True}
    )
    headers = bearer(served.token) | {"Content-Type": "application/x-jobmeter-sync"}
    answer = wire.ask("POST", f"/api/v1/runs/{run_id}/sync", headers, header.encode() + b"\n" + deep)
    assert answer.status in (200, 400)
    assert wire.ask("GET", "/api/v1/runs", bearer(served.token)).status == 200
    assert json.loads(wire.ask("GET", "/health").body)["status"] == "ok"


def test_half_requests_of_a_stranger_do_not_shut_others_out(served: Served, wire: Wire) -> None:
    parts = urlsplit(served.url)
    address = (parts.hostname or "", parts.port or 80)
    with ExitStack() as stack:
        for _ in range(HALF_REQUESTS):
            stranger = stack.enter_context(closing(socket.create_connection(address, 20)))
            stranger.send(b"GET /health HTTP/1.1\r\nHost: loc")
        begun = time.monotonic()
        assert wire.ask("GET", "/api/v1/runs", bearer(served.token)).status == 200
        assert time.monotonic() - begun < 10
    assert wire.ask("GET", "/api/v1/runs", bearer(served.token)).status == 200


def test_a_stranger_who_asks_too_often_is_told_to_wait(served: Served) -> None:
    with Wire(served.url) as wire:
        wire.per_address = 10_000
        answers = [wire.ask("GET", "/api/v1/runs") for _ in range(200)]
        assert {answer.status for answer in answers} == {401, 429}
        waits = [answer.headers.get("retry-after") for answer in answers if answer.status == 429]
        assert all(wait is not None and int(wait) >= 1 for wait in waits)
        # who has a token is not the stranger, though the address is the same
        assert wire.ask("GET", "/api/v1/runs", bearer(served.token)).status == 200


def test_a_half_request_is_not_waited_for_for_ever(half_asked: socket.socket) -> None:
    told = half_asked.recv(1000)
    assert not told or told.startswith(b"HTTP/1.1 4")

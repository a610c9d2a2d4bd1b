"""What `jobmeter serve` refuses whoever sends it: foreign hosts and origins, bodies and paths that are tricks."""

import socket
from collections.abc import Iterator

import pytest

from support.server import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give one server that no test stops."""
    with serving(tmp_path_factory.mktemp("served") / "home") as found:
        yield found


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "127.0.0.1.attacker.example",
        "10.0.0.1",
        "localhost.example:8765",
        "",
        f"localhost:{'0' * 5000}",
    ],
)
def test_a_foreign_host_is_refused_on_open_paths_too(served: Served, host: str) -> None:
    for path in ("/health", "/docs", "/metrics"):
        assert served.client.get(path, headers={"host": host}).status_code == 403
    assert "Traceback" not in "".join(served.complaints)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "same-origin", "origin": "http://attacker.example"},
    ],
)
def test_another_sites_page_can_change_nothing(served: Served, method: str, headers: dict[str, str]) -> None:
    assert served.client.request(method, "/api/v1/runs/last", headers=headers).status_code == 403


def test_our_own_page_and_plain_tools_can(served: Served) -> None:
    authority = served.url.removeprefix("http://")
    for headers in ({}, {"origin": f"http://{authority}", "sec-fetch-site": "same-origin"}):
        assert served.client.post("/nowhere", headers=headers).status_code == 404


def test_a_header_sent_twice_is_refused(served: Served) -> None:
    twice = [("authorization", f"Bearer {served.token}"), ("authorization", "Bearer x")]
    with served.stranger() as stranger:
        assert stranger.get("/docs", headers=twice).status_code == 400


def test_a_body_that_is_too_large_is_refused_before_it_is_read(served: Served) -> None:
    assert raw(served, b"content-length: 99999999999\r\n").startswith(b"HTTP/1.1 413")


def send_many(peer: socket.socket, chunk: bytes) -> None:
    for _ in range(1000):
        peer.sendall(chunk)


def test_a_body_without_end_is_hung_up_on(served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    head = f"POST /x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {served.token}\r\n"
    with socket.create_connection((host, int(port)), 30) as peer:
        peer.sendall(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_many(peer, chunk)
    assert served.client.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("kind", "status"),
    [("application/json", 400), ("", 400), ("text/plain", 415), ("application/msgpack", 415)],
)
def test_json_that_is_nested_without_end_is_refused_whatever_it_is_called(
    served: Served, kind: str, status: int
) -> None:
    headers = {"content-type": kind} if kind else {}
    for method, path in (("POST", "/api/jobs/last/apply"), ("PATCH", "/api/v1/runs/sync")):
        assert (
            served.client.request(method, path, content=b"[" * 100_000, headers=headers).status_code == status
        )


def raw(served: Served, headers: bytes, method: bytes = b"POST") -> bytes:
    """Send a request as bytes and give the beginning of the answer."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as peer:
        peer.sendall(
            method
            + b" /nowhere HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
            + served.token.encode()
            + b"\r\n"
            + headers
            + b"\r\n"
        )
        return peer.recv(4096)


@pytest.mark.parametrize(
    "path", ["/api/v1/runs/..", "/api/v1/runs/%2e%2e%2fx", "/api/v1/..%5c..%5cx", "/x/%00", "/x/%0a"]
)
def test_paths_that_look_for_files_are_refused(served: Served, path: str) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as peer:
        peer.sendall(
            f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {served.token}\r\n\r\n".encode()
        )
        assert peer.recv(4096).startswith(b"HTTP/1.1 400")

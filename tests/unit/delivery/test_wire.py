"""Who is asked, with which word, and how long it may take."""

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter.delivery import wire
from jobmeter.errors import UsageError


@pytest.mark.parametrize(
    "url",
    ["", "jobs.example.org", "ftp://x", "https://", "https://x:99999", "https://x?a=1", "https://[", "http:///p",
     "https://x#f", "file:///etc/passwd"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not a server's address"):
        wire.target(url, None)


def test_a_password_in_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="holds a password"):
        wire.target("https://u:p@x", None)


def test_a_token_goes_out_in_the_clear_only_where_that_was_allowed() -> None:
    with pytest.raises(UsageError, match="unencrypted"):
        wire.target("http://jobs.example.org", None)
    assert (
        wire.target("http://jobs.example.org/base/", None, plain_allowed=True).url
        == "http://jobs.example.org:80/base"
    )
    for local in ("http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765"):
        assert wire.target(local, None).url == local


@pytest.mark.parametrize("token", ["a b", "a\r\nHost: x", "é"])
def test_a_token_that_could_become_a_header_is_refused(token: str) -> None:
    with pytest.raises(UsageError, match="no token has"):
        wire.target("https://x", token)


def test_the_token_is_taken_from_the_environment_or_a_file_of_ones_own(tmp_path: Path) -> None:
    assert wire.find_token({"JOBMETER_TOKEN": "abc"}) == "abc"
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert wire.find_token(environ) is None
    (tmp_path / "jobmeter").mkdir()
    file = tmp_path / "jobmeter" / "token"
    file.write_text("jm_1\n")
    file.chmod(0o644)
    with pytest.raises(UsageError, match="can be read by others"):
        wire.find_token(environ)
    file.chmod(0o600)
    assert wire.find_token(environ) == "jm_1"


def test_waiting_doubles_spreads_and_obeys_the_server() -> None:
    backoff = wire.Backoff(1.0, 8.0, chance=lambda: 1.0)
    assert [backoff.failed() for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert backoff.failed(30.0) == 34.0
    backoff.succeeded()
    assert wire.Backoff(1.0, 8.0, chance=lambda: 0.0).failed() == 0.5
    assert backoff.failed() == 1.0


@contextmanager
def listening(answer: bytes, *, dribble: bool = False) -> Iterator[str]:
    """Stand in for servers that no server of ours would be: one answer for all, or one that never ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()

    def serve() -> None:
        while not stopping.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                try:
                    connection.sendall(answer)
                    while dribble and not stopping.wait(0.05):
                        connection.sendall(b"x")
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def ask(url: str, longest_seconds: float = 5.0) -> wire.Answer:
    connection = wire.Wire(wire.target(url, "t"), longest_seconds=longest_seconds)
    try:
        return connection.post("/x", b"body", {})
    finally:
        connection.close()


def test_an_answer_that_never_ends_is_cut_off() -> None:
    begun = time.monotonic()
    with (
        listening(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", dribble=True) as url,
        pytest.raises(wire.UnreachableError),
    ):
        ask(url, longest_seconds=0.3)
    assert time.monotonic() - begun < wire.SILENCE_SECONDS


@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"]
)
def test_what_is_no_answer_is_nobody_there(answer: bytes) -> None:
    with listening(answer) as url, pytest.raises(wire.UnreachableError):
        ask(url)


def test_nobody_there_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(wire.UnreachableError, match="refused"):
        ask(f"http://127.0.0.1:{port}")


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with listening(
        b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    ) as url:
        assert ask(url).status == 307


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("999999", 3600.0), ("soon", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0)],
)
def test_retry_after_is_read_as_seconds_or_a_date(text: str, seconds: float | None) -> None:
    answer = f"HTTP/1.1 429 Later\r\nRetry-After: {text}\r\nContent-Length: 0\r\n\r\n".encode()
    with listening(answer) as url:
        assert ask(url).retry_after_seconds == seconds


def test_a_connection_the_server_closed_meanwhile_is_opened_again() -> None:
    class Once(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            return  # the test's own output stays clean

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Once) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = wire.Wire(wire.target(f"http://127.0.0.1:{server.server_address[1]}", None))
        assert [connection.post("/", b"x", {}).status for _ in range(3)] == [200, 200, 200]
        connection.close()
        server.shutdown()

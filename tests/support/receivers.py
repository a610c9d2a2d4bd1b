"""Real receivers of what is delivered: HTTP servers that accept, refuse, redirect, hang or drip."""

import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Posted:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """What a receiver is told to answer, and what it got."""

    url: str
    posted: list[Posted] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """Answers to the next requests; 204 once they are used up."""
    headers: dict[str, str] = field(default_factory=dict)
    behaviour: str = "answer"
    """`answer`, `hang` or `drip`."""
    released: threading.Event = field(default_factory=threading.Event)

    def wait_for(self, count: int, seconds: float = 20.0) -> list[Posted]:
        """Wait until so many requests came."""
        deadline = time.monotonic() + seconds
        while len(self.posted) < count:
            assert time.monotonic() < deadline, f"{len(self.posted)} of {count} requests within {seconds} s"
            self.released.wait(0.01)
        return self.posted


@contextmanager
def receiver(*, certificate: Path | None = None) -> Iterator[Receiver]:
    """Run a receiver on a free port of loopback, with TLS where a certificate and its key are given."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: found))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    found = Receiver(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        found.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(found: Callable[[], Receiver]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name the library asks for
            receiver = found()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.posted.append(Posted(self.path, dict(self.headers), body))
            if receiver.behaviour == "hang":
                receiver.released.wait(30)
                return
            if receiver.behaviour == "drip":
                self._drip(receiver)
                return
            self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def _drip(self, receiver: Receiver) -> None:
            """Send a header that never ends, a byte at a time."""
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not receiver.released.wait(0.02):
                    self.wfile.write(b"a")
            except OSError:
                return  # the client had enough of it

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at what was posted."""

    return Handler


def certificate(folder: Path) -> Path:
    """Make a certificate of this machine that nobody knows, its key in the same file."""
    file = folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", file, "-out", folder / "public.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + (folder / "public.pem").read_bytes())
    return file

"""What tests of pushing share: processes that follow a run, bodies of requests, servers that misbehave."""

import json
import os
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CONTENT_TYPE = "application/x-jobmeter-sync"
SENT = (".jsonl", "output.index", "stdout", "stderr")


def body(*parts: tuple[str, int, bytes, bytes], final: bool = False) -> bytes:
    """Make a body of (name, offset, what comes before, bytes), from docs/push.md alone."""
    files = [
        {"name": name, "offset": offset, "crc32": zlib.crc32(before), "length": len(data)}
        for name, offset, before, data in parts
    ]
    return json.dumps({"files": files, "final": final}).encode() + b"\n" + b"".join(part[3] for part in parts)


def followers(home: Path) -> list[int]:
    """List the processes that follow runs of a home."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdecimal() else b""
        except OSError:
            continue  # ended between listing and reading
        if b"follower" in words and os.fsencode(home) in words:
            found.append(int(name))
    return found


def copied(folder: Path, home: Path) -> dict[str, tuple[bytes, bytes]]:
    """Give the files of a run that travel, each as it is here and on the server of another home."""
    copy = home / "runs" / folder.parent.name / folder.name
    names = [path.name for path in folder.iterdir() if path.name.endswith(SENT) and path.stat().st_size]
    return {
        name: (
            (folder / name).read_bytes(),
            (copy / name).read_bytes() if (copy / name).exists() else b"absent",
        )
        for name in names
    }


Misbehave = Callable[[socket.socket], None]


@contextmanager
def misbehaving(how: Misbehave) -> Iterator[str]:
    """Listen, and treat everyone who comes in a way that no server of ours would."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the test is over
            held.append(connection)
            threading.Thread(target=_treat, args=(how, connection), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for connection in held:
            connection.close()


def _treat(how: Misbehave, connection: socket.socket) -> None:
    try:
        how(connection)
    except OSError:
        return  # the other side had enough


def hang(connection: socket.socket) -> None:
    """Read nothing, say nothing."""
    threading.Event().wait(60)
    connection.close()


def lie(connection: socket.socket) -> None:
    """Say that all is well, without having taken anything."""
    connection.recv(1 << 16)
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"files":{}}')
    connection.close()


def reset(connection: socket.socket) -> None:
    """Hang up within the request."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


@contextmanager
def deaf_proxy(url: str, losing: Callable[[], bool]) -> Iterator[str]:
    """Stand before a real server and lose answers after the server gave them."""
    host, port = url.rpartition("/")[2].split(":")

    def pass_on(connection: socket.socket) -> None:
        with socket.create_connection((host, int(port))) as server:
            lost = losing()
            request = threading.Thread(target=_copy, args=(connection, server), daemon=True)
            request.start()
            answer = server.recv(1 << 16)
            if not lost:
                connection.sendall(answer)
            connection.shutdown(socket.SHUT_RDWR)

    with misbehaving(pass_on) as address:
        yield address


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while block := source.recv(1 << 16):
            target.sendall(block)
    except OSError:
        return  # one of the two left

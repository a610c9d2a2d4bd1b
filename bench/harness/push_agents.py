"""A server that can be killed, agents that push to it, and a count of what arrived.

Agents are simulated in this process: each opens a connection for every push, as the real one does, and sends what a
run of 30 keys and five processes records in some seconds.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.delivery import outgoing, push, wire
from jobmeter.delivery.sidecar import Sent
from jobmeter.model.sync import CONTENT_TYPE, Part
from jobmeter.service import index
from support import folders

KEY = "wait_cputime"
"""The key whose samples are counted in the index: it is in every line of the whole job."""
HEADERS = {"Content-Type": CONTENT_TYPE, "Content-Encoding": "gzip"}
_INDEX_SECONDS = 180.0


class Server:
    """A real `jobmeter serve` that can be killed and started again at the same address."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBMETER_")}
        self._environ = {**kept, "XDG_CACHE_HOME": str(home.parent / "cache")}
        self.url = ""
        self.start(0)

    def start(self, port: int) -> None:
        """Start it and wait until it answers."""
        words = ["serve", "--no-browser", "--port", str(port), "--home", str(self.home)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jobmeter", *words, "--requests-per-second", "100000"],
            env=self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        told = next((line for line in self._process.stderr if " at http" in line), None)
        if told is None:
            raise SystemExit("the server did not start")
        self.url = told.rsplit(" at ", 1)[1].split()[0].rstrip("/")
        threading.Thread(target=_listen, args=(self._process,), daemon=True).start()
        self.target = wire.target(self.url, (self.home / "token").read_text().strip())

    @property
    def port(self) -> int:
        """Say where it listens."""
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        self._process.wait(60)

    def cpu_seconds(self) -> float:
        """Say what it used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_rss_mb(self) -> float:
        """Say how large it has been."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def settle(self) -> float:
        """Wait until it does next to nothing; gives how long that took."""
        begun = time.monotonic()
        while True:
            before = self.cpu_seconds()
            time.sleep(2.0)
            if self.cpu_seconds() - before < 0.3:
                return time.monotonic() - begun


def _listen(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if "token is asked for" not in line:
            sys.stderr.write(line)


@dataclass(slots=True)
class Agent:
    """A run that grows, and how much of it the server confirmed."""

    run_id: str
    start: bytes
    lines: Sequence[bytes]
    at: int = 0
    sent: dict[str, Sent] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Say whether every line was confirmed."""
        return self.at >= len(self.lines)

    def push(self, server: wire.Target, count: int) -> int:
        """Send the next lines; gives the status, 0 when nobody answered."""
        lines = b"".join(self.lines[self.at : self.at + count])
        pieces = [self._piece("usage.jsonl", lines)]
        if not self.sent:
            pieces.append(self._piece("run.jsonl", self.start))
        connection = wire.Wire(server)
        try:
            path = f"/api/v1/runs/{self.run_id}/sync"
            answer = connection.post(path, push.encode(pieces, final=False), HEADERS)
        except wire.UnreachableError:
            return 0
        finally:
            connection.close()
        if answer.status == 409:
            raise SystemExit(f"{self.run_id}: the server lost what it confirmed: {answer.document()}")
        if answer.status == 200:
            self.sent |= {piece.part.name: piece.until for piece in pieces}
            self.at += count
        return answer.status

    def _piece(self, name: str, data: bytes) -> outgoing.Piece:
        before = self.sent.get(name, Sent())
        part = Part(name=name, offset=before.sent, crc32=before.crc32, length=len(data))
        size, crc32 = before.sent + len(data), zlib.crc32(data, before.crc32)
        return outgoing.Piece(part, data, Sent(read=size, sent=size, crc32=crc32))


def make_agents(folder: Path, count: int, seconds: int) -> list[Agent]:
    """Make runs that all record the same, under ids of their own."""
    template = folders.write_run(folder / "template", seconds=seconds, processes=5, ended=False)
    lines = (template / "usage.jsonl").read_bytes().splitlines(keepends=True)
    start = (template / "run.jsonl").read_bytes()
    ids = [
        f"20261116T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}Z-{number:06x}"
        for number in range(count)
    ]
    return [Agent(run_id, start.replace(folders.RUN_ID.encode(), run_id.encode()), lines) for run_id in ids]


def points_in(line: bytes) -> int:
    """Count the values of one line, those of each process too."""
    values = json.loads(line)["measurements"].values()
    return sum(len(value) if isinstance(value, dict) else 1 for value in values)


Turn = Callable[[Agent, int], float | None]
"""Says when an agent pushes again after a push with this status; None when it is done."""


class Crew:
    """Threads that push on behalf of agents, each at its time."""

    def __init__(self, server: Server, threads: int, lines_a_push: int) -> None:
        self.statuses: dict[int, int] = {}
        self.latencies: list[float] = []
        self.late_seconds = 0.0
        self._server = server
        self._thread_count = threads
        self._lines_a_push = lines_a_push
        self._todo: queue.PriorityQueue[tuple[float, int, Agent | None]] = queue.PriorityQueue()
        self._lock = threading.Lock()
        self._serial = 0

    def run(self, agents: Sequence[Agent], due: Callable[[], float], turn: Turn) -> None:
        """Let every agent take its turns until all are done."""
        self._left = len(agents)
        for agent in agents:
            self._add(agent, due())
        threads = [threading.Thread(target=self._work, args=(turn,)) for _ in range(self._thread_count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _add(self, agent: Agent | None, due: float) -> None:
        with self._lock:
            self._serial += 1
            self._todo.put((due, self._serial, agent))

    def _work(self, turn: Turn) -> None:
        while True:
            due, _, agent = self._todo.get()
            if agent is None:
                self._add(None, -1.0)  # for the next of the crew
                return
            pause = due - time.monotonic()
            self.late_seconds = max(self.late_seconds, -pause)
            time.sleep(max(0.0, pause))
            self._push(agent, turn)

    def _push(self, agent: Agent, turn: Turn) -> None:
        begun = time.monotonic()
        status = agent.push(self._server.target, self._lines_a_push)
        with self._lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.latencies.append(time.monotonic() - begun)
        after = turn(agent, status)
        if after is not None:
            self._add(agent, after)
            return
        with self._lock:
            self._left -= 1
            done = not self._left
        if done:
            self._add(None, -1.0)

    @property
    def taken(self) -> int:
        """Say how many pushes were confirmed."""
        return self.statuses.get(200, 0)

    def others(self) -> str:
        """Say what became of the rest."""
        rest = {status: count for status, count in self.statuses.items() if status != 200}
        return ", ".join(f"{count} x {status or 'nobody there'}" for status, count in rest.items()) or "none"

    def latency_ms(self, share: float) -> float:
        """Give a quantile of how long a push took."""
        return 1000 * sorted(self.latencies)[min(len(self.latencies) - 1, int(len(self.latencies) * share))]


def check(server: Server, agents: Sequence[Agent]) -> None:
    """Compare every byte of the copies, and every sample of the index, with what was confirmed."""
    lost = doubled = 0
    for agent in agents:
        copy = index.folder_of(server.home, agent.run_id) / "usage.jsonl"
        found = copy.read_bytes().splitlines(keepends=True) if agent.sent else []
        expected = list(agent.lines[: agent.at])
        lost += max(0, len(expected) - len(found))
        doubled += max(0, len(found) - len(expected))
        assert found[: len(expected)] == expected, f"{agent.run_id}: other bytes"
    print(f"  copies: {lost} lines lost, {doubled} doubled; {len(agents)} runs compared byte by byte")
    until = time.monotonic() + _INDEX_SECONDS
    while (
        missing := sum(max(0, expected - found) for found, expected in _indexed(server, agents))
    ) and time.monotonic() < until:
        time.sleep(0.5)
    pairs = list(_indexed(server, agents))
    more = sum(max(0, found - expected) for found, expected in pairs)
    print(f"  index: {missing} samples missing, {more} doubled, of {sum(expected for _, expected in pairs)}")


def _indexed(server: Server, agents: Sequence[Agent]) -> Iterator[tuple[int, int]]:
    """Count the samples of one key that the index holds, and that were confirmed, run by run."""
    os.environ["XDG_CACHE_HOME"] = str(server.home.parent / "cache")
    with index.open_index(server.home, warn=lambda _: None) as opened:
        for agent in agents:
            statistics = opened.ask(lambda store, run_id=agent.run_id: store.statistics(run_id))  # type: ignore[misc]
            found = statistics.get((KEY, ""))
            expected = sum(KEY.encode() in line for line in agent.lines[: agent.at])
            yield 0 if found is None else found.n, expected

"""Real Prometheus and VictoriaMetrics for tests: plain programs on free ports, their data in a folder of the test's."""

import json
import math
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx

TOOLS = Path(__file__).resolve().parents[2] / ".tools" / "bin"
"""Where scripts/metric-servers puts them."""

Labels = frozenset[tuple[str, str]]
Found = TypeVar("Found")


def program(name: str) -> str:
    """Find one of the programs."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{TOOLS}")
    assert found is not None, f"{name} is missing: run scripts/metric-servers"
    return found


@dataclass(frozen=True, slots=True)
class MetricServer:
    """A running server and how to ask it."""

    url: str
    write_url: str
    log: Path

    def get(self, path: str, **query: str) -> bytes:
        """Fetch a page."""
        answer = httpx.get(self.url + path, params=query, timeout=20, trust_env=False)
        assert answer.is_success, answer.text
        return answer.content

    def query(self, expression: str, at: float | None = None) -> dict[Labels, float]:
        """Ask for the value of an expression at one moment."""
        when = {} if at is None else {"time": repr(at)}
        found = json.loads(self.get("/api/v1/query", query=expression, **when))
        assert found["status"] == "success", found
        if found["data"]["resultType"] == "scalar":
            return {frozenset(): float(found["data"]["result"][1])}
        return {frozenset(one["metric"].items()): float(one["value"][1]) for one in found["data"]["result"]}

    def points(self, selector: str, at: float, seconds: int = 7200) -> dict[Labels, list[tuple[int, float]]]:
        """Ask for the raw samples of series, in milliseconds."""
        body = self.get("/api/v1/query", query=f"{selector}[{seconds}s]", time=repr(at))
        found = json.loads(body)["data"]["result"]
        return {
            frozenset(one["metric"].items()): [
                (round(moment * 1000), float(value)) for moment, value in one["values"]
            ]
            for one in found
        }

    def exported(self, selector: str) -> dict[Labels, list[tuple[int, float]]]:
        """Ask VictoriaMetrics for raw samples: its range selector looks at a grid, and it shows them late."""
        self.get("/internal/force_flush")
        found = [
            json.loads(line) for line in self.get("/api/v1/export", **{"match[]": selector}).splitlines()
        ]
        return {
            frozenset(one["metric"].items()): [
                (moment, math.nan if value is None else value)
                for moment, value in zip(one["timestamps"], one["values"], strict=True)
            ]
            for one in found
        }

    def metric(self, name: str) -> float:
        """Add up a metric that the server keeps of itself."""
        lines = self.get("/metrics").decode().splitlines()
        found = [line.rsplit(" ", 1)[1] for line in lines if line.split("{")[0].split(" ")[0] == name]
        return sum(map(float, found))


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def prometheus(
    folder: Path, scrape: Sequence[Mapping[str, object]] = (), rules: Path | None = None
) -> Iterator[MetricServer]:
    """Run a Prometheus that accepts remote write, scrapes what it is told to, and evaluates a file of rules."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "prometheus.yml"
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    files = [] if rules is None else [str(rules)]
    # JSON is YAML
    config.write_text(json.dumps({"global": every, "scrape_configs": list(scrape), "rule_files": files}))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        program("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
        "--log.level=warn",
    ]
    with _running(command, folder / "prometheus.log", f"{url}/-/ready"):
        yield MetricServer(url, f"{url}/api/v1/write", folder / "prometheus.log")


@contextmanager
def victoria_metrics(folder: Path) -> Iterator[MetricServer]:
    """Run a VictoriaMetrics."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        program("victoria-metrics"),
        f"-storageDataPath={folder / 'data'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-search.latencyOffset=0s",
        "-memory.allowedBytes=128MB",
        "-loggerLevel=WARN",
    ]
    with _running(command, folder / "victoria-metrics.log", f"{url}/health"):
        yield MetricServer(url, f"{url}/api/v1/write", folder / "victoria-metrics.log")


@contextmanager
def _running(command: list[str], log: Path, ready_url: str) -> Iterator[None]:
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_until_ready(process, ready_url, log)
            yield
        finally:
            process.kill()


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, f"not ready: {log.read_text()}"
        try:
            if httpx.get(url, timeout=5, trust_env=False).is_success:
                return
        except httpx.TransportError:
            continue
        finally:
            time.sleep(0.05)


def wait_until(condition: Callable[[], Found], seconds: float = 30.0, *, what: object = "") -> Found:
    """Wait for what another process brings about, and give it."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return found

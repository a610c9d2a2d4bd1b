"""A real `jobmeter serve` process on a free port."""

import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from support import commands

STOP_SECONDS = 30


@dataclass(slots=True)
class Served:
    """A server that answers, the token of its home, and a client that sends it."""

    home: Path
    url: str
    token: str
    process: subprocess.Popen[bytes]
    client: httpx.Client
    complaints: list[str] = field(default_factory=list)
    """What it wrote on stderr since it was ready."""
    greeting: str = ""
    """What it wrote until then."""

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it and give its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)

    def stranger(self, **more: object) -> httpx.Client:
        """Make a client without a token."""
        return httpx.Client(base_url=self.url, timeout=30, trust_env=False, **more)  # type: ignore[arg-type]


@contextmanager
def serving(
    home: Path, *arguments: str, env: Mapping[str, str] | None = None, verify: ssl.SSLContext | bool = True
) -> Iterator[Served]:
    """Start a server of a home; it is stopped, by force if need be, when the block is left."""
    process = subprocess.Popen(
        [*commands.COMMAND, "serve", "--no-browser", "--port", "0", *arguments],
        env=_environment(home, env or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        served = _ready(home, process, (env or {}).get("JOBMETER_TOKEN"), verify)
        with served.client:
            yield served
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    known = commands.environment(home, **more)
    return (
        known if "JOBMETER_TOKEN" in more else {key: known[key] for key in known if key != "JOBMETER_TOKEN"}
    )


def _ready(
    home: Path, process: subprocess.Popen[bytes], token: str | None, verify: ssl.SSLContext | bool
) -> Served:
    """Wait for the line that says where it is; it is written once requests are answered."""
    assert process.stderr is not None
    told: list[str] = []
    for line in process.stderr:
        told.append(line.decode())
        if " at http" in told[-1] or " at unix:" in told[-1]:
            break
    else:
        raise AssertionError(f"the server ended with {process.wait()}: {''.join(told)}")
    url = told[-1].rsplit(" at ", 1)[1].split()[0].rstrip("/")
    known = token or (home / "token").read_text().strip()
    path = url.removeprefix("unix:") if url.startswith("unix:") else None
    client = httpx.Client(
        base_url=url if path is None else "http://localhost",
        timeout=30,
        trust_env=False,
        headers={"authorization": f"Bearer {known}"},
        transport=httpx.HTTPTransport(verify=verify, uds=path),
    )
    served = Served(home, url, known, process, client, greeting="".join(told))
    threading.Thread(target=_listen, args=(process, served.complaints), daemon=True).start()
    return served


def _listen(process: subprocess.Popen[bytes], complaints: list[str]) -> None:
    """Keep the pipe from filling up."""
    assert process.stderr is not None
    with process.stderr:
        complaints.extend(line.decode() for line in process.stderr)

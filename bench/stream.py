#!/usr/bin/env python3
"""How soon live readers know of a sample, and what telling them costs the server.

    .venv/bin/python bench/stream.py [--readers 200] [--runs 1] [--seconds 30] [--json FILE]

Starts a real server and real `jobmeter run` processes. All readers but one read; that one is a process of its own,
stopped by SIGSTOP as soon as it is connected. The delay of a sample is from the time in its line of `usage.jsonl` to
its arrival at a reader; every sample counts at every reader.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import commands, server, streams

TICK = os.sysconf("SC_CLK_TCK")
DEAF = """
import socket, sys, time
connection = socket.socket()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
connection.connect((sys.argv[1], int(sys.argv[2])))
connection.sendall(sys.stdin.buffer.read())
print(connection.recv(12).decode(), flush=True)
time.sleep(1e6)
"""


def cpu_seconds(pid: int) -> float:
    """Say how much CPU time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mib(pid: int) -> float:
    """Say how much memory a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def stopped_reader(served: server.Served) -> subprocess.Popen[str]:
    """Connect a reader in a process of its own and stop it."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    deaf = subprocess.Popen(
        [sys.executable, "-c", DEAF, host, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert deaf.stdin is not None
    assert deaf.stdout is not None
    deaf.stdin.write(streams.request(served.url, served.token).decode())
    deaf.stdin.close()
    assert deaf.stdout.readline().strip() == "HTTP/1.1 200"
    deaf.send_signal(signal.SIGSTOP)
    return deaf


async def measure(served: server.Served, args: argparse.Namespace) -> dict[str, object]:
    """Let the jobs run while all readers listen."""
    ears = [streams.Ear() for _ in range(args.readers - 1)]
    ready = asyncio.Semaphore(0)
    tasks = [
        asyncio.ensure_future(streams.listen(served.url, served.token, ear, ready.release)) for ear in ears
    ]
    for _ in ears:
        await ready.acquire()
    pid = served.process.pid
    idle_from, idle_cpu = time.monotonic(), cpu_seconds(pid)
    await asyncio.sleep(5)
    idle = (cpu_seconds(pid) - idle_cpu) / (time.monotonic() - idle_from)
    begun, before = time.monotonic(), cpu_seconds(pid)
    command = [*commands.COMMAND, "run", "--", "sleep", str(args.seconds)]
    jobs = [
        subprocess.Popen(command, env=commands.environment(served.home), stderr=subprocess.DEVNULL)
        for _ in range(args.runs)
    ]
    for job in jobs:
        await asyncio.to_thread(job.wait)
    busy = (cpu_seconds(pid) - before) / (time.monotonic() - begun)
    await asyncio.sleep(2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return summary(served, ears, args) | {
        "server_cpu_percent_idle": round(100 * idle, 2),
        "server_cpu_percent": round(100 * busy, 2),
        "server_rss_mib": round(rss_mib(pid), 1),
    }


def summary(served: server.Served, ears: list[streams.Ear], args: argparse.Namespace) -> dict[str, object]:
    """Put the delays of all samples at all readers in order."""
    usages = list(served.home.glob("runs/*/*/usage.jsonl"))
    delays: list[float] = []
    for ear in ears:
        heard = ear.heard()
        delays += [delay for usage in usages for delay in streams.delays(usage, heard)]
    delays.sort()
    return {
        "readers": args.readers,
        "stopped": 1,
        "runs": args.runs,
        "deliveries": len(delays),
        "delay_p50_seconds": round(statistics.median(delays), 3),
        "delay_p99_seconds": round(delays[int(len(delays) * 0.99)], 3),
        "delay_max_seconds": round(delays[-1], 3),
    }


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server.serving(Path(folder, "home")) as served:
        deaf = stopped_reader(served)
        try:
            found = asyncio.run(measure(served, args))
        finally:
            deaf.kill()
            deaf.wait()
    print(json.dumps(found, indent=2))
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()

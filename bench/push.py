"""What pushing costs a server: a thousand agents, how much it takes in, and what fifty kills do to the totals.

    python bench/push.py agents [--agents 1000] [--seconds 60]
    python bench/push.py saturate [--agents 1000] [--seconds 20]
    python bench/push.py ingest [--points 1000000]
    python bench/push.py kills [--points 1000000] [--kills 50]

Agents and server share the cores of this machine. CPU is user and system time of the whole server process, indexing and
alerts included. After each part every byte of the server's copies is compared with what was sent, and every sample
of its index is counted.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import push_agents  # noqa: E402  # needs the path above
from harness.push_agents import Agent, Crew, Server  # noqa: E402  # needs the path above

INTERVAL_SECONDS = 10.0
LINES_A_PUSH = 10
POINTS_A_LINE = 32


def bench_agents(folder: Path, args: argparse.Namespace) -> None:
    """Let agents push every ten seconds for a while."""
    server = Server(folder / "home")
    agents = push_agents.make_agents(folder, args.agents, int(args.seconds) + 40)
    crew = Crew(server, threads=32, lines_a_push=LINES_A_PUSH)
    chance = random.Random(3)  # noqa: S311  # spread, not secrecy
    begun = time.monotonic() + 0.5

    def turn(_: Agent, status: int) -> float | None:
        after = time.monotonic() + (INTERVAL_SECONDS if status == 200 else 1.0)
        return after if after < begun + args.seconds else None

    before, own = server.cpu_seconds(), time.process_time()
    crew.run(agents, lambda: begun + chance.random() * INTERVAL_SECONDS, turn)
    wall, own = time.monotonic() - begun, time.process_time() - own
    server.settle()
    cpu = server.cpu_seconds() - before
    print(f"{len(agents)} agents, a push each every {INTERVAL_SECONDS:g} s, for {wall:.0f} s")
    print(f"  pushes: {crew.taken} taken, {crew.taken / wall:.0f}/s; others: {crew.others()}")
    print(f"  server: {1000 * cpu / crew.taken:.2f} ms CPU a push, {100 * cpu / wall:.0f} % of a core")
    print(
        f"  server: peak RSS {server.peak_rss_mb():.0f} MB; the agents took {100 * own / wall:.0f} % of a core"
    )
    print(f"  a push took {crew.latency_ms(0.5):.0f} ms, p99 {crew.latency_ms(0.99):.0f} ms")
    print(f"  the latest began {crew.late_seconds:.2f} s late")
    push_agents.check(server, agents)
    server.stop()


def bench_saturation(folder: Path, args: argparse.Namespace) -> None:
    """Push as fast as the server answers."""
    server = Server(folder / "home")
    agents = push_agents.make_agents(folder, args.agents, 600)
    crew = Crew(server, threads=24, lines_a_push=LINES_A_PUSH)
    begun = time.monotonic()
    before = server.cpu_seconds()
    crew.run(
        agents,
        time.monotonic,
        lambda _agent, _status: time.monotonic() if time.monotonic() < begun + args.seconds else None,
    )
    wall = time.monotonic() - begun
    behind = server.settle()
    cpu = server.cpu_seconds() - before
    print(f"as fast as {len(agents)} agents can, for {wall:.0f} s: {crew.taken / wall:.0f} pushes/s")
    print(f"  others: {crew.others()}; the index was up to it {behind:.0f} s after the last push")
    print(f"  server: {1000 * cpu / crew.taken:.2f} ms CPU a push, peak RSS {server.peak_rss_mb():.0f} MB")
    push_agents.check(server, agents)
    server.stop()


def bench_ingest(folder: Path, args: argparse.Namespace) -> None:
    """Send runs in large pieces, as after an outage."""
    server = Server(folder / "home")
    runs = 10
    agents = push_agents.make_agents(folder, runs, args.points // runs // POINTS_A_LINE)
    before = server.cpu_seconds()
    for agent in agents:
        while not agent.is_done:
            assert agent.push(server.target, 3000) == 200
    server.settle()
    cpu = server.cpu_seconds() - before
    points = runs * sum(map(push_agents.points_in, agents[0].lines))
    print(f"{points} points of {runs} runs in pieces of 3,000 lines")
    print(f"  server: {points / cpu:.0f} points a CPU-second, peak RSS {server.peak_rss_mb():.0f} MB")
    push_agents.check(server, agents)
    server.stop()


def bench_kills(folder: Path, args: argparse.Namespace) -> None:
    """Kill the server again and again while runs are pushed."""
    server = Server(folder / "home")
    runs = 40
    agents = push_agents.make_agents(folder, runs, args.points // runs // POINTS_A_LINE)
    crew = Crew(server, threads=8, lines_a_push=5)
    over = threading.Event()
    killed = [0]

    def killer() -> None:
        chance = random.Random(11)  # noqa: S311  # spread, not secrecy
        while killed[0] < args.kills and not over.wait(0.2 + chance.random()):
            server.kill()
            killed[0] += 1
            server.start(server.port)

    def turn(agent: Agent, status: int) -> float | None:
        return None if agent.is_done else time.monotonic() + (0.0 if status == 200 else 0.1)

    thread = threading.Thread(target=killer)
    thread.start()
    begun = time.monotonic()
    crew.run(agents, time.monotonic, turn)
    over.set()
    thread.join()
    server.settle()
    points = runs * sum(map(push_agents.points_in, agents[0].lines))
    print(
        f"{points} points of {runs} runs, server killed {killed[0]} times in {time.monotonic() - begun:.0f} s"
    )
    print(f"  pushes: {crew.taken} taken; others: {crew.others()}")
    push_agents.check(server, agents)
    server.stop()


PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "agents": bench_agents,
    "ingest": bench_ingest,
    "kills": bench_kills,
    "saturate": bench_saturation,
}


def main() -> None:
    """Run one part, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=50)
    args = parser.parse_args()
    for name in PARTS if args.part == "all" else [args.part]:
        with tempfile.TemporaryDirectory(prefix="jobmeter-push-") as folder:
            PARTS[name](Path(folder), args)


if __name__ == "__main__":
    main()

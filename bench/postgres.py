"""What the index costs in PostgreSQL: CPU and bytes a point, lists over 100,000 runs, a chart of a million points.

    python bench/postgres.py [--runs 100000] [--rounds 20] [--only points|lists|chart]

CPU is that of this process and of all the server's processes together, from /proc; start-up and imports aside. The
server is started here, with the settings it comes with.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from jobmeter.model.query import RunQuery  # noqa: E402  # the path is set first
from jobmeter.model.run import Run, Status  # noqa: E402
from jobmeter.model.view import Window  # noqa: E402
from jobmeter.runfolder import reader  # noqa: E402
from jobmeter.service import fields, filters  # noqa: E402
from jobmeter.stores import Batch, Store, postgres  # noqa: E402
from support import folders  # noqa: E402
from support import postgres as servers  # noqa: E402

FACETS = ("project", "status", "host", "user", "tag", "cause")
SIZE = """SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'jobmeter' AND relkind = 'r'"""
REAL_RUNS = 2_000
MULTIPLY = (
    """INSERT INTO jobmeter.run (run_id, origin, job_id, job_key, status, started_at, final, fields, brief, detail)
    SELECT run_id || '-' || copy, origin, job_id || '-' || copy, job_key, status, started_at - copy * 1e6, final,
        fields, brief, detail FROM jobmeter.run, generate_series(1, {copies}) AS copy""",
    """INSERT INTO jobmeter.listed SELECT (jsonb_populate_record(listed, jsonb_build_object(
        'run_id', run_id || '-' || copy, 'id_folded', id_folded || '-' || copy, 'job_id', job_id || '-' || copy,
        'started_at', started_at - copy * 1e6))).* FROM jobmeter.listed, generate_series(1, {copies}) AS copy""",
    """INSERT INTO jobmeter.run_tag (run_id, key, value)
    SELECT run_id || '-' || copy, key, value FROM jobmeter.run_tag, generate_series(1, {copies}) AS copy""",
)


class Meter:
    """The CPU of this process and of a server."""

    def __init__(self, server: servers.Server) -> None:
        self._server = server

    def seconds(self) -> float:
        """Add up what was used so far."""
        return time.process_time() + self._server.cpu_seconds()

    def each_ms(self, rounds: int, work: Callable[[], object]) -> float:
        """Do something so often that a hundredth of a second is little, and give the CPU of one time."""
        work()
        before = self.seconds()
        for _ in range(rounds):
            work()
        return 1000 * (self.seconds() - before) / rounds


def bench_points(server: servers.Server, url: str, processes: int) -> None:
    """Add ten hours at 1 Hz of 30 keys, a minute's windows at a time."""
    with tempfile.TemporaryDirectory() as name:
        folder = folders.write_run(Path(name), seconds=36_000, processes=processes)
        run, windows = reader.read_run(folder), list(reader.read_windows(folder))
    for piece in (60, 600, 4000):
        store = postgres.open_store(url)
        before_bytes = size(url)
        meter = Meter(server)
        before = meter.seconds()
        for begin in range(0, len(windows), piece):
            store.append(Batch(run=run, final=False, fields={}, windows=windows[begin : begin + piece]))
        store.append(Batch(run=run, final=True, fields={}))
        spent = meter.seconds() - before
        points = sum(len(series.times) for series in store.series(run.run_id))
        vacuum(url)
        grown = size(url) - before_bytes
        print(f"10 h of 1 Hz, 30 keys, {processes} processes every 10 s, {piece} windows at a time:")
        print(f"  {points / spent:12,.0f} points a second of CPU")
        print(f"  {grown / points:12.2f} bytes a point, indexes included ({points:,} points)")
        store.forget(run.run_id)
        store.close()
        vacuum(url, "VACUUM FULL")


def size(url: str) -> int:
    """Give the bytes of all tables, with their indexes and what lies outside of rows."""
    with psycopg.connect(url) as connection:
        ((found,),) = connection.execute(SIZE).fetchall()
    return int(found)


def vacuum(url: str, statement: str = "VACUUM ANALYZE") -> None:
    """Do what the server's own housekeeping does sooner or later."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def add_runs(store: Store, count: int) -> None:
    """Add runs of some projects, hosts and users."""
    for number in range(count):
        failed = number % 7 == 0
        run = Run(
            run_id=f"20261115T{number % 86_400:06d}Z-{number:06x}",
            job_id=f"job-{number}",
            status=Status.FAILED if failed else Status.COMPLETED,
            command=("python", "train.py", f"--seed={number}"),
            cwd=f"/home/user{number % 30}/project{number % 40}",
            name=f"train-{number % 500}",
            project=f"project{number % 40}",
            host=f"node{number % 200:03d}",
            user=f"user{number % 30}",
            tags={"team": f"team{number % 5}", "stage": ("dev", "prod")[number % 2]},
            exit_code=1 if failed else 0,
            started_at=1_793_000_000.0 + 60 * number,
            ended_at=1_793_000_000.0 + 60 * number + number % 5000,
            wall_seconds=float(number % 5000) + 0.25,
            summary={"proc_cputime": 1.5 * number, "proc_rss": 4096 * number},
        )
        store.append(Batch(run=run, final=True, fields=fields.of_run(run, summary=False)))


def bench_lists(server: servers.Server, url: str, count: int, rounds: int) -> None:
    """Ask about many runs: some that were added, and copies of them made by the server."""
    store = postgres.open_store(url)
    real = min(count, REAL_RUNS)
    meter = Meter(server)
    before = meter.seconds()
    add_runs(store, real)
    print(f"{1000 * (meter.seconds() - before) / real:8.2f} ms CPU to add a short run")
    with psycopg.connect(url) as connection:
        for statement in MULTIPLY:
            connection.execute(statement.format(copies=count // real - 1).encode())
    vacuum(url)
    total = store.count(RunQuery())
    print(f"{total:,} runs, {size(url) / total:,.0f} bytes each:")
    first = store.page(RunQuery(limit=50))
    deep = store.page(RunQuery(limit=50_000 if count > 60_000 else count // 2)).next

    def query(text: str | None, **more: object) -> RunQuery:
        where = None if text is None else filters.parse(text, now=1_793_536_200.0)
        return RunQuery(where=where, **more)  # type: ignore[arg-type]

    questions: dict[str, Callable[[], object]] = {
        "page of 50": lambda: store.page(query(None, limit=50)),
        "next page": lambda: store.page(query(None, limit=50, after=first.next)),
        "page behind 50,000": lambda: store.page(query(None, limit=50, after=deep)),
        "page of status=failed project=project7": lambda: store.page(
            query("status=failed project=project7", limit=50)
        ),
        "page of a word in command or name": lambda: store.page(query("train-77", limit=50)),
        "page by wall": lambda: store.page(query(None, limit=50, sort=filters_field("wall"))),
        "page by name": lambda: store.page(query(None, limit=50, sort=filters_field("name"))),
        "page of tag.team=team3": lambda: store.page(query("tag.team=team3", limit=50)),
        "page of wall>1h host=node007": lambda: store.page(query("wall>1h host=node007", limit=50)),
        f"facets {','.join(FACETS)}": lambda: store.facets(query(None), FACETS),
        "facets of status=failed": lambda: store.facets(query("status=failed"), FACETS),
        "totals of wall, cpu_seconds": lambda: store.totals(query(None), ("wall", "cpu_seconds")),
        "one run by id": lambda: store.run(first.runs[0].run_id),
    }
    for title, question in questions.items():
        print(f"  {meter.each_ms(rounds, question):8.1f} ms CPU  {title}")
    store.close()


def filters_field(name: str) -> object:
    """Name a field to sort by."""
    from jobmeter.model.query import Field

    return Field(name)


def bench_chart(server: servers.Server, url: str, rounds: int) -> None:
    """Draw a series of a million points."""
    store = postgres.open_store(url)
    run = Run(run_id="long", job_id="long", status=Status.COMPLETED, command=("train",))
    values = [round(50 + 40 * math.sin(number / 5000) + number % 17, 3) for number in range(1_000_000)]
    values[777_777] = 1e6
    for begin in range(0, len(values), 6000):
        windows = [
            Window(timestamp=float(begin + place), num_samples=1, clock={}, values={("a_x", ""): value})
            for place, value in enumerate(values[begin : begin + 6000])
        ]
        store.append(Batch(run=run, final=False, fields={}, windows=windows))
    store.append(Batch(run=run, final=True, fields={}))
    vacuum(url)
    meter = Meter(server)
    (line,) = store.stretches("long", ["a_x"], points=2000)
    assert (max(line.highs), min(line.lows), sum(line.counts)) == (max(values), min(values), len(values))
    print(f"chart of a million points, {len(line.begins)} out:")
    print(
        f"  {meter.each_ms(rounds, lambda: store.stretches('long', ['a_x'], points=2000)):8.1f} ms CPU whole"
    )
    span = (400_000.0, 405_000.0)
    zoomed = meter.each_ms(rounds, lambda: store.stretches("long", ["a_x"], points=2000, between=span))
    print(f"  {zoomed:8.1f} ms CPU 5,000 of them")
    print(f"  {meter.each_ms(rounds, lambda: store.statistics('long')):8.1f} ms CPU statistics")
    store.close()


def main() -> None:
    """Run everything on a server of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", choices=("points", "lists", "chart"), help="run one part")
    args = parser.parse_args()
    server = servers.Server()
    server.start()
    try:
        for part in ("points", "lists", "chart"):
            if args.only in (None, part):
                server.execute(f"CREATE DATABASE {part}")
                url = server.url(part)
                if part == "points":
                    bench_points(server, url, 0)
                elif part == "lists":
                    bench_lists(server, url, args.runs, args.rounds)
                else:
                    bench_chart(server, url, args.rounds)
    finally:
        server.remove()


if __name__ == "__main__":
    main()

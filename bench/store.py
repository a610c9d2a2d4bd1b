"""What the index costs: an hour of samples, a long training, bytes a point, lists of runs, and charts.

    python bench/store.py [--runs 10000] [--many 100000] [--only hour|steps|list|many|chart|ingest]

`list` asks `jobmeter` as a user does; `many`, `chart` and `ingest` ask an open store, as a server does.

CPU is user and system time of whole child processes, start-up and imports included, unless a line says
otherwise; each figure is the smallest of a few, because the machine's noise only ever adds.
"""

import argparse
import dataclasses
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmeter.model.run import Run
    from jobmeter.stores import Store

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import folders  # noqa: E402  # the builder lives with the tests

BATCH_WINDOWS = 4000
"""About what one piece of a file brings."""
PARTS = ("hour", "steps", "list", "ingest", "chart", "many")
REFRESH = "import sys; from jobmeter.service import index; index.open_index(sys.argv[1]).refresh()"

READ_STEPS = """
import sys
from pathlib import Path
from jobmeter.stores import sqlite
(table,) = sqlite.open_store(Path(sys.argv[1])).steps(sys.argv[2])
print(len(table), sum(len(column.values) for column in table.columns.values()))
"""
STEP_LINE = (
    '{"timestamp":"%s","step":%d,"rank":0,"source":"sdk",'
    '"metrics":{"loss":%r,"lr":%r,"grad_norm":%r,"accuracy":%r,"tokens_per_second":%r}}\n'
)


def child_cpu_ms(argv: list[str], environ: dict[str, str]) -> float:
    """Run a child and measure the CPU it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_process_ms(home: Path, path: Path) -> float:
    """Measure indexing alone, imports done."""
    from jobmeter.service import index

    before = time.process_time()
    with index.open_index(home, path=path) as opened:
        opened.refresh()
    return 1000 * (time.process_time() - before)


def bench_hour(folder: Path, processes: int, rounds: int) -> None:
    """Index one hour at 1 Hz of 30 keys, with some processes every 10 s."""
    home = folder / f"hour-{processes}"
    folders.write_run(home, seconds=3600, processes=processes)
    whole, alone = [], []
    for number in range(rounds):
        environ = {**os.environ, "XDG_CACHE_HOME": str(folder / f"cache-{processes}-{number}")}
        whole.append(child_cpu_ms([sys.executable, "-c", REFRESH, str(home)], environ))
        alone.append(in_process_ms(home, folder / f"hour-{processes}-{number}.db"))
    points, size = size_of(folder / f"hour-{processes}-0.db")
    print(f"index 1 h of 1 Hz, 30 keys, {processes:2} processes every 10 s:")
    print(f"  {min(alone):7.0f} ms CPU in process, {min(whole):.0f} ms as a fresh process")
    print(f"  {size / points:7.2f} bytes a point ({size:,} bytes on disk, {points:,} points)")


def size_of(path: Path) -> tuple[int, int]:
    """Count the points of an index and its bytes on disk, the log included."""
    from jobmeter.stores import sqlite

    store = sqlite.open_store(path)
    points = sum(len(series.times) for series in store.series(folders.RUN_ID))
    store.close()
    size = sum(
        file.stat().st_size for file in path.parent.glob(f"{path.name}*") if not file.name.endswith("-shm")
    )
    return points, size


def write_steps(home: Path, count: int) -> None:
    """Write a training of so many steps and five metrics, of which every bit is noise: the worst case."""
    folder = folders.write_run(home, seconds=60)
    draw = random.Random(1)  # noqa: S311  # the same numbers every time
    with (folder / "steps.jsonl").open("w") as file:
        for step in range(count):
            moment = folders.iso(folders.STARTED + step * 0.05 + draw.random() * 0.01)
            file.write(STEP_LINE % (moment, step, *(draw.random() for _ in range(5))))


def bench_steps(folder: Path, rounds: int) -> None:
    """Index a training of 100,000 steps of five metrics; read one of a million back."""
    home = folder / "steps"
    write_steps(home, 100_000)
    plain = folder / "plain"
    folders.write_run(plain, seconds=60)
    costs = [in_process_ms(home, folder / f"steps-{number}.db") for number in range(rounds)]
    in_process_ms(plain, folder / "plain.db")
    added = (folder / "steps-0.db").stat().st_size - (folder / "plain.db").stat().st_size
    print("100,000 steps of 5 metrics:")
    print(f"  {min(costs):7.0f} ms CPU to index, in process")
    print(f"  {added / 1e6:7.2f} MB in the index")
    million = folder / "million"
    write_steps(million, 1_000_000)
    in_process_ms(million, folder / "million.db")
    argv = [sys.executable, "-c", READ_STEPS, str(folder / "million.db"), folders.RUN_ID]
    read = min(child_cpu_ms(argv, dict(os.environ)) for _ in range(rounds))
    print(f"1,000,000 steps of 5 metrics: {read:.0f} ms CPU to read all back in a fresh process")


def bench_list(folder: Path, count: int, rounds: int) -> None:
    """List many indexed runs."""
    home = folder / "many"
    folders.write_many(home, count)
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache-many"), "JOBMETER_HOME": str(home)}
    first = child_cpu_ms([sys.executable, "-c", REFRESH, str(home)], environ)
    print(f"index {count:,} short runs for the first time: {first:.0f} ms CPU, {first / count:.2f} ms a run")
    questions = {
        "ls": ["ls"],
        "ls --filter 'status=failed'": ["ls", "--filter", "status=failed"],
        "ls --filter 'wait_cputime>50'": ["ls", "--filter", "wait_cputime>50"],
        "ls --sort wall": ["ls", "--sort", "wall"],
        "ls --json (all)": ["ls", "--json"],
        "show last": ["show", "last"],
    }
    for title, arguments in questions.items():
        argv = [sys.executable, "-m", "jobmeter", *arguments]
        print(f"  {min(child_cpu_ms(argv, environ) for _ in range(rounds)):7.0f} ms CPU  jobmeter {title}")


def bench_ingest(folder: Path, rounds: int) -> None:
    """Store ten hours of 1 Hz samples of 30 keys that are in memory already: the store's part of the way."""
    from jobmeter.runfolder import lines
    from jobmeter.stores import Batch, sqlite

    home = folder / "ingest"
    run_folder = folders.write_run(home, seconds=36_000)
    run = reading(folder, home)
    windows = lines.WindowReader().read((run_folder / "usage.jsonl").read_bytes().splitlines())
    costs = []
    for number in range(rounds):
        path = folder / f"ingest-{number}.db"
        store = sqlite.open_store(path)
        with store.writing(1):
            before = time.process_time()
            for begin in range(0, len(windows), BATCH_WINDOWS):
                part = windows[begin : begin + BATCH_WINDOWS]
                final = begin + BATCH_WINDOWS >= len(windows)
                store.append(Batch(run=run, final=final, fields={}, windows=part))
            costs.append(time.process_time() - before)
        store.close()
    points, size = size_of(folder / "ingest-0.db")
    print(
        f"store {points:,} points: {points / min(costs):,.0f} points a CPU-second, {size / points:.2f} bytes a point"
    )


def reading(folder: Path, home: Path) -> "Run":
    """Index a home and read its run."""
    from jobmeter.service import index

    with index.open_index(home, path=folder / f"{home.name}.db") as opened:
        opened.refresh()
        run = opened.ask(lambda store: store.run(folders.RUN_ID))
    if run is None:
        raise SystemExit("the run was not indexed")
    return run


def many_runs(store: "Store", like: "Run", count: int) -> None:
    """Add runs that differ in all that lists ask for; one in fifty belongs to a job of two recorders."""
    from jobmeter.model.run import Status
    from jobmeter.model.steps import StepSummary
    from jobmeter.service import fields
    from jobmeter.stores import Batch

    draw = random.Random(1)  # noqa: S311  # the same runs every time
    statuses = [Status.COMPLETED] * 7 + [Status.FAILED] * 2 + [Status.KILLED]
    with store.writing(1):
        for number in range(count):
            run_id = f"20260101T{number:06d}Z-{draw.randrange(1 << 24):06x}"
            run = dataclasses.replace(
                like,
                run_id=run_id,
                job_id=f"job-{number // 2}" if number % 50 < 2 else run_id,
                status=draw.choice(statuses),
                name=f"Run {draw.randrange(2000)}",
                project=f"project-{draw.randrange(40)}",
                host=f"node{draw.randrange(200):03d}",
                user=f"user{draw.randrange(60)}",
                exit_code=draw.choice((0, 0, 0, 1, 137)),
                tags={"team": f"t{draw.randrange(12)}", "exp": f"e{draw.randrange(300)}"},
                started_at=1.76e9 + number * 60,
                ended_at=1.76e9 + number * 60 + 50,
                wall_seconds=draw.random() * 9000,
                steps=StepSummary(count=100, last_step=100, steps_per_second=draw.random()),
                context={**like.context, "config": {"batch_size": 32, "lr": draw.random()}},
            )
            told = fields.of_run(run, summary=False)
            store.append(Batch(run=run, final=True, fields=told, job_key=f"key-{draw.randrange(500)}"))


def questions(store: "Store") -> dict[str, Callable[[], object]]:
    """Name what a server is asked about many runs."""
    from jobmeter.analysis import job_totals
    from jobmeter.model.query import Field, RunQuery
    from jobmeter.service import all_jobs, filters

    def where(text: str) -> RunQuery:
        return RunQuery(where=filters.parse(text, now=1.77e9), limit=50)

    names = ("project", "status", "host", "user", "tag", "cause")
    second = store.page(RunQuery(limit=50)).next
    failed = where("status=failed and project=project-7")
    return {
        "page of 50, newest first": lambda: store.page(RunQuery(limit=50)),
        "the next page": lambda: store.page(RunQuery(limit=50, after=second)),
        "page by wall": lambda: store.page(RunQuery(limit=50, sort=Field("wall"))),
        "page by name": lambda: store.page(RunQuery(limit=50, sort=Field("name"))),
        "page of status=failed and project=project-7": lambda: store.page(failed),
        "page of a word (run 17)": lambda: store.page(where("'run 17'")),
        "page of tag.exp=e7": lambda: store.page(where("tag.exp=e7")),
        "page of config.lr<0.01 (no column)": lambda: store.page(where("config.lr<0.01")),
        "six facets": lambda: store.facets(RunQuery(), names),
        "six facets of status=failed": lambda: store.facets(where("status=failed"), names),
        "summary of all jobs": lambda: job_totals.system(all_jobs.totals(store)),
        "page of 50 jobs": lambda: all_jobs.page(store, 1, 50),
    }


def bench_many(folder: Path, count: int, rounds: int) -> None:
    """Ask an open store about many runs."""
    from jobmeter.stores import sqlite

    home = folder / "like"
    folders.write_run(home, seconds=60)
    like = reading(folder, home)
    path = folder / "many.db"
    store = sqlite.open_store(path)
    before = time.process_time()
    many_runs(store, like, count)
    cost = time.process_time() - before
    print(
        f"{count:,} runs: {1000 * cost / count:.2f} ms CPU a run to add, {path.stat().st_size / count:,.0f} bytes a run"
    )
    for title, question in questions(store).items():
        print(f"  {least_ms(question, rounds):7.1f} ms CPU  {title}")
    store.close()


def least_ms(question: Callable[[], object], rounds: int) -> float:
    """Measure the CPU of a question, imports done; the first time does not count."""
    question()
    costs = []
    for _ in range(rounds):
        before = time.process_time()
        question()
        costs.append(time.process_time() - before)
    return 1000 * min(costs)


def bench_chart(folder: Path, rounds: int) -> None:
    """Draw lines of a million points, 2,000 points out."""
    from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
    from jobmeter.model.run import Run, Status
    from jobmeter.model.steps import Step
    from jobmeter.model.view import Window
    from jobmeter.stores import Batch, sqlite

    key = "wait_cputime"
    definition = Measurement(key, Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (), "CPU time")
    run = Run(run_id="r", job_id="r", status=Status.RUNNING, command=("x",), definitions={key: definition})
    draw = random.Random(1)  # noqa: S311  # the same numbers every time
    store = sqlite.open_store(folder / "chart.db")
    with store.writing(1):
        for begin in range(0, 1_000_000, 20_000):
            numbers = range(begin, begin + 20_000)
            windows = [
                Window(
                    timestamp=1.76e9 + number,
                    num_samples=1,
                    clock={"wait": (number, number + 1.0)},
                    values={
                        ("proc_rss_total", ""): draw.randrange(1 << 33),
                        (key, ""): round(draw.random(), 6),
                    },
                )
                for number in numbers
            ]
            steps = [
                Step(
                    timestamp=1.76e9 + number,
                    step=number,
                    rank=0,
                    source="sdk",
                    metrics={"loss": draw.random()},
                )
                for number in numbers
            ]
            store.append(
                Batch(run=run, final=False, fields={}, windows=windows, steps={"steps.jsonl": steps})
            )
    part = (1.76e9 + 1000.5, 1.76e9 + 100_000.5)
    charts: dict[str, Callable[[], object]] = {
        "a gauge of a million points": lambda: store.stretches("r", ["proc_rss_total"], points=2000),
        "a rate of a million points": lambda: store.stretches("r", [key], points=2000, counters=[key]),
        "a metric of a million steps": lambda: store.step_stretches("r", ["loss"], points=2000),
        "100,000 points out of the million": lambda: store.stretches(
            "r", ["proc_rss_total"], points=2000, between=part
        ),
    }
    print("charts of 2,000 points, least and largest exact:")
    for title, question in charts.items():
        print(f"  {least_ms(question, rounds):7.1f} ms CPU  {title}")
    store.close()


def main() -> None:
    """Run everything in a temporary directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=PARTS, help="run one part")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for processes in (0, 20) if args.only in (None, "hour") else ():
            bench_hour(Path(name), processes, args.rounds)
        if args.only in (None, "steps"):
            bench_steps(Path(name), args.rounds)
        if args.only in (None, "list"):
            bench_list(Path(name), args.runs, args.rounds)
        if args.only in (None, "ingest"):
            bench_ingest(Path(name), args.rounds)
        if args.only in (None, "chart"):
            bench_chart(Path(name), args.rounds)
        if args.only in (None, "many"):
            bench_many(Path(name), args.many, args.rounds)


if __name__ == "__main__":
    main()

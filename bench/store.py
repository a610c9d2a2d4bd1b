"""What the index costs: an hour of samples, a long training, bytes a point, and `jobmeter ls` over 10,000 runs.

    python bench/store.py [--runs 10000] [--only steps]

CPU is user and system time of whole child processes, start-up and imports included, unless a line says
otherwise; each figure is the smallest of a few, because the machine's noise only ever adds.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import folders  # noqa: E402  # the builder lives with the tests

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


def main() -> None:
    """Run everything in a temporary directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("hour", "steps", "list"), help="run one part")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for processes in (0, 20) if args.only in (None, "hour") else ():
            bench_hour(Path(name), processes, args.rounds)
        if args.only in (None, "steps"):
            bench_steps(Path(name), args.rounds)
        if args.only in (None, "list"):
            bench_list(Path(name), args.runs, args.rounds)


if __name__ == "__main__":
    main()

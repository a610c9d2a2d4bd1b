"""What analysis costs: a run of a million steps and a day of samples, part by part, and a report that is kept.

    python bench/analysis.py [--steps 1000000] [--hours 24] [--rounds 5] [--runs 10000]

CPU is user and system time. Parts are measured inside one fresh process per round; each figure is the smallest
of all rounds, because the machine's noise only ever adds. `jobmeter analyze` is the whole command, start-up and
imports included.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import folders  # noqa: E402  # the builder lives with the tests

STEP_LINE = (
    '{"timestamp":"%s","step":%d,"rank":0,"source":"sdk",'
    '"metrics":{"loss":%.6f,"lr":%r,"grad_norm":%.6f,"accuracy":%.4f,"tokens_per_second":%.1f}}\n'
)
PARTS = """
import json, sys, time
from importlib import import_module

spent, before = {}, time.process_time()
def done(name):
    global before
    now = time.process_time()
    spent[name] = now - before
    before = now

from jobmeter.service import analysis_view, log_errors, runs
done("import of jobmeter")
from jobmeter.analysis import engine, series
from jobmeter.analysis.case import Case
from jobmeter.analysis.detectors import DETECTORS
from jobmeter.analysis.rules import RULES
from jobmeter.analysis.verdict import court
for path in (*DETECTORS.values(), *RULES.values()):
    import_module(path)
done("import of analysis and numpy")

def look(store, run):
    done("finding the run")
    view = analysis_view.whole(store, analysis_view.facts(store, run))
    done("reading series, steps and output")
    verdict = court.decide(view)
    done("verdict")
    findings = []
    for name, path in DETECTORS.items():
        findings += import_module(path).detect(view)
        done(f"detector {name}")
    for name, path in RULES.items():
        list(import_module(path).advise(Case(view=view, verdict=verdict, findings=tuple(findings))))
        done(f"rule {name}")

runs.ask(sys.argv[1], "last", look)
print(json.dumps(spent))
"""


def write_long_run(home: Path, *, steps: int, hours: float) -> None:
    """Write a training of so many steps over so many hours, sampled once a second."""
    seconds = round(hours * 3600)
    folder = folders.write_run(home, seconds=seconds, processes=0)
    draw = random.Random(1)  # noqa: S311  # the same numbers every time
    with (folder / "steps.jsonl").open("w") as file:
        for step in range(steps):
            moment = folders.iso(folders.STARTED + step * seconds / steps)
            loss = 3 / (1 + step / 5e4) + 0.1 * draw.random()
            file.write(
                STEP_LINE % (moment, step, loss, 1e-4, draw.random(), draw.random(), 1e4 + 50 * draw.random())
            )


def child_cpu_seconds(argv: list[str], environ: dict[str, str]) -> tuple[float, str]:
    """Run a child; give its CPU and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, env=environ, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def bench_long_run(folder: Path, args: argparse.Namespace) -> None:
    """Analyse one long run: its parts, the whole command, and the command once its report is kept."""
    home = folder / "long"
    write_long_run(home, steps=args.steps, hours=args.hours)
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "JOBMETER_HOME": str(home)}
    command = [sys.executable, "-m", "jobmeter"]
    child_cpu_seconds([*command, "ls"], environ)
    rounds = [
        json.loads(child_cpu_seconds([sys.executable, "-c", PARTS, str(home)], environ)[1])
        for _ in range(args.rounds)
    ]
    least = {name: min(one[name] for one in rounds) for name in rounds[0]}
    print(f"{args.steps:,} steps of 5 metrics and {args.hours:g} h of 30 keys at 1 Hz, CPU seconds:")
    for name, seconds in least.items():
        print(f"  {seconds:7.3f}  {name}")
    inside = sum(seconds for name, seconds in least.items() if not name.startswith("import of jobmeter"))
    print(f"  {inside:7.3f}  all of analysis")
    bench_command(folder, command, environ, args.rounds)


def bench_command(folder: Path, command: list[str], environ: dict[str, str], rounds: int) -> None:
    """Measure the command while its report is not kept, and once it is."""
    (index,) = folder.glob("cache/**/index.db")
    fresh = []
    for _ in range(rounds):
        forget_reports(index)
        fresh.append(child_cpu_seconds([*command, "analyze", "last"], environ)[0])
    kept = [child_cpu_seconds([*command, "analyze", "last"], environ)[0] for _ in range(rounds)]
    print(f"  {min(fresh):7.3f}  jobmeter analyze, the first time")
    print(f"  {min(kept):7.3f}  jobmeter analyze, its report kept")


def forget_reports(index: Path) -> None:
    """Throw the kept reports away."""
    import apsw

    from jobmeter.stores import checksums

    connection = apsw.Connection(str(index), vfs=checksums.vfs())
    connection.execute("DELETE FROM report")
    connection.close()


INDEX = """
import sys
from jobmeter.service import index
with index.open_index(sys.argv[1]) as opened:
    while opened.refresh().unsearched:
        continue
"""
SUMMARY = """
import sys, time
from jobmeter.compat import analytics
for _ in range(2):
    before = time.process_time()
    analytics.calculate_system_analytics(page=1, home=sys.argv[1])
    print(time.process_time() - before)
"""


def write_trainings(home: Path, count: int) -> None:
    """Write so many ended trainings of a few steps."""
    for number, run_id in enumerate(folders.write_many(home, count)):
        started = folders.STARTED + number * 600
        lines = [
            STEP_LINE % (folders.iso(started + step), step, 1.0 / (1 + step), 1e-4, 1.0, 0.5, 100.0)
            for step in range(5)
        ]
        (folders.folder_of(home, run_id) / "steps.jsonl").write_text("".join(lines))


def bench_summary(folder: Path, args: argparse.Namespace) -> None:
    """Sum many trainings up: the first time in a process, and again while nothing changed."""
    home = folder / "many"
    write_trainings(home, args.runs)
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache-many"), "JOBMETER_HOME": str(home)}
    child_cpu_seconds([sys.executable, "-c", INDEX, str(home)], environ)
    rounds = [
        [
            float(line)
            for line in child_cpu_seconds([sys.executable, "-c", SUMMARY, str(home)], environ)[1].split()
        ]
        for _ in range(args.rounds)
    ]
    print(f"summary over {args.runs:,} trainings, CPU seconds:")
    print(f"  {min(one[0] for one in rounds):7.3f}  the first time")
    print(f"  {min(one[1] for one in rounds):7.3f}  again, nothing changed")


def main() -> None:
    """Run everything in a temporary directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--only", choices=("long", "summary"), help="one of the two parts")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if args.only != "summary":
            bench_long_run(Path(name), args)
        if args.only != "long":
            bench_summary(Path(name), args)


if __name__ == "__main__":
    main()

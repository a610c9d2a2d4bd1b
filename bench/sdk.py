#!/usr/bin/env python3
"""Compare what logging a training costs: jobmeter beside trackio, MLflow, W&B offline and tensorboardX, in one go.

    python3 bench/sdk.py [--rounds N] [--tools jobmeter,trackio] [--json FILE]

Run as root on Linux. Trackers are installed at fixed versions into `bench/.envs`. Every measurement is a fresh
process (`workloads/tracker.py`) in cgroups of its own, so that threads, helpers and recorders are counted too.
Every round measures every tool once, in an order shuffled anew. A step is five numbers. Tables come out:

1. the caller's CPU for one `log`, back to back and between steps of 5 ms, and what that slows the step by;
2. import + init, memory added to the training process, threads in it;
3. 100,000 steps until they are durable: CPU of everything, bytes on disk. The slow ones log fewer, and the rest
   is extrapolated along a line: marked with ~;
4. 1,000,000 steps read back: jobmeter really, the others along a line from what table 3 left;
5. jobmeter beside the bars it is held to.

jobmeter's bytes on disk are those of its store; the plain run folder stands beside them. Judge by CPU: wall
times on a shared machine mean little.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from harness import cgroups, envs, launch, rows, tables

TRACKER = Path(__file__).resolve().parent / "workloads" / "tracker.py"
TOOLS = ("jobmeter", "trackio", "tensorboardX", "wandb", "mlflow")
CALLS = {"jobmeter": 20_000, "mlflow": 1_000}
"""Calls of a burst where 3,000 are too few or too many."""
BULK = {"jobmeter": 100_000, "trackio": 100_000, "tensorboardX": 10_000, "wandb": 10_000, "mlflow": 500}
STEPS = 100_000
MANY_STEPS = 1_000_000
READABLE = ("jobmeter", "trackio", "tensorboardX", "mlflow")


@dataclass(frozen=True, slots=True)
class Taken:
    """One measurement of one tool."""

    tool: str
    measurement: str
    count: int
    values: dict[str, float]
    all_cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Bar:
    """What jobmeter promises, beside the best that another tool reached on the machine where the bar was set.

    On a slower machine both grow: `most / peer` is the bar as a ratio, which travels.
    """

    what: str
    most: float
    peer: float
    unit: str
    measurement: str
    key: str


BARS = (
    Bar("log, burst, median", 5.0, 23.0, "µs", "burst", "median_us"),
    Bar("log, burst, p99", 20.0, 105.0, "µs", "burst", "p99_us"),
    Bar("log inside a 5 ms step", 15.0, 87.0, "µs", "step", "median_us"),
    Bar("slowdown of that step", 0.3, 1.8, "%", "step", "slowdown_percent"),
    Bar("import + init", 0.15, 0.16, "s CPU", "startup", "cpu_seconds"),
    Bar("memory added", 10.0, 20.0, "MB", "startup", "rss_megabytes"),
    Bar("100,000 steps until durable", 1.5, 6.4, "s CPU", "bulk", "cpu_seconds"),
    Bar("100,000 steps in the store", 4.0, 23.0, "MB", "bulk", "disk_megabytes"),
    Bar("1,000,000 steps read back", 0.8, 5.9, "s CPU", "read", "cpu_seconds_million"),
)


def environment(folder: Path) -> dict[str, str]:
    """Give every tracker a home below `folder` and nobody to call."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "JOBMETER_HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TRACKIO_DIR": str(folder / "trackio"),
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_DIR": str(folder),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


def interpreter(tool: str) -> str:
    """Give the Python of a tool's environment."""
    return str((envs.jobmeter_whole() if tool == "jobmeter" else envs.peer(tool)) / "python")


def take(tool: str, measurement: str, count: int, folder: Path) -> Taken:
    """Measure once, in a process and cgroups of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    argv = [interpreter(tool), str(TRACKER), tool, measurement, str(count), str(folder)]
    task = launch.Task(argv=argv, folder=folder / "streams", environment=environment(folder))
    outcome = launch.run(task, f"jobmeter-sdk-{os.getpid()}")
    out = (folder / "streams" / "stdout").read_text().splitlines()
    if outcome.exit_code or not out:
        complaint = (folder / "streams" / "stderr").read_text()[-2000:]
        raise envs.InstallError(f"{tool} {measurement} failed: {complaint}")
    return Taken(tool, measurement, count, json.loads(out[-1]), outcome.all_cpu_seconds)


def disk_bytes(folder: Path) -> int:
    """Add up what lies below a folder, as blocks; sparse files count what they hold."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def calls(args: argparse.Namespace, scratch: Path) -> list[Taken]:
    """Measure start-up, bursts and steps, interleaved."""
    taken: list[Taken] = []
    for number in range(args.rounds):
        plan = [(tool, kind) for tool in args.tools for kind in ("startup", "burst", "step")]
        random.Random(number).shuffle(plan)  # noqa: S311  # an order, not a secret
        for tool, kind in plan:
            count = {"startup": 100, "burst": CALLS.get(tool, 3000), "step": args.steps}[kind]
            folder = scratch / f"{tool}-{kind}-{number}"
            taken.append(take(tool, kind, count, folder))
            shutil.rmtree(folder)
        print(
            f"bench: round {number + 1} of {args.rounds} done, load {os.getloadavg()[0]:.1f}", file=sys.stderr
        )
    return taken


def bulk(tool: str, scratch: Path) -> list[Taken]:
    """Log many steps, read them back, and put both on the scale of the table."""
    count = BULK[tool]
    few = take(tool, "bulk", 10, scratch / f"{tool}-few")
    folder = scratch / f"{tool}-bulk"
    many = take(tool, "bulk", count, folder)
    each = (many.all_cpu_seconds - few.all_cpu_seconds) / (count - 10)
    read = take(tool, "read", count, folder) if tool in READABLE else None
    if tool == "jobmeter":
        # the first reading builds the store
        stored = disk_bytes(folder / "cache")
        plain = disk_bytes(folder / "home")
    else:
        bare = disk_bytes(scratch / f"{tool}-few")
        stored = plain = round((disk_bytes(folder) - bare) * (STEPS / count) + bare)
    values = {
        "cpu_seconds": few.all_cpu_seconds + each * (STEPS - 10),
        "disk_megabytes": stored / 1e6,
        "folder_megabytes": plain / 1e6,
        "counted": count,
    }
    taken = [Taken(tool, "bulk", count, values, many.all_cpu_seconds)]
    if read is not None and tool != "jobmeter":
        taken.append(_read_along_a_line(tool, read, scratch))
    shutil.rmtree(folder)
    return taken


def _read_along_a_line(tool: str, read: Taken, scratch: Path) -> Taken:
    few = take(tool, "read", 10, scratch / f"{tool}-few")
    each = (read.values["cpu_seconds"] - few.values["cpu_seconds"]) / (read.count - 10)
    seconds = few.values["cpu_seconds"] + each * (MANY_STEPS - 10)
    # where so few steps cost less than the noise of starting up, a line through both says nothing
    values = {"cpu_seconds_million": seconds} if each > 0 else {}
    return Taken(tool, "read", read.count, values, read.all_cpu_seconds)


def read_a_million(scratch: Path, rounds: int) -> list[Taken]:
    """Log a million steps with jobmeter, index them, and read them back in fresh processes."""
    folder = scratch / "jobmeter-million"
    take("jobmeter", "bulk", MANY_STEPS, folder)
    indexing = take("jobmeter", "read", MANY_STEPS, folder)
    taken = []
    for _ in range(rounds):
        found = take("jobmeter", "read", MANY_STEPS, folder)
        values = {
            "cpu_seconds_million": found.values["cpu_seconds"],
            "indexing_cpu_seconds": indexing.values["cpu_seconds"] - found.values["cpu_seconds"],
        }
        taken.append(Taken("jobmeter", "read", MANY_STEPS, values, found.all_cpu_seconds))
    shutil.rmtree(folder)
    return taken


def values_of(taken: Sequence[Taken], tool: str, measurement: str, key: str) -> list[float]:
    """Collect one figure of one tool over all rounds."""
    if key == "rss_megabytes":
        return [value / 1e6 for value in values_of(taken, tool, measurement, "rss_bytes")]
    return [
        one.values[key]
        for one in taken
        if one.tool == tool and one.measurement == measurement and key in one.values
    ]


def calls_table(taken: Sequence[Taken], tools: Sequence[str]) -> str:
    """Show what one call costs its caller."""
    ours = tables.middle(values_of(taken, "jobmeter", "step", "median_us"))
    lines = []
    for tool in tools:
        burst, p99 = (values_of(taken, tool, "burst", key) for key in ("median_us", "p99_us"))
        inside, slow = (values_of(taken, tool, "step", key) for key in ("median_us", "slowdown_percent"))
        lines.append(
            [
                tool,
                tables.spread(burst, ".1f"),
                tables.spread(p99, ".1f"),
                tables.spread(inside, ".1f"),
                tables.spread(slow, ".2f"),
                tables.ratio(tables.middle(inside), ours),
            ]
        )
    header = ["tool", "burst µs", "burst p99 µs", "in a step µs", "slowdown %", "x jobmeter in a step"]
    return tables.table("CPU of the caller for one log of 5 numbers", header, lines)


def startup_table(taken: Sequence[Taken], tools: Sequence[str]) -> str:
    """Show what beginning costs."""
    lines = [
        [
            tool,
            tables.spread(values_of(taken, tool, "startup", "cpu_seconds"), ".3f"),
            tables.spread(values_of(taken, tool, "startup", "wall_seconds"), ".3f"),
            tables.spread(values_of(taken, tool, "startup", "rss_megabytes"), ".1f"),
            tables.spread(values_of(taken, tool, "startup", "threads"), ".0f"),
        ]
        for tool in tools
    ]
    header = ["tool", "import + init CPU s", "wall s", "memory added MB", "threads"]
    return tables.table("Start-up, and the training process after 100 steps", header, lines)


def bulk_table(taken: Sequence[Taken], tools: Sequence[str]) -> str:
    """Show what many steps cost everybody involved."""
    ours = tables.middle(values_of(taken, "jobmeter", "bulk", "cpu_seconds"))
    lines = []
    for tool in tools:
        cpu = values_of(taken, tool, "bulk", "cpu_seconds")
        about = "" if BULK[tool] == STEPS else "~"
        read = values_of(taken, tool, "read", "cpu_seconds_million")
        lines.append(
            [
                tool,
                about + tables.spread(cpu, ".2f"),
                tables.ratio(tables.middle(cpu), ours),
                about + tables.spread(values_of(taken, tool, "bulk", "disk_megabytes"), ".1f"),
                about + tables.spread(values_of(taken, tool, "bulk", "folder_megabytes"), ".1f"),
                ("" if tool == "jobmeter" else "~") + tables.spread(read, ".2f") if read else "-",
            ]
        )
    header = ["tool", "100,000 steps CPU s", "x jobmeter", "store MB", "all files MB", "read 1,000,000 CPU s"]
    return tables.table("Many steps: until durable, on disk, read back", header, lines)


def bars_table(taken: Sequence[Taken]) -> tuple[str, bool]:
    """Hold jobmeter's medians against the bars."""
    lines, passed = [], True
    for bar in BARS:
        found = values_of(taken, "jobmeter", bar.measurement, bar.key)
        others = [
            median(values)
            for tool in TOOLS[1:]
            if (values := values_of(taken, tool, bar.measurement, bar.key))
        ]
        kept = bool(found) and median(found) <= bar.most
        passed = passed and kept
        best = min(others) if others else None
        lines.append(
            [
                bar.what,
                tables.spread(found, ".3g"),
                f"{bar.most:g}",
                bar.unit,
                "kept" if kept else "MISSED",
                format(best, ".3g") if best is not None else "-",
                tables.ratio(tables.middle(found), best),
                f"{bar.most / bar.peer:.3f}",
            ]
        )
    header = [
        "what",
        "jobmeter",
        "bar",
        "unit",
        "",
        "best of the others",
        "x best of the others",
        "bar x its best",
    ]
    return tables.table("jobmeter and its bars", header, lines), passed


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="of start-up, bursts and steps (%(default)s)")
    parser.add_argument(
        "--steps", type=int, default=400, help="steps of 5 ms per tool and round (%(default)s)"
    )
    parser.add_argument(
        "--tools", type=lambda text: text.split(","), default=list(TOOLS), help="comma-separated"
    )
    parser.add_argument("--json", metavar="FILE", help="also write every single measurement")
    args = parser.parse_args(argv)
    unknown = [tool for tool in args.tools if tool not in TOOLS]
    if unknown:
        parser.error(f"unknown tool {', '.join(unknown)}; use {', '.join(TOOLS)}")
    return args


def main(argv: list[str]) -> int:
    """Install, measure, print; 1 when a bar is missed."""
    args = parse(argv)
    scratch = Path(tempfile.mkdtemp(prefix="jobmeter-sdk-", dir="/var/tmp"))
    before = rows.machine(args.tools)
    try:
        for tool in args.tools:
            interpreter(tool)
        taken = calls(args, scratch)
        for tool in args.tools:
            taken += bulk(tool, scratch)
        if "jobmeter" in args.tools:
            taken += read_a_million(scratch, args.rounds)
    except (cgroups.NoTruthError, envs.InstallError) as error:
        print(f"sdk: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    bars, passed = bars_table(taken)
    print(
        calls_table(taken, args.tools),
        startup_table(taken, args.tools),
        bulk_table(taken, args.tools),
        bars,
        sep="\n",
    )
    if args.json:
        state = {"before": before, "after": rows.machine(args.tools), "taken": [asdict(one) for one in taken]}
        Path(args.json).write_text(json.dumps(state, indent=1))
    return 0 if passed or "jobmeter" not in args.tools else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

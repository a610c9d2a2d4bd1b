#!/usr/bin/env python3
"""What does recording cost? jobmeter beside con-duct, in the same run of this command.

    python3 bench/cost.py [--rounds N] [--starts N] [--idle-seconds N] [--json FILE]

1. CPU per sample with 10 and with 200 processes: (a run sampled every 0.1 s - the same run not sampled) /
   samples, so that start-up and exit fall out;
2. start-up: CPU of watching `true` over bare `true`, interleaved;
3. footprint of the recorder (VmHWM and PSS of its process) and the CPU of an idle job with its output
   captured (`sleep`), extrapolated to an hour.

Run as root: the CPU is the kernel's count of cgroups around the tool alone (`harness/arena.py`).
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from harness import catalogue, cgroups, envs, launch, rows, tables, tools
from harness.catalogue import Judged, Workload
from harness.footprint import Footprint

SAMPLED, UNSAMPLED = ("0.1", None), ("3600", "3600")
"""Sample and report interval; None keeps the tool's own report interval."""
PROCESS_COUNTS = (10, 200)
COMPARED = ("jobmeter", "con-duct")


@dataclass(frozen=True, slots=True)
class Sampled:
    """One run of idle processes, watched."""

    tool: str
    processes: int
    sampled: bool
    tool_cpu_seconds: float
    samples: int


@dataclass(frozen=True, slots=True)
class Idle:
    """One idle job, watched for a while."""

    tool: str
    seconds: float
    tool_cpu_seconds: float
    footprint: Footprint | None


def watch(
    tool: str, program: Path, intervals: tuple[str, str | None], command: list[str], folder: Path
) -> list[str]:
    """Make the command line that samples at the given pace and captures all output."""
    sample, report = intervals
    pace = ["--sample-interval", sample, *(["--report-interval", report] if report else [])]
    if tool == "jobmeter":
        home = ["--home", str(folder / "home")]
        return [str(program), "run", "--quiet", "--capture", "all", *home, *pace, "--", *command]
    return [str(program), "run", "--log-level", "NONE", "-p", f"{folder}/duct_", *pace, *command]


def samples_taken(tool: str, folder: Path) -> int:
    """Ask the tool's own record how often it sampled."""
    if tool == "con-duct":
        return int(json.loads((folder / "duct_info.json").read_text())["execution_summary"]["num_samples"])
    (record,) = (folder / "home" / "runs").glob("*/*/run.jsonl")
    merged: dict[str, object] = {}
    for line in record.read_text().splitlines():
        merged.update(json.loads(line))
    return int(str(merged["samples"]))


def start(
    argv: list[str], folder: Path, tool: str, *, look: bool = False
) -> tuple[launch.Outcome, Footprint | None]:
    """Run one command line in an arena, looking at the recorder's memory if asked."""
    folder.mkdir()
    environment = {**os.environ, "HOME": str(folder)}
    task = launch.Task(
        argv=argv, folder=folder, environment=environment, own_cgroup=tool == "jobmeter", look=look
    )
    outcome = launch.run(task, f"truth-{os.getpid()}")
    if outcome.exit_code != 0:
        raise envs.InstallError(
            f"{tool} ended with {outcome.exit_code}: {(folder / 'stderr').read_text()[-500:]}"
        )
    return outcome, outcome.footprint


def sample_costs(programs: dict[str, Path], args: argparse.Namespace, scratch: Path) -> list[Sampled]:
    """Watch idle processes with and without sampling, in shuffled rounds."""
    taken: list[Sampled] = []
    for number in range(args.rounds):
        plan = [
            (tool, count, pace)
            for tool in COMPARED
            for count in PROCESS_COUNTS
            for pace in (SAMPLED, UNSAMPLED)
        ]
        random.Random(number).shuffle(plan)  # noqa: S311  # an order, not a secret
        for tool, count, pace in plan:
            folder = scratch / "sampled"
            script = ("idle.py", "--processes", str(count), "--seconds", str(args.sampled_seconds))
            command = Workload("idle", "", script, Judged.CPU).command()
            outcome, _ = start(watch(tool, programs[tool], pace, command, folder), folder, tool)
            samples = samples_taken(tool, folder)
            taken.append(Sampled(tool, count, pace is SAMPLED, outcome.tool_cpu_seconds, samples))
            shutil.rmtree(folder)
        print(f"cost: round {number + 1} of {args.rounds} done", file=sys.stderr)
    return taken


def per_sample_ms(taken: list[Sampled], tool: str, count: int) -> list[float]:
    """Pair the sampled and unsampled runs of each round."""
    here = [run for run in taken if (run.tool, run.processes) == (tool, count)]
    pairs = zip([run for run in here if run.sampled], [run for run in here if not run.sampled], strict=True)
    return [
        1000 * (on.tool_cpu_seconds - off.tool_cpu_seconds) / (on.samples - off.samples) for on, off in pairs
    ]


def sample_table(taken: list[Sampled]) -> str:
    """Show the CPU of one sample."""
    lines = []
    for count in PROCESS_COUNTS:
        costs = {tool: per_sample_ms(taken, tool, count) for tool in COMPARED}
        cells = [tables.spread(costs[tool], ".3f") for tool in COMPARED]
        ratio = tables.ratio(tables.middle(costs["jobmeter"]), tables.middle(costs["con-duct"]))
        lines.append([str(count), *cells, ratio])
    header = ["processes", "jobmeter ms", "con-duct ms", "jobmeter x con-duct"]
    return tables.table("CPU per sample at 0.1 s: median (range)", header, lines)


def start_costs(args: argparse.Namespace, scratch: Path) -> list[rows.Row]:
    """Watch `true` again and again, the tools in turn."""
    ready = [tools.prepare(name, scratch) for name in ("bare", *COMPARED)]
    taken: list[rows.Row] = []
    for number in range(args.starts):
        for tool in ready:
            folder = scratch / f"start-{number}-{tool.name}"
            taken.append(rows.measure(tool, catalogue.ALL["true"], folder))
            shutil.rmtree(folder)
    return taken


def idle_costs(programs: dict[str, Path], args: argparse.Namespace, scratch: Path) -> list[Idle]:
    """Watch `sleep` at the default pace; `true` first, to know what start and end cost."""
    taken: list[Idle] = []
    for tool in COMPARED:
        for seconds in (1, args.idle_seconds):
            folder = scratch / "idle"
            command = ["/bin/sh", str(catalogue.WORKLOADS / "join.sh"), "/bin/sleep", str(seconds)]
            argv = watch(tool, programs[tool], ("1", None), command, folder)
            outcome, footprint = start(argv, folder, tool, look=True)
            taken.append(Idle(tool, seconds, outcome.tool_cpu_seconds, footprint))
            shutil.rmtree(folder)
    return taken


def idle_table(taken: list[Idle]) -> str:
    """Extrapolate an idle hour and show the recorder's memory."""
    lines = []
    for tool in COMPARED:
        short, long = [run for run in taken if run.tool == tool]
        rate = (long.tool_cpu_seconds - short.tool_cpu_seconds) / (long.seconds - short.seconds)
        hour = short.tool_cpu_seconds + rate * (3600 - short.seconds)
        memory = ["-", "-"]
        if long.footprint:
            memory = [f"{long.footprint.peak_rss_bytes / 1e6:.1f}", f"{long.footprint.pss_bytes / 1e6:.1f}"]
        lines.append([tool, f"{long.seconds:.0f}", f"{long.tool_cpu_seconds:.3f}", f"{hour:.2f}", *memory])
    header = ["tool", "seconds", "CPU s", "CPU s in an hour", "VmHWM MB", "PSS MB"]
    return tables.table("An idle job (`sleep`), output captured", header, lines)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="of the cost per sample (%(default)s)")
    parser.add_argument(
        "--sampled-seconds", type=float, default=8.0, help="length of such a run (%(default)s)"
    )
    parser.add_argument("--starts", type=int, default=25, help="of `true` under each tool (%(default)s)")
    parser.add_argument(
        "--idle-seconds", type=float, default=120.0, help="length of the idle job (%(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write every single run")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Install, measure, print."""
    args = parse(argv)
    scratch = Path(tempfile.mkdtemp(prefix="jobmeter-cost-", dir="/var/tmp"))
    scratch.chmod(0o755)
    before = rows.machine(list(COMPARED))
    try:
        programs = {"jobmeter": envs.jobmeter() / "jobmeter", "con-duct": envs.peer("con-duct") / "con-duct"}
        starts = start_costs(args, scratch)
        sampled = sample_costs(programs, args, scratch)
        idle = idle_costs(programs, args, scratch)
    except (cgroups.NoTruthError, envs.InstallError) as error:
        print(f"cost: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(sample_table(sampled), rows.start_table(starts, ["bare", *COMPARED]), idle_table(idle), sep="\n")
    if args.json:
        runs = {"starts": [asdict(run) for run in starts], "sampled": [asdict(run) for run in sampled]}
        state = {
            "before": before,
            "after": rows.machine(list(COMPARED)),
            **runs,
            "idle": [asdict(run) for run in idle],
        }
        Path(args.json).write_text(json.dumps(state, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

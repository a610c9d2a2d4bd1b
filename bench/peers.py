#!/usr/bin/env python3
"""Compare jobmeter with its peers on the same jobs, in one go: who is right, and what does watching cost?

    python3 bench/peers.py [--rounds N] [--workloads w1,w3] [--tools jobmeter,con-duct] [--json FILE]

Run as root on Linux, on a hybrid or a pure cgroup version 2 machine. Peers are installed into `bench/.envs`.
Every tool watches every workload once a round, in an order shuffled anew each round. Tables come out:

1. error against the kernel's own count, in percent: CPU-seconds, memory peak or bytes written, whichever the
   workload is about. Memory truth is what the cgroup was charged minus file cache, at its highest. Beside it,
   whether the memory interval that jobmeter states holds the truth;
2. the CPU-seconds the tool itself and its helpers used while watching, and their ratio to con-duct's;
3. start-up: the CPU time of watching `true`, over that of bare `true`.

How truth is found is told in `harness/arena.py`. Judge by CPU: wall times on a shared machine mean little.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from harness import catalogue, cgroups, envs, rows, tables, tools
from harness.catalogue import Judged
from harness.rows import Row

STARTS_PER_ROUND = 10
ORACLE_SLACK = 0.005
"""The truth is looked at every 5 ms, so its highest moment can be missed by this share."""


def measure_all(args: argparse.Namespace, scratch: Path) -> list[Row]:
    """Run every round, each in its own order."""
    ready = [tools.prepare(name, scratch) for name in args.tools]
    taken: list[Row] = []
    for number in range(args.rounds):
        plan = [
            (tool, catalogue.ALL[name])
            for tool in ready
            for name in args.workloads
            for _ in range(STARTS_PER_ROUND if name == "true" else 1)
        ]
        random.Random(number).shuffle(plan)  # noqa: S311  # an order, not a secret
        for index, (tool, workload) in enumerate(plan):
            folder = scratch / f"run-{number}-{index}"
            taken.append(rows.measure(tool, workload, folder))
            shutil.rmtree(folder)
        print(
            f"bench: round {number + 1} of {args.rounds} done, load {os.getloadavg()[0]:.1f}", file=sys.stderr
        )
    return taken


def truth_table(taken: list[Row], workloads: list[str]) -> str:
    """Show what the bare workloads used, and how far their own account of it is off."""
    lines = []
    for name in workloads:
        bare = [row for row in taken if row.workload == name and row.tool == "bare"]
        cpu = [
            row.outcome.job_cpu_seconds if row.self_report else row.outcome.all_cpu_seconds for row in bare
        ]
        told = [
            100 * (row.self_report["cpu_seconds"] / row.outcome.job_cpu_seconds - 1)
            for row in bare
            if row.self_report
        ]
        peak = [row.outcome.memory.needed_bytes / 2**20 for row in bare if row.outcome.memory]
        wall = [row.outcome.wall_seconds for row in bare]
        cells = [
            tables.spread(cpu, ".3f"),
            tables.spread(told, "+.1f"),
            tables.spread(peak, ".1f"),
            tables.spread(wall, ".2f"),
        ]
        lines.append([name, catalogue.ALL[name].about, *cells])
    header = ["workload", "what", "CPU s", "own account %", "peak MiB", "wall s"]
    return tables.table("Truth (bare runs)", header, lines)


def error_table(taken: list[Row], names: list[str], workloads: list[str]) -> str:
    """Show how wrong each tool is."""
    judged = [catalogue.ALL[name] for name in workloads if catalogue.ALL[name].judged is not Judged.NOTHING]
    lines = []
    for tool in names:
        if tool == "bare":
            continue
        line = [tool]
        for workload in judged:
            errors = [
                row.error_percent(workload.judged)
                for row in taken
                if (row.tool, row.workload) == (tool, workload.name)
            ]
            line.append(tables.spread([error for error in errors if error is not None], "+.1f"))
        lines.append(line)
    header = ["tool", *(f"{workload.name} {workload.judged.value}" for workload in judged)]
    return tables.table("Error against the kernel, percent: median (range)", header, lines)


def interval_table(taken: list[Row], workloads: list[str]) -> str:
    """Show whether the memory interval jobmeter states holds the truth."""
    lines = []
    for row in taken:
        claim, memory = row.claim, row.outcome.memory
        if memory is None or claim.memory_low_bytes is None or claim.memory_high_bytes is None:
            continue
        slack = memory.needed_bytes * ORACLE_SLACK
        holds = claim.memory_low_bytes - slack <= memory.needed_bytes <= claim.memory_high_bytes + slack
        sizes = [claim.memory_low_bytes, memory.needed_bytes, claim.memory_high_bytes]
        lines.append(
            [row.tool, row.workload, *(f"{size / 2**20:.1f}" for size in sizes), "yes" if holds else "NO"]
        )
    if not lines:
        return ""
    lines.sort(key=lambda line: (line[0], workloads.index(line[1])))
    return tables.table(
        "Stated memory intervals, MiB", ["tool", "workload", "low", "truth", "high", "holds"], lines
    )


def _own_cpu(taken: list[Row], tool: str, workload: str) -> list[float]:
    return [row.outcome.tool_cpu_seconds for row in taken if (row.tool, row.workload) == (tool, workload)]


def cost_table(taken: list[Row], names: list[str], workloads: list[str]) -> str:
    """Show what watching cost."""
    scripted = [name for name in workloads if name != "true"]
    lines = [
        [tool, *(tables.spread(_own_cpu(taken, tool, workload), ".3f") for workload in scripted)]
        for tool in names
    ]
    return tables.table("The tool's own CPU seconds: median (range)", ["tool", *scripted], lines)


def ratio_table(taken: list[Row], names: list[str], workloads: list[str]) -> str:
    """Show what watching cost as multiples of con-duct's cost."""
    if "con-duct" not in names:
        return ""
    scripted = [name for name in workloads if name != "true"]
    middles = {
        (tool, workload): tables.middle(_own_cpu(taken, tool, workload))
        for tool in names
        for workload in scripted
    }
    lines = [
        [
            tool,
            *(tables.ratio(middles[tool, workload], middles["con-duct", workload]) for workload in scripted),
        ]
        for tool in names
    ]
    return tables.table("The same as a multiple of con-duct's: ratio of medians", ["tool", *scripted], lines)


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line; names are checked against what exists."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workloads", default=",".join(catalogue.ALL), help="comma-separated: %(default)s")
    parser.add_argument("--tools", default=",".join(tools.names()), help="comma-separated: %(default)s")
    parser.add_argument("--json", metavar="FILE", help="also write every single run and the machine's state")
    args = parser.parse_args(argv)
    for kind, known in (("workloads", set(catalogue.ALL)), ("tools", set(tools.names()))):
        chosen = getattr(args, kind).split(",")
        unknown = sorted(set(chosen) - known)
        if unknown:
            parser.error(f"unknown {kind}: {', '.join(unknown)}; use some of {', '.join(sorted(known))}")
        setattr(args, kind, chosen)
    return args


def main(argv: list[str]) -> int:
    """Install, measure, print."""
    args = parse(argv)
    # not /tmp, which may be memory: bytes written there never reach a device
    scratch = Path(tempfile.mkdtemp(prefix="jobmeter-bench-", dir="/var/tmp"))
    scratch.chmod(0o755)
    before = rows.machine(args.tools)
    try:
        taken = measure_all(args, scratch)
    except (cgroups.NoTruthError, envs.InstallError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    parts = [
        truth_table(taken, args.workloads),
        error_table(taken, args.tools, args.workloads),
        interval_table(taken, args.workloads),
        cost_table(taken, args.tools, args.workloads),
        ratio_table(taken, args.tools, args.workloads),
        rows.start_table(taken, args.tools),
    ]
    print("\n".join(part for part in parts if part))
    if args.json:
        state = {"before": before, "after": rows.machine(args.tools), "runs": [asdict(row) for row in taken]}
        Path(args.json).write_text(json.dumps(state, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

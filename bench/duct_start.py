#!/usr/bin/env python3
"""What does it cost to change one word? `jobmeter duct -q true` beside `con-duct run -q true`, in turn.

    python3 bench/duct_start.py [--starts N]

The CPU is what the kernel accounts for the command and all processes it waited for. What can mislead: a busy
machine makes both slower, so look at the minimum and at the ratio.
"""

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness import envs, tables


@dataclass(frozen=True, slots=True)
class Start:
    """One start and end of a tool."""

    cpu_ms: float
    wall_ms: float


def start(argv: list[str], folder: Path) -> Start:
    """Run a command to its end, silently."""
    environment = {**os.environ, "HOME": str(folder), "JOBMETER_HOME": str(folder / "home")}
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    began = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    wall_ms = 1000 * (time.monotonic() - began)
    if status != 0:
        raise SystemExit(f"{' '.join(argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return Start(1000 * (usage.ru_utime + usage.ru_stime), wall_ms)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=30)
    args = parser.parse_args()
    commands = {
        "con-duct run -q true": [str(envs.peer("con-duct") / "con-duct"), "run", "-q", "true"],
        "jobmeter duct -q true": [str(envs.jobmeter() / "jobmeter"), "duct", "-q", "true"],
    }
    taken: dict[str, list[Start]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for number in range(args.starts + 1):
            for name, argv in commands.items():
                found = start(argv, Path(scratch))
                if number:  # the first finds nothing in the page cache
                    taken[name].append(found)
    lines = [
        [
            name,
            tables.spread([one.cpu_ms for one in found], ".0f"),
            tables.spread([one.wall_ms for one in found], ".0f"),
        ]
        for name, found in taken.items()
    ]
    print(tables.table(f"{args.starts} starts: median (range)", ["command", "CPU ms", "wall ms"], lines))


if __name__ == "__main__":
    main()

"""Real processes dressed as a job, for sources that read processes; nothing of the recorder is in it."""

import os
import subprocess
import sys
from pathlib import Path

from jobmeter.config import redaction
from jobmeter.probes import command
from jobmeter.probes.paths import Paths

BUSY_MIB = """
import sys, time
held = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(held), 4096): held[at] = 1
while time.process_time() < float(sys.argv[2]): pass
print('ready', flush=True)
input()
"""


class LiveProcess:
    """One process of the job, under the name the recorder would give it."""

    def __init__(self, pid: int) -> None:
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        self.pid = pid
        self.ppid = int(fields[1])
        self.start_ticks = int(fields[19])
        self.instance = f"{pid}@{self.start_ticks}"
        self.command = stat[stat.index("(") + 1 : stat.rindex(")")]
        self.looked = True


class LiveJob:
    """What a source may know of a job made of these processes."""

    own_cgroup = None
    gpus = "job"

    def __init__(self, *pids: int, paths: Paths | None = None) -> None:
        self.paths = paths or Paths()
        self.pid = pids[0] if pids else os.getpid()
        self.processes = {pid: LiveProcess(pid) for pid in pids}
        self.helpers: list[command.Tool] = []

    def lend(self, tool: command.Tool) -> None:
        """Remember which tools a source starts."""
        self.helpers.append(tool)

    def redact(self, text: str) -> str:
        """Hide secrets as the recorder does."""
        return redaction.redact_text(text)

    def instance(self, pid: int) -> str:
        """Name the instance of one process."""
        return self.processes[pid].instance


def start_busy(mib: int, cpu_seconds: float) -> "subprocess.Popen[str]":
    """Start a process that holds memory, has burnt CPU time, and now waits."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", BUSY_MIB, str(mib), str(cpu_seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    """Let a waiting process end and reap it."""
    process.communicate("\n")


def values(readings: object, instance: str = "") -> dict[str, object]:
    """Collect the readings of one instance by key."""
    assert isinstance(readings, list)
    return {key: value for key, name, value in readings if name == instance}

"""One workload watched once by one tool: what the kernel counted beside what the tool said."""

import json
import os
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from harness import cgroups, launch, tables, tools
from harness.catalogue import Judged, Workload
from harness.tools import Claim, Tool


@dataclass(frozen=True, slots=True)
class Row:
    """One workload watched once by one tool."""

    tool: str
    workload: str
    outcome: launch.Outcome
    claim: Claim
    self_report: dict[str, float]

    def truth(self, judged: Judged) -> float | None:
        """Give the kernel's count of what the workload is judged by."""
        match judged:
            case Judged.CPU:
                return self.outcome.job_cpu_seconds
            case Judged.MEMORY:
                return self.outcome.memory.needed_bytes if self.outcome.memory else None
            case Judged.WRITTEN:
                # no cgroup counts writes on every machine; the script knows what it fsynced
                return self.self_report.get("bytes")
            case Judged.NOTHING:
                return None

    def claimed(self, judged: Judged) -> float | None:
        """Give what the tool said of it."""
        match judged:
            case Judged.CPU:
                return self.claim.cpu_seconds
            case Judged.MEMORY:
                return self.claim.memory_bytes
            case Judged.WRITTEN:
                return self.claim.written_bytes
            case Judged.NOTHING:
                return None

    def error_percent(self, judged: Judged) -> float | None:
        """Compare both; None where either is not known."""
        truth, claimed = self.truth(judged), self.claimed(judged)
        if claimed is None or not truth:
            return None
        return 100 * (claimed / truth - 1)


def measure(tool: Tool, workload: Workload, folder: Path) -> Row:
    """Let one tool watch one workload once."""
    folder.mkdir()
    folder.chmod(0o777)
    interpreter = tool.interpreter or sys.executable
    command = tool.wrap(workload, workload.command(interpreter, tool.workloads), folder)
    environment = {**os.environ, **dict(tool.environment), "HOME": str(folder), "TMPDIR": str(folder)}
    task = launch.Task(
        argv=command,
        folder=folder,
        uid=tool.uid,
        environment=environment,
        own_cgroup=tool.own_cgroup,
        watch_memory=workload.judged is Judged.MEMORY,
    )
    outcome = launch.run(task, f"truth-{os.getpid()}")
    if outcome.exit_code != 0:
        said = (folder / "stderr").read_text()[-500:]
        print(
            f"bench: {tool.name} on {workload.name} ended with {outcome.exit_code}: {said}", file=sys.stderr
        )
    if outcome.leftovers:
        print(f"bench: {tool.name} on {workload.name} left cgroups: {outcome.leftovers}", file=sys.stderr)
    claim = tools.NOTHING if workload.judged is Judged.NOTHING else tool.read(folder)
    return Row(tool.name, workload.name, outcome, claim, _self_report(folder))


def _self_report(folder: Path) -> dict[str, float]:
    for line in (folder / "stdout").read_text(errors="replace").splitlines():
        if line.startswith('{"workload"'):
            told = json.loads(line)
            return {key: float(value) for key, value in told.items() if key != "workload"}
    return {}


def start_table(taken: list[Row], names: list[str]) -> str:
    """Show what watching `true` cost over bare `true`."""
    spent = {
        tool: [
            1000 * row.outcome.all_cpu_seconds for row in taken if (row.tool, row.workload) == (tool, "true")
        ]
        for tool in names
    }
    if not spent.get("bare"):
        return ""
    floor = min(spent["bare"]), tables.middle(spent["bare"]) or 0.0
    lines = []
    for tool in names:
        if tool == "bare" or not spent[tool]:
            continue
        least, typical = min(spent[tool]) - floor[0], (tables.middle(spent[tool]) or 0.0) - floor[1]
        duct = spent.get("con-duct")
        ratios = [
            tables.ratio(least, min(duct) - floor[0] if duct else None),
            tables.ratio(typical, (tables.middle(duct) or 0.0) - floor[1] if duct else None),
        ]
        lines.append([tool, str(len(spent[tool])), f"{least:.1f}", f"{typical:.1f}", *ratios])
    header = ["tool", "starts", "min CPU ms", "median CPU ms", "min x con-duct", "median x con-duct"]
    return tables.table("Start-up: `true`, over bare `true`", header, lines)


def machine(names: list[str]) -> dict[str, object]:
    """Describe where and under which load the figures were taken."""
    return {
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "cgroups": "hybrid" if "memory" in cgroups.mounts() else "version 2",
        "load": os.getloadavg(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "tools": names,
    }

"""The tools compared: how each is told to watch a command, and where it then says what the command used.

Every tool runs with the interval it has by default, or 1 s where it has none. A number the tool does not
give is None, and a dash in the tables. CPU-seconds are the tool's own where it has them; con-duct and
psrecord only have percentages, which are multiplied by the time they stand for.
"""

import csv
import itertools
import json
import os
import shlex
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import envs, launch
from harness.catalogue import WORKLOADS, Workload

INTERVAL_SECONDS = 1.0
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
RESTRACK = Path(__file__).resolve().parent / "restrack_run.py"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a tool says a job used."""

    cpu_seconds: float | None = None
    memory_bytes: float | None = None
    memory_low_bytes: float | None = None
    memory_high_bytes: float | None = None
    written_bytes: float | None = None


NOTHING = Claim()


@dataclass(frozen=True, slots=True)
class Tool:
    """One way to watch a command."""

    name: str
    version: str
    wrap: Callable[[Workload, list[str], Path], list[str]]
    """Make the command line from the workload, its command and an output folder."""
    read: Callable[[Path], Claim]
    """Read what the tool said from the output folder."""
    uid: int = 0
    own_cgroup: bool = False
    interpreter: str | None = None
    """The Python that runs the workload, where it must differ."""
    workloads: Path = WORKLOADS
    environment: tuple[tuple[str, str], ...] = ()


def bare() -> Tool:
    """Make the reference: the command alone."""
    return Tool("bare", "", lambda _workload, command, _folder: command, lambda _folder: NOTHING)


def jobmeter() -> Tool:
    """Make jobmeter as root, with a cgroup of its own."""
    program = str(envs.jobmeter() / "jobmeter")
    return Tool("jobmeter", "this tree", _jobmeter_wrap(program), _jobmeter_read, own_cgroup=True)


def jobmeter_nobody(folder: Path) -> Tool:
    """Make jobmeter as an unprivileged user, without a cgroup."""
    package, workloads = envs.unprivileged_copy(folder)
    interpreter = envs.unprivileged_interpreter()
    return Tool(
        "jobmeter-nobody",
        "this tree",
        _jobmeter_wrap(interpreter, str(package / "jobmeter-script")),
        _jobmeter_read,
        uid=launch.NOBODY,
        interpreter=interpreter,
        workloads=workloads,
        environment=(("PYTHONPATH", str(package)),),
    )


def _jobmeter_wrap(*program: str) -> Callable[[Workload, list[str], Path], list[str]]:
    def wrap(workload: Workload, command: list[str], folder: Path) -> list[str]:
        waiting = ["--wait-for-children"] if workload.wait_for_children else []
        return [*program, "run", "--quiet", "--home", str(folder / "home"), *waiting, "--", *command]

    return wrap


def _jobmeter_read(folder: Path) -> Claim:
    (info,) = (folder / "home" / "runs").glob("*/*/info.json")
    headline = json.loads(info.read_text())["headline"]
    memory = headline.get("memory_peak_bytes", {})
    return Claim(
        cpu_seconds=headline.get("cpu_seconds", {}).get("value"),
        memory_bytes=memory.get("value"),
        memory_low_bytes=memory.get("low"),
        memory_high_bytes=memory.get("high"),
        written_bytes=headline.get("io_write_bytes", {}).get("value"),
    )


def con_duct() -> Tool:
    """Make con-duct with its defaults."""
    program = str(envs.peer("con-duct") / "con-duct")

    def wrap(_workload: Workload, command: list[str], folder: Path) -> list[str]:
        return [program, "run", "--log-level", "NONE", "-p", f"{folder}/duct_", *command]

    return Tool("con-duct", "0.23.0", wrap, _con_duct_read)


def _con_duct_read(folder: Path) -> Claim:
    summary = json.loads((folder / "duct_info.json").read_text())["execution_summary"]
    percent = summary["average_pcpu"]
    cpu_seconds = None if percent is None else percent / 100 * summary["wall_clock_time"]
    return Claim(cpu_seconds=cpu_seconds, memory_bytes=summary["peak_rss"])


def gnu_time() -> Tool:
    """Make GNU time."""
    program = envs.gnu_time()

    def wrap(_workload: Workload, command: list[str], folder: Path) -> list[str]:
        return [program, "-f", "%U %S %M %O", "-o", str(folder / "time"), *command]

    return Tool("gnu-time", "1.9", wrap, _gnu_time_read)


def _gnu_time_read(folder: Path) -> Claim:
    user, system, rss_kib, blocks = map(float, (folder / "time").read_text().split())
    return Claim(cpu_seconds=user + system, memory_bytes=rss_kib * 1024, written_bytes=blocks * 512)


def psrecord() -> Tool:
    """Make psrecord with children, once a second."""
    program = str(envs.peer("psrecord") / "psrecord")

    def wrap(_workload: Workload, command: list[str], folder: Path) -> list[str]:
        options = ["--include-children", "--include-io", "--interval", str(INTERVAL_SECONDS)]
        return [
            program,
            shlex.join(command),
            *options,
            "--log-format",
            "csv",
            "--log",
            str(folder / "psrecord.csv"),
        ]

    return Tool("psrecord", "1.4", wrap, _psrecord_read)


def _psrecord_read(folder: Path) -> Claim:
    with (folder / "psrecord.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    if not rows:
        return NOTHING
    times = [0.0, *(row["elapsed_time"] for row in rows)]
    spans = [later - earlier for earlier, later in itertools.pairwise(times)]
    return Claim(
        cpu_seconds=sum(row["cpu"] / 100 * span for row, span in zip(rows, spans, strict=True)),
        memory_bytes=max(row["mem_real"] for row in rows) * 2**20,
        written_bytes=max(row["write_bytes"] for row in rows),
    )


_PROCPATH_SCRIPT = """
"$@" & job=$!
"$PROCPATH" record -i "$INTERVAL" -f stat,io,smaps_rollup -d "$DATABASE" -p $job --stop-without-result \
    '$..children[?(@.stat.pid == '$job')]'
wait $job
"""


def procpath() -> Tool:
    """Make procpath, which attaches to a process: a shell starts the job and points procpath at it."""
    program = str(envs.peer("procpath") / "procpath")

    def wrap(_workload: Workload, command: list[str], folder: Path) -> list[str]:
        script = (
            _PROCPATH_SCRIPT.replace("$PROCPATH", program)
            .replace("$INTERVAL", str(INTERVAL_SECONDS))
            .replace("$DATABASE", str(folder / "procpath.sqlite"))
        )
        return ["/bin/sh", "-c", script, "procpath", *command]

    return Tool("procpath", "1.15.1", wrap, _procpath_read)


def _procpath_read(folder: Path) -> Claim:
    with sqlite3.connect(folder / "procpath.sqlite") as database:
        (ticks,) = database.execute(
            "select sum(ticks) from"
            " (select max(stat_utime + stat_stime) as ticks from record group by stat_pid, stat_starttime)"
        ).fetchone()
        (pss_kib,) = database.execute(
            "select max(pss) from (select sum(smaps_rollup_pss) as pss from record group by ts)"
        ).fetchone()
        (written,) = database.execute(
            "select max(written) from (select sum(io_write_bytes) as written from record group by ts)"
        ).fetchone()
    return Claim(
        cpu_seconds=None if ticks is None else ticks / TICKS_PER_SECOND,
        memory_bytes=None if pss_kib is None else pss_kib * 1024,
        written_bytes=written,
    )


def resource_tracker() -> Tool:
    """Make resource-tracker, a library: a short script starts the job and hands its pid over."""
    python = str(envs.peer("resource-tracker") / "python")

    def wrap(_workload: Workload, command: list[str], folder: Path) -> list[str]:
        return [python, str(RESTRACK), str(INTERVAL_SECONDS), str(folder / "restrack.csv"), *command]

    return Tool("resource-tracker", "0.5.0", wrap, _resource_tracker_read)


def _resource_tracker_read(folder: Path) -> Claim:
    with (folder / "restrack.csv").open() as file:
        rows = list(csv.DictReader(file))
    if not rows:
        return NOTHING
    return Claim(
        cpu_seconds=sum(float(row["utime"]) + float(row["stime"]) for row in rows),
        memory_bytes=max(float(row["memory_mib"]) for row in rows) * 2**20,
        written_bytes=sum(float(row["disk_write_bytes"]) for row in rows),
    )


def names() -> tuple[str, ...]:
    """List the tools in the order of the tables."""
    return (
        "bare",
        "jobmeter",
        "jobmeter-nobody",
        "con-duct",
        "gnu-time",
        "psrecord",
        "procpath",
        "resource-tracker",
    )


def prepare(name: str, folder: Path) -> Tool:
    """Install one tool if need be and make it ready."""
    makers: dict[str, Callable[[], Tool]] = {
        "bare": bare,
        "con-duct": con_duct,
        "gnu-time": gnu_time,
        "jobmeter": jobmeter,
        "jobmeter-nobody": lambda: jobmeter_nobody(folder),
        "procpath": procpath,
        "psrecord": psrecord,
        "resource-tracker": resource_tracker,
    }
    return makers[name]()

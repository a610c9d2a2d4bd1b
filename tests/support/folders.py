"""Write run folders as the recorder does, from `docs/run-folder.md` and without the recorder's code.

Numbers are random walks with a fixed seed, shaped like a real build: byte gauges in whole pages, CPU
deltas in microseconds, pressure that is mostly zero. The same arguments give the same bytes.
"""

import json
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

RUN_ID = "20261115T095001Z-7f3a9c"
STARTED = 1794736201.123
"""2026-11-15T09:50:01.123Z"""
CLOCK = 5123.456789
MIB = 1024 * 1024

Record = dict[str, object]

_GAUGE_BYTES = (
    "cgroup_mem_current",
    "cgroup_mem_unreclaimable",
    "cgroup_mem_anon",
    "cgroup_mem_file",
    "proc_rss_total",
    "proc_vsz_total",
    "host_mem_available",
    "host_mem_cached",
    "host_swap_used",
)
_COUNTER_SECONDS = (
    "wait_cputime",
    "wait_utime",
    "wait_stime",
    "cgroup_cputime",
    "proc_cputime_total",
    "host_cputime",
    "psi_cpu_some",
    "psi_memory_some",
    "psi_memory_full",
    "psi_io_some",
    "psi_io_full",
)
_COUNTER_COUNTS = ("wait_minflt", "wait_majflt", "cgroup_throttled", "host_net_receive", "host_net_transmit")
_COUNTER_BYTES = ("wait_io_read", "wait_io_write")
_GAUGE_COUNTS = ("cgroup_pids", "proc_processes_total")
JOB_KEYS = (
    *_GAUGE_BYTES,
    *_COUNTER_SECONDS,
    *_COUNTER_COUNTS,
    *_COUNTER_BYTES,
    *_GAUGE_COUNTS,
    "cgroup_mem_peak",
)
"""The 30 keys of every one-second line."""
assert len(JOB_KEYS) == 30


def iso(seconds: float) -> str:
    """Render seconds since the epoch as the run folder does."""
    moment = datetime.fromtimestamp(round(seconds, 3), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def definition(key: str, kind: str, unit: str, scope: str) -> Record:
    """Define one measurement as `context.measurements` holds it."""
    gauge_stats = ["peak", "mean"]
    return {
        "key": key,
        "kind": kind,
        "unit": unit,
        "scope": scope,
        "reduce": {"gauge": ["max"], "counter": ["delta"], "label": ["last"], "categorical": ["tally"]}[kind],
        "summary": {"gauge": gauge_stats, "counter": ["total"], "label": [], "categorical": []}[kind],
        "about": f"what {key} means",
    }


def definitions() -> list[Record]:
    """Define every key the builder writes."""

    def scope(key: str) -> str:
        return "host" if key.startswith(("host_", "psi_")) else "job"

    rows = [definition(key, "gauge", "bytes", scope(key)) for key in (*_GAUGE_BYTES, "cgroup_mem_peak")]
    rows += [definition(key, "counter", "seconds", scope(key)) for key in _COUNTER_SECONDS]
    rows += [definition(key, "counter", "count", scope(key)) for key in _COUNTER_COUNTS]
    rows += [definition(key, "counter", "bytes", scope(key)) for key in _COUNTER_BYTES]
    rows += [definition(key, "gauge", "count", scope(key)) for key in _GAUGE_COUNTS]
    rows.append(definition("proc_rss", "gauge", "bytes", "process"))
    rows.append(definition("proc_cputime", "counter", "seconds", "process"))
    rows.append(definition("proc_state", "categorical", "none", "process"))
    rows.append(definition("proc_cmd", "label", "none", "process"))
    return rows


class _Walk:
    """The state of a job that wanders: one value per key, moved a little each second."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.bytes = {key: 200 * MIB + index * 50 * MIB for index, key in enumerate(_GAUGE_BYTES)}
        self.bytes["host_swap_used"] = 0
        self.peak = 0

    def second(self) -> Record:
        draw = self.random
        values: Record = {}
        for key, current in self.bytes.items():
            if key != "host_swap_used" and draw.random() < 0.6:
                self.bytes[key] = max(0, current + 4096 * int(draw.gauss(0, 400)))
            values[key] = self.bytes[key]
        self.peak = max(self.peak, self.bytes["cgroup_mem_current"])
        cpu = round(min(4.0, max(0.0, draw.gauss(3.6, 0.2))), 6)
        user = round(cpu * 0.9, 6)
        values |= {"wait_cputime": cpu, "wait_utime": user, "wait_stime": round(cpu - user, 6)}
        values |= {"cgroup_cputime": round(cpu + 0.0001, 6), "proc_cputime_total": round(cpu, 2)}
        values["host_cputime"] = round(cpu + draw.random() * 0.2, 2)
        for key in ("psi_cpu_some", "psi_memory_some", "psi_memory_full", "psi_io_some", "psi_io_full"):
            values[key] = round(draw.random() * 0.1, 6) if draw.random() < 0.3 else 0.0
        values |= {"wait_minflt": draw.randrange(0, 4000), "wait_majflt": 0, "cgroup_throttled": 0}
        values |= {"host_net_receive": draw.randrange(0, 9000), "host_net_transmit": draw.randrange(0, 3000)}
        values["wait_io_read"] = 4096 * draw.randrange(0, 64) if draw.random() < 0.2 else 0
        values["wait_io_write"] = 4096 * draw.randrange(0, 256) if draw.random() < 0.5 else 0
        values |= {"cgroup_pids": draw.randrange(5, 12), "proc_processes_total": draw.randrange(5, 12)}
        values["cgroup_mem_peak"] = self.peak
        return values

    def processes(self, count: int) -> Record:
        """One report of `count` long-lived processes; `rest` holds what is not listed."""
        draw = self.random
        names = [f"{4712 + index}@{98123 + 7 * index}" for index in range(count)]
        return {
            "proc_rss": {name: 4096 * draw.randrange(1000, 90000) for name in names} | {"rest": 901120},
            "proc_cputime": {name: round(draw.random() * 9, 2) for name in names},
            "proc_state": {name: {"R": draw.randrange(1, 10), "S": 1} for name in names},
            "proc_cmd": {name: f"cc1plus part{index}.cc" for index, name in enumerate(names)},
        }


def usage(seconds: int, *, processes: int = 3, seed: int = 1, started: float = STARTED) -> Iterator[Record]:
    """Yield the lines of `usage.jsonl`: one a second, and the processes every tenth."""
    walk = _Walk(seed)
    sources = ("wait", "cgroup", "proc", "host", "psi")
    before = dict.fromkeys(sources, CLOCK)
    for second in range(1, seconds + 1):
        ticks = {
            source: round(CLOCK + second + 0.0002 * index + walk.random.random() * 0.0008, 6)
            for index, source in enumerate(sources)
        }
        timestamp = iso(started + second + walk.random.random() * 0.002)
        clock = {source: [before[source], ticks[source]] for source in sources}
        before = ticks
        yield {"timestamp": timestamp, "num_samples": 1, "clock": clock, "measurements": walk.second()}
        if processes and second % 10 == 0:
            span = [round(ticks["proc"] - 10, 6), ticks["proc"]]
            measured = walk.processes(processes)
            yield {
                "timestamp": timestamp,
                "num_samples": 10,
                "clock": {"proc": span},
                "measurements": measured,
            }


def start_record(run_id: str = RUN_ID, *, started: float = STARTED, **changes: object) -> Record:
    """Build the `start` record; a keyword replaces or adds a field."""
    return {
        "type": "start",
        "schema": 1,
        "run_id": run_id,
        "job_id": run_id,
        "command": ["make", "-j4"],
        "cwd": "/home/u/src",
        "name": "nightly",
        "project": "app",
        "tags": {"k": "v"},
        "host": "node7",
        "boot_id": "11111111-2222-3333-4444-555555555555",
        "recorder": {"version": "0.1.0", "pid": 4711, "start_ticks": 123456},
        "started_at": iso(started),
        "clock": CLOCK,
        "sample_interval": 1.0,
        "report_interval": 10.0,
    } | changes


def context_record(**changes: object) -> Record:
    """Build the `context` record with the definitions of every key written here."""
    return {
        "type": "context",
        "timestamp": iso(STARTED + 0.05),
        "pid": 4712,
        "host": {"hostname": "node7", "system": "Linux", "release": "6.1.0", "machine": "x86_64", "cpus": 64},
        "user": {"uid": 1000, "name": "u"},
        "limits": {"memory_bytes": 8589934592, "cpus": 4.0, "memory_source": "cgroup"},
        "git": {"commit": "a" * 40, "branch": "main"},
        "environment": {"SLURM_JOB_ID": "17"},
        "options": {"sample_interval": 1.0},
        "outputs": [{"stream": "stdout", "mode": "captured", "path": "stdout", "offset": 0}],
        "measurements": definitions(),
        "provenance": {"selected": list(JOB_KEYS), "missing": {"nvml": "no NVIDIA driver"}},
    } | changes


def end_record(seconds: float = 60.0, *, started: float = STARTED, **changes: object) -> Record:
    """Build the `end` record of a job that completed."""
    return {
        "type": "end",
        "timestamp": iso(started + seconds),
        "status": "completed",
        "exit_code": 0,
        "signal": None,
        "ended_at": iso(started + seconds),
        "wall_seconds": float(seconds),
        "samples": int(seconds),
        "summary": {
            "wait_cputime": 45.678901,
            "cgroup_mem_peak": 734003200,
            "cgroup_peak_mem_unreclaimable": 612368384,
            "proc_peak_rss_total": 812646400,
            "proc_mean_rss_total": 700000000,
            "wait_io_read": 4096,
            "wait_io_write": 8192,
        },
        "by_command": [
            {"command": "cc1plus", "cpu_seconds": 36.9, "peak_rss_bytes": 402653184, "processes": 118}
        ],
        "processes_left": [],
        "inexact": {},
        "dropped": {"usage": 0},
    } | changes


def this_recorder() -> Record:
    """Say that the recorder is this very process, so that the run counts as live."""
    return {
        "host": os.uname().nodename,
        "boot_id": _boot_id(),
        "recorder": {"version": "0.1.0", "pid": os.getpid(), "start_ticks": _ticks()},
    }


def dead_recorder() -> Record:
    """Say that the recorder had this process's pid but began at another time: it is gone."""
    return this_recorder() | {"recorder": {"version": "0.1.0", "pid": os.getpid(), "start_ticks": 1}}


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _ticks() -> int:
    stat = Path("/proc/self/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[19])


def dump(record: object) -> bytes:
    """Render one record as one line."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def append(path: Path, *records: object) -> None:
    """Append records to a file of a run folder, as its writer would."""
    with path.open("ab") as file:
        file.write(b"".join(map(dump, records)))


def folder_of(home: Path, run_id: str) -> Path:
    """Name the folder of a run: its month is in its id."""
    return home / "runs" / f"{run_id[:4]}-{run_id[4:6]}" / run_id


def write_run(
    home: Path,
    *,
    run_id: str = RUN_ID,
    seconds: int = 60,
    processes: int = 3,
    seed: int = 1,
    started: float = STARTED,
    start: Record | None = None,
    context: Record | None = None,
    end: Record | None = None,
    ended: bool = True,
) -> Path:
    """Write one whole run folder; `ended=False` leaves the end record out."""
    folder = folder_of(home, run_id)
    folder.mkdir(parents=True, mode=0o700)
    append(folder / "run.jsonl", start_record(run_id, started=started, **start or {}))
    append(folder / "run.jsonl", context_record(**context or {}))
    append(folder / "usage.jsonl", *usage(seconds, processes=processes, seed=seed, started=started))
    (folder / "stdout").write_bytes(b"compiling\n" * 10)
    if ended:
        append(folder / "run.jsonl", end_record(seconds, started=started, **end or {}))
    return folder


def write_many(home: Path, count: int) -> list[str]:
    """Write many short ended runs, as a history of months, and return their ids oldest first."""
    ids = []
    names = ("nightly", "train", "release", "lint")
    for index in range(count):
        started = STARTED + index * 600
        moment = datetime.fromtimestamp(started, UTC)
        run_id = f"{moment:%Y%m%dT%H%M%SZ}-{index:06x}"
        failed = index % 7 == 0
        end: Record = {"status": "failed" if failed else "completed", "exit_code": 2 if failed else 0}
        name = {"name": names[index % 4], "command": ["make", f"target{index}"]}
        write_run(
            home, run_id=run_id, seconds=2, processes=0, seed=index, started=started, start=name, end=end
        )
        ids.append(run_id)
    return ids

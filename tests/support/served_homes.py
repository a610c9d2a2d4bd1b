"""A home with runs of every kind, as a server meets them: whole, cut, alive, strange, with secrets and with NaN."""

import json
import os
from pathlib import Path

from support import folders

TRAINED = "20261115T100000Z-aaaaaa"
FAILED = "20261115T110000Z-bbbbbb"
LIVE = "20261115T120000Z-cccccc"
STRANGE = "20261115T130000Z-dddddd"
BARE = "20261115T140000Z-eeeeee"
BUILD = folders.RUN_ID
HOSTILE = "20261115T150000Z-abadab"
KINDS = (TRAINED, FAILED, LIVE, STRANGE, BARE, HOSTILE, BUILD)
JOB = "job 7: <b>bold</b>"
SECRET = "ghp_" + "a1B2c3D4e5" * 4
OOM = (
    'Traceback (most recent call last):\n  File "t.py", line 1\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
)


def write(home: Path, *, spare: int = 0) -> Path:
    """Write the home; `spare` more runs are there to be deleted."""
    folders.write_run(home, seconds=60, processes=3)
    _trained(home)
    failed = folders.write_run(
        home, run_id=FAILED, seconds=20, end={"status": "failed", "exit_code": 1}, start={"name": "fails"}
    )
    (failed / "stdout").write_text(f"export TOKEN={SECRET}\n{OOM}")
    folders.write_run(home, run_id=LIVE, seconds=15, start=folders.this_recorder(), ended=False)
    _strange(home)
    _hostile(home)
    bare = home / "runs" / "2026-11" / BARE
    bare.mkdir(parents=True)
    (bare / "run.jsonl").write_bytes(
        folders.dump(folders.start_record(BARE, tags={}, **folders.dead_recorder()))
    )
    for number in range(spare):
        folders.write_run(home, run_id=f"20261116T{number:06}Z-ffffff", seconds=1)
    return home


def spares(count: int) -> list[str]:
    """Name the runs that are there to be deleted."""
    return [f"20261116T{number:06}Z-ffffff" for number in range(count)]


def _trained(home: Path) -> None:
    config = {"train": {"num_workers": 2, "batch_size": 8}, "lr": 1e-3}
    folder = folders.write_run(
        home,
        run_id=TRAINED,
        seconds=120,
        start={"job_id": "aitk-7", "name": "lora"},
        context={"config": config},
    )
    rows = [
        {
            "timestamp": folders.iso(folders.STARTED + step),
            "step": step,
            "rank": rank,
            "source": "sdk",
            "metrics": {"loss": "NaN" if step == 50 else 2.0 / (step + 1), "lr": 0.001, "batch_size": 8},
        }
        for step in range(100)
        for rank in range(2)
    ]
    (folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    events = [
        {
            "timestamp": folders.iso(folders.STARTED + 30),
            "type": "checkpoint",
            "details": {"path": "checkpoint-30", "step": 30},
        }
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in events))


def _strange(home: Path) -> None:
    """A run whose names are markup, no UTF-8 and far too long, and whose output is no text."""
    folder = folders.write_run(
        home,
        run_id=STRANGE,
        seconds=3,
        start={
            "job_id": JOB,
            "name": "<script>alert(1)</script>",
            "project": "caf\u00e9 \u202e\U0001f600",
            "command": ["sh", "-c", os.fsdecode(b"echo \xff\xfe"), "x" * 5000],
            "tags": {"<img src=x>": "'; DROP TABLE run; --", "k": ""},
            "host": None,
        },
        end={"status": "killed", "exit_code": None, "signal": "SIGKILL"},
    )
    (folder / "stdout").write_bytes(bytes(range(256)) * 40 + b"\n" + b"y" * 100_000)


def _hostile(home: Path) -> None:
    """A run that somebody made up: numbers that are words, words that are numbers, too large, too deep, not finite."""
    deep: object = 1
    for _ in range(60):
        deep = {"a": [deep]}
    folder = folders.write_run(
        home,
        run_id=HOSTILE,
        seconds=2,
        start={
            "job_id": 7,
            "name": ["a"],
            "project": {"b": 1},
            "command": "rm -rf /",
            "tags": {"n": 1, "l": [1], "x": None},
            "host": 9,
            "started_at": "yesterday",
        },
        context={
            "config": {"deep": deep, "lr": 1e308, "big": 2**80, "nan": float("nan")},
            "user": "root",
            "limits": {"memory_bytes": "all", "cpus": float("inf")},
            "git": [1, 2],
            "outputs": [
                {"stream": "stdout", "mode": "inherited", "path": "/nonexistent/secret", "offset": "x"},
                7,
            ],
            "measurements": [{"key": "cgroup_mem_current"}, 5, *folders.definitions()],
            "provenance": {"selected": "x", "missing": [1], "dropped": {"usage": "many"}},
            "world_size": "many",
        },
        end={
            "status": "perfect",
            "exit_code": "zero",
            "signal": 9,
            "wall_seconds": float("nan"),
            "samples": -1,
            "summary": {
                "wait_cputime": float("inf"),
                "cgroup_mem_peak": "big",
                "x": [1],
                "proc_peak_rss_total": 2**70,
            },
            "by_command": [{"command": 5, "cpu_seconds": "x"}, "y"],
        },
    )
    events = [
        {"timestamp": 5, "type": 7, "details": "x"},
        {"timestamp": folders.iso(1), "type": "a", "rank": "b"},
        [],
    ]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in events))
    steps = [
        {
            "timestamp": folders.iso(folders.STARTED),
            "step": 2**70,
            "rank": 0,
            "source": "sdk",
            "metrics": {"loss": 1},
        },
        {
            "timestamp": "x",
            "step": 1,
            "rank": "r",
            "source": 3,
            "metrics": {"loss": "Infinity", "m": 2**90, "": 1},
        },
        {
            "timestamp": None,
            "step": -5,
            "rank": 0,
            "source": "sdk",
            "metrics": {"loss": float("nan"), "lr": -1e308},
        },
    ]
    (folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in steps))

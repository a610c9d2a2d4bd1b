"""The machine-readable interface: present if and only if known."""

from dataclasses import replace

from jobmeter.model.run import CommandShare, Headline, Limits, Provenance, Run, Status
from jobmeter.model.steps import MetricSummary, StepSummary
from jobmeter.model.view import Event, Process, RunView
from jobmeter.service import shapes

FULL = Run(
    run_id="20261115T095001Z-7f3a9c",
    job_id="job-1",
    status=Status.FAILED,
    command=("make", "-j4"),
    cwd="/src",
    name="nightly",
    project="app",
    message="why",
    tags={"k": "v"},
    notes=("look",),
    ranks=(0, 1),
    host="node7",
    user="u",
    exit_code=2,
    signal="SIGTERM",
    started_at=1794736201.123,
    ended_at=1794736213.5,
    wall_seconds=12.377,
    samples=13,
    headline={
        "cpu_seconds": Headline(value=45.5, low=45.5, high=45.5, keys=("wait_cputime",), exact=True),
        "memory_peak_bytes": Headline(value=1024.0, low=1000.0, high=2048.0, keys=("a", "b"), exact=False),
    },
    summary={"wait_cputime": 45.5, "proc_peak_rss_total": 2048, "broken": float("nan")},
    by_command=(CommandShare(command="cc1plus", cpu_seconds=36.9, processes=118),),
    limits=Limits(memory_bytes=4096, cpus=4.0),
    provenance=Provenance(
        selected=("wait_cputime",), missing={"psi": "no"}, dropped={"usage": 1}, inexact={"x": "y"}
    ),
    folder="/home/u/runs/x",
    disk_bytes=777,
)
BARE = Run(run_id="r", job_id="r", status=Status.LOST, command=())


def test_a_known_run_is_listed_whole() -> None:
    assert shapes.listed(FULL) == {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "job-1",
        "ranks": [0, 1],
        "name": "nightly",
        "project": "app",
        "status": "failed",
        "exit_code": 2,
        "signal": "SIGTERM",
        "command": ["make", "-j4"],
        "cwd": "/src",
        "host": "node7",
        "started_at": "2026-11-15T09:50:01.123Z",
        "ended_at": "2026-11-15T09:50:13.500Z",
        "wall_seconds": 12.377,
        "headline": {
            "cpu_seconds": {
                "value": 45.5,
                "low": 45.5,
                "high": 45.5,
                "keys": ["wait_cputime"],
                "exact": True,
            },
            "memory_peak_bytes": {
                "value": 1024,
                "low": 1000,
                "high": 2048,
                "keys": ["a", "b"],
                "exact": False,
            },
        },
        "limits": {"memory_bytes": 4096, "cpus": 4.0},
        "provenance": {
            "selected": ["wait_cputime"],
            "missing": {"psi": "no"},
            "dropped": {"usage": 1},
            "inexact": {"x": "y"},
            "origin": "jobmeter",
        },
        "user": "u",
        "message": "why",
        "tags": {"k": "v"},
        "notes": ["look"],
        "samples": 13,
        "folder": "/home/u/runs/x",
        "disk_bytes": 777,
    }


def test_what_is_not_known_is_absent() -> None:
    assert shapes.listed(BARE) == {
        "run_id": "r",
        "job_id": "r",
        "status": "lost",
        "command": [],
        "headline": {},
        "limits": {},
        "provenance": {"selected": [], "missing": {}, "dropped": {}, "origin": "jobmeter"},
    }


def test_show_adds_the_summary_without_numbers_that_are_none() -> None:
    view = RunView(
        run=FULL,
        series={},
        events=(Event(timestamp=1794736202.0, type="oom_kill", details={"count": 1}),),
    )
    shown = shapes.shown(view)
    assert {key: shown[key] for key in shown.keys() - shapes.listed(FULL).keys()} == {
        "summary": {"wait_cputime": 45.5, "proc_peak_rss_total": 2048},
        "by_command": [{"command": "cc1plus", "cpu_seconds": 36.9, "processes": 118}],
        "events": [{"timestamp": "2026-11-15T09:50:02.000Z", "type": "oom_kill", "details": {"count": 1}}],
    }


def test_steps_are_summed_up_and_what_is_not_finite_is_spelled() -> None:
    loss = MetricSummary(first=3.0, last="NaN", low=1.0, high=3.0, not_finite=2)
    learning_rate = MetricSummary(first=0.1, last=0.1, low=0.1, high=0.1, source="log:hf")
    summary = StepSummary(
        count=3,
        last_step=3,
        source="sdk",
        steps_per_second=1.5,
        metrics={"loss": loss, "lr": learning_rate},
    )
    run = replace(BARE, steps=summary, ranks=(0, 1), world_size=4, group="sweep", results={"best": 0.5})
    listed = shapes.listed(run)
    assert {key: listed[key] for key in listed.keys() - shapes.listed(BARE).keys()} == {
        "steps": {
            "count": 3,
            "last_step": 3,
            "source": "sdk",
            "steps_per_second": 1.5,
            "metrics": {
                "loss": {"first": 3.0, "last": "NaN", "min": 1.0, "max": 3.0, "not_finite": 2},
                "lr": {"first": 0.1, "last": 0.1, "min": 0.1, "max": 0.1, "source": "log:hf"},
            },
        },
        "ranks": [0, 1],
        "world_size": 4,
        "group": "sweep",
        "results": {"best": 0.5},
    }


def test_a_run_without_steps_has_no_steps() -> None:
    assert "steps" not in shapes.shown(RunView(run=BARE, series={}))


def test_show_tells_the_roles_and_the_other_recorders() -> None:
    worker = Process(instance="7@1", pid=7, role="worker", cpu_seconds=1.5)
    other = replace(BARE, run_id="other")
    shown = shapes.shown(RunView(run=BARE, series={}, processes=(worker,), siblings=(other,)))
    assert shown["roles"] == {"worker": {"processes": 1, "cpu_seconds": 1.5}}
    assert shown["siblings"] == ["other"]

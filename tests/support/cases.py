"""Build cases for rules: a run of a training with what it used and was allowed, without analysing anything."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from jobmeter.analysis.case import Case
from jobmeter.analysis.rules import RULES
from jobmeter.model import roles
from jobmeter.model.report import Cause, Finding, LogError, Recommendation, Severity, Verdict
from jobmeter.model.run import Headline, Limits, Run, Value
from jobmeter.model.steps import MetricSummary, Step, Steps, StepSummary
from jobmeter.model.view import Event, Process, RunView, Series
from support import views
from support.views import GIB, STARTED

TRAINER: dict[str, object] = {
    "per_device_train_batch_size": 8,
    "dataloader_num_workers": 2,
    "gradient_checkpointing": False,
    "model_config": {"batch_size": 999},
}
"""What a Hugging Face Trainer tells of itself."""

AI_TOOLKIT: dict[str, object] = {
    "job": "extension",
    "config": {
        "name": "lora",
        "process": [
            {
                "type": "sd_trainer",
                "datasets": [{"folder_path": "x", "num_workers": 2, "resolution": [512, 768, 1024]}],
                "train": {
                    "batch_size": 4,
                    "gradient_checkpointing": False,
                    "ema_config": {"use_ema": True, "ema_decay": 0.99},
                },
                "model": {"name_or_path": "x", "quantize": False},
                "sample": {"batch_size": 77},
            }
        ],
    },
}
GPU_KEYS = ("nvml_mem_total", "nvml_mem_used")


def headlines(**values: float) -> dict[str, Headline]:
    """Build headlines that are exact."""
    return {
        name: Headline(value=value, low=value, high=value, keys=(name,), exact=True)
        for name, value in values.items()
    }


def run(run_id: str = "20261114T000000Z-aaaaaa", **facts: object) -> Run:
    """Build a run of a training; keywords replace its facts."""
    known: dict[str, object] = {"run_id": run_id, "job_id": run_id, "command": ("python", "train.py")}
    return views.view((), **(known | facts)).run


def case(
    cause: Cause = Cause.COMPLETED,
    *,
    findings: Sequence[Finding] = (),
    series: Sequence[Series] = (),
    processes: Sequence[Process] = (),
    told: Mapping[str, object] | None = None,
    **facts: object,
) -> Case:
    """Build a case; `told` has what else a view shows (events, history, steps, log_errors), `facts` are the run's."""
    shown = RunView(
        run=run("20261115T095001Z-7f3a9c", **facts),
        series={(one.key, one.instance): one for one in series},
        processes=tuple(processes),
        **(told or {}),  # type: ignore[arg-type]  # checked by the tests that name them
    )
    verdict = Verdict(cause=cause, sentence=f"it ended: {cause.value}", confidence=0.9)
    return Case(view=shown, verdict=verdict, findings=tuple(findings))


def advised(rule: str, told: Case) -> list[Recommendation]:
    """Ask one rule."""
    found = list(import_module(RULES[rule]).advise(told))
    assert all(advice.rule == rule for advice in found)
    return found


def only(rule: str, told: Case) -> Recommendation:
    """Ask one rule that must say one thing."""
    (found,) = advised(rule, told)
    assert all(one.low <= one.after <= one.high for one in found.predictions)
    return found


def finding(detector: str, severity: Severity = Severity.WARNING, **figures: Value) -> Finding:
    """Build what a detector found."""
    return Finding(
        detector=detector,
        severity=severity,
        sentence=f"{detector} was seen",
        key="a_key",
        figures=dict(figures),
    )


def limits(memory_gib: float | None = None, cpus: float | None = None) -> Limits:
    """Build what a job was allowed."""
    return Limits(memory_bytes=None if memory_gib is None else int(memory_gib * GIB), cpus=cpus)


def context(config: object = None, **parts: object) -> dict[str, object]:
    """Build the context of a run on a machine of 64 GiB and 16 cores that was given a part of it."""
    known: dict[str, object] = {
        "host": {"memory_bytes": 64 * GIB, "cpus": 16},
        "limits": {"memory_source": "cgroup", "cpus_source": "cgroup"},
    }
    if config is not None:
        known["config"] = config
    return known | parts


def gpu_series(used_gib: float, total_gib: float = 80, instance: str = "GPU-0") -> list[Series]:
    """Build the memory of one GPU."""
    return [
        views.gauge(key, [(1, size * GIB), (2, size * GIB)], instance)
        for key, size in zip(GPU_KEYS, (total_gib, used_gib), strict=True)
    ]


def worker(pid: int, rss_gib: float, role: str = roles.WORKER) -> Process:
    """Build a process of a training."""
    return Process(
        instance=f"{pid}@1",
        pid=pid,
        role=role,
        first_seen=STARTED,
        last_seen=STARTED + 60,
        peak_rss_bytes=int(rss_gib * GIB),
    )


def steps(step_seconds: Sequence[float], data_seconds: Sequence[float] | None = None) -> Steps:
    """Build the steps of a training that tells its times."""
    waits = [None] * len(step_seconds) if data_seconds is None else list(data_seconds)
    rows = []
    for number, (seconds, wait) in enumerate(zip(step_seconds, waits, strict=True)):
        metrics: dict[str, int | float] = {"step_seconds": seconds}
        if wait is not None:
            metrics["data_seconds"] = wait
        rows.append(Step(timestamp=STARTED + number + 1, step=number, rank=0, source="sdk", metrics=metrics))
    return views.steps(*rows)


def step_summary(last_step: int = 100, batch_size: tuple[float, float] | None = None) -> StepSummary:
    """Build what steps come to."""
    metrics = {}
    if batch_size is not None:
        low, high = batch_size
        metrics["batch_size"] = MetricSummary(first=low, last=high, low=low, high=high)
    return StepSummary(count=last_step, last_step=last_step, metrics=metrics)


def cuda_oom(**gib: float) -> LogError:
    """Build an allocation on a GPU that failed; sizes in GiB."""
    return LogError(
        level="ERROR",
        type="torch.OutOfMemoryError",
        message="CUDA out of memory",
        signature="cuda_oom",
        fields={f"{name}_bytes": int(size * GIB) for name, size in gib.items()},
    )


def changed(seconds: float, batch: object) -> Event:
    """Build a change of the batch size."""
    return views.event(seconds, "batch_size_changed", batch_size=batch)

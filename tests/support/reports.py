"""Build reports as analysis makes them, without analysing anything."""

from jobmeter.model.report import (
    Cause,
    Evidence,
    Finding,
    Health,
    LogError,
    Prediction,
    Recommendation,
    Report,
    Severity,
    Verdict,
)
from support.views import GIB, STARTED

WORKERS = Recommendation(
    rule="num_workers",
    severity=Severity.CRITICAL,
    title="Reduce worker count",
    action="Set num_workers: 0",
    impact="Saves about 16 GiB of memory",
    config_path="config.process[0].datasets[0].num_workers",
    current_value=2,
    recommended_value=0,
    predictions=(
        Prediction(
            quantity="memory_peak_bytes",
            unit="bytes",
            before=119.0 * GIB,
            after=103.0 * GIB,
            low=101.0 * GIB,
            high=106.0 * GIB,
        ),
    ),
)
NEAR_LIMIT = Finding(
    detector="near_limit",
    severity=Severity.CRITICAL,
    sentence="memory stood above 95 % of its limit for 12 min",
    key="cgroup_mem_unreclaimable",
    begin=STARTED + 60,
    end=STARTED + 780,
)
CUDA_OOM = LogError(
    level="ERROR",
    type="torch.OutOfMemoryError",
    message="CUDA out of memory. Tried to allocate 2.00 GiB",
    signature="cuda_oom",
    timestamp=STARTED + 780,
    traceback="Traceback (most recent call last):\n  File 'train.py', line 3\n",
    count=4,
    ranks=(0, 1, 2, 3),
    stream="stderr",
    memory_at_time_bytes=119 * GIB,
)


def verdict(cause: Cause = Cause.OOM_CGROUP, **changes: object) -> Verdict:
    """Build a verdict that the kernel itself gave."""
    evidence = Evidence(
        sentence="the kernel counted 1 kill",
        source="event oom_kill",
        timestamp=STARTED + 780,
        quote="oom_kill 1",
    )
    known: dict[str, object] = {
        "cause": cause,
        "sentence": "the kernel killed it: it needed more than its 120 GiB",
        "confidence": 0.98,
        "evidence": (evidence, Evidence(sentence="SIGKILL ended it", source="exit status", rank=3)),
    }
    return Verdict(**(known | changes))  # type: ignore[arg-type]


def report(**changes: object) -> Report:
    """Build the report of a training that ran out of memory; keywords replace its parts."""
    known: dict[str, object] = {
        "verdict": verdict(),
        "health": Health.CRITICAL,
        "findings": (NEAR_LIMIT,),
        "recommendations": (WORKERS,),
        "log_errors": (CUDA_OOM,),
    }
    return Report(**(known | changes))  # type: ignore[arg-type]

"""Why a run ended: one judge per file, each looks for its own evidence and says nothing without it.

The order is the strength of the evidence: what the kernel counted, what the kernel and the scheduler wrote, what was
asked for by an option, what the job itself said before it died, how it died, how its numbers went, that it ended well.
"""

from types import ModuleType

from jobmeter.analysis.verdict import (
    completed,
    config_error,
    cuda_oom,
    disk_full,
    diverged,
    exception,
    hang,
    host_memory,
    import_error,
    interrupted,
    kernel_log,
    killed,
    nan_loss,
    nccl,
    oom_counter,
    resource_limit,
    scheduler,
    time_limit,
    worker_killed,
)

JUDGES: dict[str, ModuleType] = {
    "oom_counter": oom_counter,
    "kernel_log": kernel_log,
    "hang": hang,
    "scheduler": scheduler,
    "time_limit": time_limit,
    "cuda_oom": cuda_oom,
    "worker_killed": worker_killed,
    "nccl": nccl,
    "disk_full": disk_full,
    "resource_limit": resource_limit,
    "host_memory": host_memory,
    "import_error": import_error,
    "config_error": config_error,
    "interrupted": interrupted,
    "nan_loss": nan_loss,
    "killed": killed,
    "exception": exception,
    "diverged": diverged,
    "completed": completed,
}
"""By name, the strongest evidence first; each has `judge(view) -> Verdict | None`."""

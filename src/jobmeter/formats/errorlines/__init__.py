"""Errors out of any job's text: one known failure per file, tried in the order below.

A signature is a function from a line, or from the exception a traceback ended in, to what it says of the failure. What
misleads: most lines that hold the word `error` are none. A reader that is not sure gives nothing.
"""

from jobmeter.formats.errorlines import (
    assertion,
    build_failed,
    cancelled,
    child_failed,
    config_error,
    cpu_oom,
    cuda_oom,
    disk_full,
    exception,
    gpu_fault,
    import_error,
    interrupted,
    kernel_oom,
    nan_loss,
    nccl_error,
    nccl_timeout,
    oom_killed,
    reader,
    resource_limit,
    segfault,
    time_limit,
    worker_killed,
)
from jobmeter.formats.errorlines.sign import Signature

SIGNATURES: dict[str, Signature] = {
    "kernel_oom": Signature(kernel_oom.WORDS, kernel_oom.read),
    "time_limit": Signature(time_limit.WORDS, time_limit.read),
    "oom_killed": Signature(oom_killed.WORDS, oom_killed.read),
    "worker_killed": Signature(worker_killed.WORDS, worker_killed.read),
    "cuda_oom": Signature(cuda_oom.WORDS, cuda_oom.read),
    "nccl_timeout": Signature(nccl_timeout.WORDS, nccl_timeout.read),
    "gpu_fault": Signature(gpu_fault.WORDS, gpu_fault.read),
    "nccl_error": Signature(nccl_error.WORDS, nccl_error.read),
    "disk_full": Signature(disk_full.WORDS, disk_full.read),
    "resource_limit": Signature(resource_limit.WORDS, resource_limit.read),
    "cpu_oom": Signature(cpu_oom.WORDS, cpu_oom.read),
    "nan_loss": Signature(nan_loss.WORDS, nan_loss.read),
    "import_error": Signature(import_error.WORDS, import_error.read),
    "config_error": Signature(config_error.WORDS, config_error.read),
    "child_failed": Signature(child_failed.WORDS, child_failed.read),
    "interrupted": Signature(interrupted.WORDS, interrupted.read),
    "cancelled": Signature(cancelled.WORDS, cancelled.read),
    "segfault": Signature(segfault.WORDS, segfault.read),
    "assertion": Signature(assertion.WORDS, assertion.read),
    "build_failed": Signature(build_failed.WORDS, build_failed.read),
    "exception": Signature(exception.WORDS, exception.read),
}
"""By name, the most particular first: `exception` takes whatever a traceback ended in."""


class ErrorReader(reader.Reader):
    """Reads the errors of one stream of a job's text, fed in any portions."""

    def __init__(self) -> None:
        super().__init__(SIGNATURES)

"""What to change: one rule a module, each a pure function from a case to recommendations.

A rule without the data it needs is silent; a prediction it makes has an interval and is held against the
next run.
"""

from collections.abc import Iterable
from typing import Protocol

from jobmeter.analysis.case import Case
from jobmeter.model.report import Recommendation


class Rule(Protocol):
    """A module in this folder: its name is the rule's."""

    def advise(self, case: Case) -> Iterable[Recommendation]:
        """Say what to change after this run."""


RULES: dict[str, str] = {
    "batch_size": "jobmeter.analysis.rules.batch_size",
    "checkpoint": "jobmeter.analysis.rules.checkpoint",
    "cpu_quota": "jobmeter.analysis.rules.cpu_quota",
    "cpus_request": "jobmeter.analysis.rules.cpus_request",
    "dead_worker": "jobmeter.analysis.rules.dead_worker",
    "disk_full": "jobmeter.analysis.rules.disk_full",
    "ema": "jobmeter.analysis.rules.ema",
    "exception_place": "jobmeter.analysis.rules.exception_place",
    "fragmentation": "jobmeter.analysis.rules.fragmentation",
    "gpu_neighbour": "jobmeter.analysis.rules.gpu_neighbour",
    "gpus_request": "jobmeter.analysis.rules.gpus_request",
    "gradient_checkpointing": "jobmeter.analysis.rules.gradient_checkpointing",
    "import_name": "jobmeter.analysis.rules.import_name",
    "larger_batch": "jobmeter.analysis.rules.larger_batch",
    "leak": "jobmeter.analysis.rules.leak",
    "learning_rate": "jobmeter.analysis.rules.learning_rate",
    "memory_request": "jobmeter.analysis.rules.memory_request",
    "missing_module": "jobmeter.analysis.rules.missing_module",
    "more_workers": "jobmeter.analysis.rules.more_workers",
    "nccl_timeout": "jobmeter.analysis.rules.nccl_timeout",
    "no_checkpointing": "jobmeter.analysis.rules.no_checkpointing",
    "num_workers": "jobmeter.analysis.rules.num_workers",
    "open_files": "jobmeter.analysis.rules.open_files",
    "pin_memory": "jobmeter.analysis.rules.pin_memory",
    "prefetch": "jobmeter.analysis.rules.prefetch",
    "quantisation": "jobmeter.analysis.rules.quantisation",
    "refused_setting": "jobmeter.analysis.rules.refused_setting",
    "resolution": "jobmeter.analysis.rules.resolution",
    "sent_signal": "jobmeter.analysis.rules.sent_signal",
    "shared_memory": "jobmeter.analysis.rules.shared_memory",
    "tensor_too_big": "jobmeter.analysis.rules.tensor_too_big",
    "threads": "jobmeter.analysis.rules.threads",
    "time_request": "jobmeter.analysis.rules.time_request",
}
"""By name, in alphabetical order: the module."""

FIRST: tuple[str, ...] = (
    "leak",
    "num_workers",
    "quantisation",
    "ema",
    "batch_size",
    "gradient_checkpointing",
    "resolution",
    "larger_batch",
    "no_checkpointing",
)
"""Of advice that matters equally, what is said first, in this order; the rest follows by how much it changes."""

"""What stands out in a run: one detector a module, each a pure function from a view to findings.

A detector without the data it needs finds nothing. Same view, same findings, in the same order.
"""

from collections.abc import Iterable
from typing import Protocol

from jobmeter.model.report import Finding
from jobmeter.model.view import RunView


class Detector(Protocol):
    """A module in this folder: its name is the detector's."""

    def detect(self, view: RunView) -> Iterable[Finding]:
        """Look at one run."""


DETECTORS: dict[str, str] = {
    "cores_idle": "jobmeter.analysis.detectors.cores_idle",
    "cpu_throttled": "jobmeter.analysis.detectors.cpu_throttled",
    "gpu_bound": "jobmeter.analysis.detectors.gpu_bound",
    "gpu_memory_near_limit": "jobmeter.analysis.detectors.gpu_memory_near_limit",
    "gpu_neighbour": "jobmeter.analysis.detectors.gpu_neighbour",
    "gpu_starved": "jobmeter.analysis.detectors.gpu_starved",
    "gpu_throttled": "jobmeter.analysis.detectors.gpu_throttled",
    "io_bound": "jobmeter.analysis.detectors.io_bound",
    "leak": "jobmeter.analysis.detectors.leak",
    "learned": "jobmeter.analysis.detectors.learned",
    "loss_diverged": "jobmeter.analysis.detectors.loss_diverged",
    "loss_nan": "jobmeter.analysis.detectors.loss_nan",
    "loss_plateau": "jobmeter.analysis.detectors.loss_plateau",
    "memory_pressure": "jobmeter.analysis.detectors.memory_pressure",
    "near_limit": "jobmeter.analysis.detectors.near_limit",
    "phases": "jobmeter.analysis.detectors.phases",
    "rank_imbalance": "jobmeter.analysis.detectors.rank_imbalance",
    "rank_stopped": "jobmeter.analysis.detectors.rank_stopped",
    "spikes": "jobmeter.analysis.detectors.spikes",
    "stall": "jobmeter.analysis.detectors.stall",
    "stragglers": "jobmeter.analysis.detectors.stragglers",
    "swap": "jobmeter.analysis.detectors.swap",
    "throughput_decay": "jobmeter.analysis.detectors.throughput_decay",
    "troughs": "jobmeter.analysis.detectors.troughs",
}
"""By name, in alphabetical order: the module."""

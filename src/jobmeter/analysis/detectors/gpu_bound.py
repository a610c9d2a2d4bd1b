"""GPU-bound: the GPUs were busy nearly all of the time they worked, so the host keeps up with them.

No complaint: it says where not to look. What can mislead: utilisation is the share of time in which any kernel ran; a
GPU that runs many tiny kernels is at 100 % too.
"""

from collections.abc import Iterable

from jobmeter.analysis import gpus
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

BOUND_PERCENT = 90.0
LEAST_SECONDS = 30.0


def detect(view: RunView) -> Iterable[Finding]:
    """Tell whether the GPUs are what limits the job."""
    util = gpus.mean_util(view, LEAST_SECONDS)
    if util is None or util < BOUND_PERCENT:
        return
    worked = gpus.devices(view)
    shown = units.format_percent(util)
    yield Finding(
        detector="gpu_bound",
        severity=Severity.INFO,
        sentence=f"the GPU was busy {shown} of the time it worked: faster loading of data would not help",
        key=worked[0].key("util"),
        evidence=(Evidence(sentence=f"{shown} in the mean", source=worked[0].key("util"), value=util),),
        figures={"gpu_util_percent": round(util, 2), "gpu_count": len(worked)},
    )

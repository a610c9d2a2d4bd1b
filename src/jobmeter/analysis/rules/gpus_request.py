"""`--gres` that fits: fewer GPUs where some of them never did anything."""

from collections.abc import Iterable

import numpy as np

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.model.report import Evidence, Recommendation, Severity
from jobmeter.model.run import Status

_IDLE_PERCENT = 1.0
_FEWEST_SAMPLES = 10
_TOOLS = ("nvml", "nvsmi", "rocm", "dcgm")


def advise(case: Case) -> Iterable[Recommendation]:
    """Give back GPUs that stood idle."""
    run = case.view.run
    if run.status is not Status.COMPLETED:
        return
    for tool in _TOOLS:
        devices = {
            instance: float(np.max(series.values))
            for (key, instance), series in case.view.series.items()
            if key == f"{tool}_util" and instance and len(series.values) >= _FEWEST_SAMPLES
        }
        used = sum(busiest > _IDLE_PERCENT for busiest in devices.values())
        if devices and 0 < used < len(devices):
            yield _fewer(case, used, len(devices))
        if devices:
            return


def _fewer(case: Case, used: int, given: int) -> Recommendation:
    asked = configs.request(case.view.run, Asked.GPUS)
    return Recommendation(
        rule="gpus_request",
        severity=Severity.WARNING,
        title="Ask for fewer GPUs",
        action=f"Set --gres=gpu:{used}",
        impact=f"Frees {given - used} of {given} GPUs that never did anything",
        config_path=Asked.GPUS.value if asked is None else asked.path,
        current_value=f"gpu:{given}",
        recommended_value=f"gpu:{used}",
        evidence=(
            Evidence(
                sentence=f"{used} of {given} GPUs were ever busy", source="gpu_util_percent", value=used
            ),
        ),
    )

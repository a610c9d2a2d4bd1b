"""GPU memory near limit: a GPU of the job was nearly full.

What can mislead: frameworks keep what they freed and some take most of the GPU at the start, so a full GPU is often no
need; therefore nothing here is critical unless an allocation really failed.
"""

from collections.abc import Iterable

from jobmeter.analysis import gpus, readings
from jobmeter.analysis.gpus import Device
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.view import RunView

_SIGNATURE = "cuda_oom"


def detect(view: RunView) -> Iterable[Finding]:
    """Tell which GPUs were nearly full."""
    warning, critical = readings.thresholds(view.run)
    ran_out = any(error.signature == _SIGNATURE for error in view.log_errors)
    for device in gpus.devices(view):
        if device.mem_used is None or device.mem_total is None:
            continue
        top = int(device.mem_used.values.argmax())
        peak, total = float(device.mem_used.values[top]), float(device.mem_total.values.max())
        if total < 1 or peak < warning * total:
            continue
        severity = Severity.WARNING if peak >= critical * total else Severity.INFO
        moment = float(device.mem_used.times[top])
        yield _finding(device, (peak, total), moment, Severity.CRITICAL if ran_out else severity)


def _finding(device: Device, sizes: tuple[float, float], moment: float, severity: Severity) -> Finding:
    peak, total = sizes
    held, whole = units.format_bytes(peak), units.format_bytes(total)
    share = units.format_percent(100 * peak / total)
    return Finding(
        detector="gpu_memory_near_limit",
        severity=severity,
        sentence=f"{held} of the {whole} of {device.label} were in use, {share}; a framework's cache counts as used",
        key=device.key("mem_used"),
        begin=moment,
        end=moment,
        instance=device.instance,
        evidence=(
            Evidence(sentence=f"{held} at most", source=device.key("mem_used"), value=peak, timestamp=moment),
            Evidence(sentence=f"{whole} in all", source=device.key("mem_total"), value=total),
        ),
        figures={"ratio": round(peak / total, 4), "peak_bytes": peak, "limit_bytes": total},
    )

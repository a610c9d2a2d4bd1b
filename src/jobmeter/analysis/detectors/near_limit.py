"""Near limit: the memory the job itself needed came close to what it may use.

Counted is what the kernel cannot drop, never page cache (`analysis/peaks.py`). The job's own thresholds
(`monitoring:` of its config) win over 0.85 and 0.95.

What can mislead: a limit that is the whole machine's is shared with everyone on it.
"""

from collections.abc import Iterable

from jobmeter.analysis import peaks, readings
from jobmeter.analysis.peaks import Peak
from jobmeter.model import units
from jobmeter.model.report import Evidence, Finding, Severity
from jobmeter.model.run import Run, Status, Value
from jobmeter.model.view import RunView


def detect(view: RunView) -> Iterable[Finding]:
    """Tell how close the job came to its memory limit."""
    limit = view.run.limits.memory_bytes
    peak = peaks.memory_peak(view)
    if peak is None or not limit or limit <= 0:
        return
    warning, critical = readings.thresholds(view.run)
    ratio = peak.size_bytes / limit
    if ratio < warning:
        return
    is_critical = ratio >= critical and not _was_not_held(view.run, ratio)
    yield _finding(view.run, peak, limit, Severity.CRITICAL if is_critical else Severity.WARNING)


def _was_not_held(run: Run, ratio: float) -> bool:
    """Tell whether the limit was passed and nothing came of it: schedulers do not always enforce a request."""
    return ratio > 1 and run.status is Status.COMPLETED


def _remark(run: Run, peak: Peak, ratio: float) -> str:
    if _was_not_held(run, ratio):
        return "; nobody held it to that"
    return "; page cache is not counted" if peak.key.startswith("cgroup_") else ""


def _finding(run: Run, peak: Peak, limit: int, severity: Severity) -> Finding:
    ratio = peak.size_bytes / limit
    share, held, allowed = (
        units.format_percent(100 * ratio),
        units.format_bytes(peak.size_bytes),
        units.format_bytes(limit),
    )
    source = readings.limit_source(run, "memory")
    whose = "the machine has" if source == "host" else "it may use"
    figures: dict[str, Value] = {
        "ratio": round(ratio, 4),
        "peak_bytes": peak.size_bytes,
        "limit_bytes": limit,
        "left_bytes": limit - peak.size_bytes,
    }
    if source is not None:
        figures["limit_source"] = source
    return Finding(
        detector="near_limit",
        severity=severity,
        sentence=f"the job needed {held} of the {allowed} of memory {whose}, {share}{_remark(run, peak, ratio)}",
        key=peak.key,
        begin=peak.moment,
        end=peak.moment,
        evidence=(
            Evidence(
                sentence=f"{held} at its largest",
                source=peak.key,
                value=peak.size_bytes,
                timestamp=peak.moment,
            ),
            Evidence(sentence=f"the limit is {allowed}", source=source or "limits", value=limit),
        ),
        figures=figures,
    )

"""Build campaigns under the names their scripts call: `parse_build_stats_from_logs`, `record_build_result`, ...

The formulas for samples are those of the original, faults included; the bookkeeping is jobmeter's, so that rates are
percentages on every path, sums never shrink, and a build that still waits is not a failure. `path` names the
`campaign_stats.json` to use; without it, it is the one in jobmeter's home. Nothing is fetched from anywhere unless a
`fetcher` is given: `read_log` from here asks gcloud.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from jobmeter.analysis.buildstats import (
    build_metrics,
    calculate_consistency_score,
    detect_anomalies,
    score_band,
)
from jobmeter.config import home as homes
from jobmeter.service import campaign, campaign_book, campaign_builds, campaign_text
from jobmeter.service.gcloud import describe, read_log

__all__ = [
    "MAX_RECENT_BUILDS",
    "build_metrics",
    "calculate_consistency_score",
    "describe",
    "detect_anomalies",
    "load_campaign_stats",
    "parse_build_stats_from_logs",
    "read_log",
    "record_build_result",
    "record_fatigue_event",
    "score_band",
    "update_build_completion",
    "update_pending_build",
]

MAX_RECENT_BUILDS = campaign_book.MAX_RECENT_BUILDS
Place = str | os.PathLike[str] | None
Fetcher = Callable[[str, str], str | None]
Log = str | bytes | os.PathLike[str] | Callable[[], str | None]
Record = dict[str, object]
_LONGEST_PATH = 4096


def parse_build_stats_from_logs(
    source: Log,
    region: str = "",
    *,
    build_id: str = "",
    fetcher: Fetcher | None = None,
    debug: bool = False,
) -> Record:
    """Give the metrics of a build's samples: from a text, a file, a function, or by id where `fetcher` is given.

    A log without samples gives empty lists and zeros.
    """
    say = campaign_text.to_stderr if debug else campaign_text.silent
    if fetcher is not None:
        named = str(source)
        return campaign_builds.metrics_of_log(fetcher(named, region) or "", named, say)
    return campaign_builds.metrics_of_log(_text(source), build_id, say)


def _text(source: Log) -> str:
    if callable(source):
        return source() or ""
    if isinstance(source, bytes):
        return source.decode("utf-8", "replace")
    if isinstance(source, os.PathLike):
        return campaign.read_log(os.fspath(source))
    is_path = len(source) < _LONGEST_PATH and "\n" not in source and os.path.isfile(source)
    return campaign.read_log(source) if is_path else source


def record_build_result(  # noqa: PLR0913  # the original's parameters, by name and place
    region: str,
    success: bool | None,
    duration_minutes: float | None = None,
    queue_wait_minutes: float = 0.0,
    error_message: str | None = None,
    build_id: str | None = None,
    build_type: str | None = None,
    machine_type: str | None = None,
    status: str | None = None,
    duration_seconds: int | None = None,
    queue_wait_seconds: int | None = None,
    working_seconds: int | None = None,
    total_steps: int | None = None,
    failed_step: int | None = None,
    spot_price_per_hour: float | None = None,
    timeout_reason: str | None = None,
    fatigues: Iterable[Mapping[str, object]] | None = None,
    *,
    resource_metrics: Mapping[str, object] | None = None,
    cloudbuild_metrics: Mapping[str, object] | None = None,
    fetcher: Fetcher | None = None,
    path: Place = None,
    debug: bool = False,
) -> tuple[int, float]:
    """Record a build; returns how many builds the region ever had and its success rate in percent."""
    told: Record = {
        **_ending(success, status, build_id),
        **_spans(duration_minutes, duration_seconds, queue_wait_minutes, queue_wait_seconds),
        "build_id": build_id,
        "build_type": build_type,
        "machine_type": machine_type,
        "working_seconds": working_seconds,
        "total_steps": total_steps,
        "failed_step": failed_step,
        "spot_price_per_hour": spot_price_per_hour,
        "error": error_message,
        "timeout_reason": timeout_reason,
        "fatigues": [dict(fatigue) for fatigue in fatigues] if fatigues else None,
        **_metrics(build_id, region, resource_metrics, fetcher, debug=debug),
        **(cloudbuild_metrics or {}),
    }
    answer = campaign.settle(_place(path), campaign_builds.Told(region=region, fields=told))
    return answer.total_builds, answer.success_rate


def update_build_completion(  # noqa: PLR0913  # the original's parameters, by name and place
    region: str,
    build_id: str,
    success: bool,
    duration_minutes: float | None = None,
    queue_wait_minutes: float = 0.0,
    error_message: str | None = None,
    duration_seconds: int | None = None,
    queue_wait_seconds: int | None = None,
    working_seconds: int | None = None,
    total_steps: int | None = None,
    failed_step: int | None = None,
    spot_price_per_hour: float | None = None,
    timeout_reason: str | None = None,
    fatigues: Iterable[Mapping[str, object]] | None = None,
    *,
    resource_metrics: Mapping[str, object] | None = None,
    cloudbuild_metrics: Mapping[str, object] | None = None,
    fetcher: Fetcher | None = None,
    path: Place = None,
    debug: bool = False,
) -> tuple[int, float]:
    """Say how a build ended that was recorded before; one that was not is recorded now, on the same path."""
    return record_build_result(
        region,
        success,
        duration_minutes,
        queue_wait_minutes,
        error_message,
        build_id=build_id,
        status=None if success else timeout_reason and "TIMEOUT",
        duration_seconds=duration_seconds,
        queue_wait_seconds=queue_wait_seconds,
        working_seconds=working_seconds,
        total_steps=total_steps,
        failed_step=failed_step,
        spot_price_per_hour=spot_price_per_hour,
        timeout_reason=timeout_reason,
        fatigues=fatigues,
        resource_metrics=resource_metrics,
        cloudbuild_metrics=cloudbuild_metrics,
        fetcher=fetcher,
        path=path,
        debug=debug,
    )


def update_pending_build(region: str, build_id: str, status: str = "QUEUED", *, path: Place = None) -> None:
    """Give the build that was announced as `pending` its id, or a build its new state."""
    told: Record = {"build_id": build_id, "status": status, "success": campaign_builds.succeeded(status)}
    campaign.settle(_place(path), campaign_builds.Told(region=region, fields=told), may_be_pending=True)


def record_fatigue_event(
    region: str, reason: str, reason_code: str, error_message: str | None = None, *, path: Place = None
) -> None:
    """Write down that a region would not take a build."""
    campaign.note_fatigue(_place(path), region, error_message or reason, reason_code)


def load_campaign_stats(path: Place = None) -> Record:
    """Read the whole campaign; one that has not begun is empty."""
    return campaign.load(_place(path))


def _place(path: Place) -> Path:
    if path is not None:
        return Path(path)
    return campaign.file_of(homes.find_home(homes.working_directory(), os.environ, None))


def _ending(success: bool | None, status: str | None, build_id: str | None) -> Record:
    waits = success is None or (not success and status is None and build_id == campaign_book.PENDING_ID)
    if waits or (status or "").upper() in campaign_book.PENDING:
        return {"status": status or "PENDING"}
    return {"success": success, "status": status or ("SUCCESS" if success else "FAILURE")}


def _spans(
    minutes: float | None, seconds: int | None, queue_minutes: float, queue_seconds: int | None
) -> Record:
    if seconds is None and minutes is not None:
        seconds = round(minutes * 60)
    if queue_seconds is None and queue_minutes:
        queue_seconds = round(queue_minutes * 60)
    return {"duration_seconds": seconds, "queue_wait_seconds": queue_seconds}


def _metrics(
    build_id: str | None,
    region: str,
    given: Mapping[str, object] | None,
    fetcher: Fetcher | None,
    *,
    debug: bool,
) -> Mapping[str, object]:
    if given is not None or fetcher is None or build_id in (None, campaign_book.PENDING_ID):
        return given or {}
    return parse_build_stats_from_logs(build_id or "", region, fetcher=fetcher, debug=debug)

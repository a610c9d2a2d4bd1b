"""con-duct's logs: every form from 0.2 to 0.23, the 0.3.0 draft schema, and the prototype of 2024.

What misleads: `command` is the arguments joined by spaces, so they cannot be told apart again; a signal is
stored as 128+n, as a program may exit by itself; 0.2.0 and 0.3.0 added up the first process only; a run
whose con-duct was killed has an info file of no bytes.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.config import signals
from jobmeter.errors import UsageError
from jobmeter.formats import duct_files, duct_keys, duct_prototype, duct_usage, loose_json
from jobmeter.model.imported import Imported, identify
from jobmeter.model.measurement import Measurement
from jobmeter.model.run import Output, Provenance, Run, Status, Value

ORIGIN = "duct"

_INTERRUPT = 2
_SIGNAL_BASE = 128
_LARGEST_SIGNAL = 64
_FIRST_SUMMED_RELEASE = (0, 3, 1)
_DRAFT_SCHEMA = "0.3.0"

_HOST_FIELDS = {
    "hostname": "hostname",
    "os_name": "system",
    "os_release": "release",
    "os_version": "version",
    "arch": "machine",
    "processor": "processor",
    "distro_pretty_name": "distribution",
    "distro_id": "distribution_id",
    "distro_version_id": "distribution_version",
    "cpu_total": "cpus",
    "memory_total": "memory_bytes",
}
"""con-duct's `system` to the host record of a run folder; the rest stays under `duct`."""


def sniff(head: bytes, name: str) -> float:
    """Claim info, usage and prototype files; one of no bytes only by its name."""
    if duct_prototype.MARK in head:
        return 1.0
    named = name.endswith((duct_files.INFO_SUFFIX, *duct_files.USAGE_SUFFIXES))
    if not head:
        return 0.1 if named else 0.0
    start = head.lstrip()
    if start.startswith(b'{"command":') and (b'"duct_version":' in head or b'"system":' in head or named):
        return 1.0
    if not start.startswith(b'{"timestamp":') or b'"num_samples":' not in head:
        return 0.0
    if b'"processes":' in head:
        return 1.0
    # jobmeter's own usage lines have measurements too, after the clock that con-duct never had
    return 0.9 if b'"measurements":' in head and b'"clock":' not in head else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the run that a file belongs to, whichever of its files is named."""
    if _is_prototype(path):
        return (duct_prototype.parse(path),)
    files = duct_files.find(path)
    record = _read_info(files.info)
    usage = duct_usage.survey(files.usage) if files.usage is not None else duct_usage.Survey()
    if record is None and not usage.windows:
        raise UsageError("nothing was recorded: no info, no usage lines", hint="give a run that was sampled")
    digest = files.digest()
    return (
        Imported(
            format=ORIGIN,
            digest=digest,
            run=_run(files, digest, record or {}, usage),
            sources=files.existing,
            windows=duct_usage.UsageFile(files.usage) if files.usage is not None else (),
            outputs=_outputs(files),
        ),
    )


def _is_prototype(path: Path) -> bool:
    with path.open("rb") as file:
        return duct_prototype.MARK in file.read(512)


def _read_info(path: Path | None) -> dict[str, object] | None:
    if path is None or path.stat().st_size == 0:
        return None
    record = loose_json.parse_object(path.read_bytes())
    if record is None or "execution_summary" not in record:
        raise UsageError(f"{path.name} is damaged", hint="move it away to import the samples alone")
    return record


def _run(files: duct_files.Files, digest: str, info: dict[str, object], usage: duct_usage.Survey) -> Run:
    execution = loose_json.mapping(info.get("execution_summary"))
    system = loose_json.mapping(info.get("system"))
    command = loose_json.text(info.get("command")) or usage.leader
    started_at = loose_json.number(execution.get("start_time"))
    exit_code, signal = _ending(execution.get("exit_code"))
    summary = _summary(execution) if execution else usage.summary()
    if usage.largest_rss is not None:
        summary["ps_peak_rss"] = usage.largest_rss
    first_known = usage.first_timestamp if started_at is None else float(started_at)
    run_id = identify(first_known, digest)
    wall_seconds = loose_json.number(execution.get("wall_clock_time"))
    return Run(
        run_id=run_id,
        job_id=run_id,
        status=_status(exit_code, signal),
        command=(command,) if command else (),
        cwd=loose_json.text(info.get("working_directory")),
        message=loose_json.text(info.get("message")),
        host=loose_json.text(system.get("hostname")),
        user=loose_json.text(system.get("user")) or loose_json.text(system.get("uid")),
        exit_code=exit_code,
        signal=signal,
        started_at=first_known,
        ended_at=loose_json.number(execution.get("end_time")),
        wall_seconds=None if wall_seconds is None else float(wall_seconds),
        samples=loose_json.whole(execution.get("num_samples")) if execution else usage.samples,
        summary=summary,
        provenance=_provenance(files, info, usage, summary),
        outputs=tuple(Output(stream=stream, mode="captured", path=stream) for stream in _outputs(files)),
        definitions=_definitions(usage.keys, summary),
        context=_context(files, info, system, execution),
    )


def _ending(code: object) -> tuple[int | None, str | None]:
    exit_code = loose_json.whole(code)
    if exit_code is None:
        return None, None
    if exit_code < 0:  # 0.2.0 stored what Python said: minus the signal
        return _SIGNAL_BASE - exit_code, signals.name(-exit_code)
    number = exit_code - _SIGNAL_BASE
    return exit_code, signals.name(number) if 0 < number <= _LARGEST_SIGNAL else None


def _status(exit_code: int | None, signal: str | None) -> Status:
    if exit_code is None:
        return Status.LOST
    if signal is None:
        return Status.COMPLETED if exit_code == 0 else Status.FAILED
    # the one signal that con-duct passes on
    return Status.CANCELLED if signal == signals.name(_INTERRUPT) else Status.KILLED


def _summary(execution: dict[str, object]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for theirs, ours in (*duct_keys.PEAK_AND_MEAN.items(), *duct_keys.DRAFT_SUMMARY.items()):
        value = loose_json.number(execution.get(theirs))
        if value is None:
            continue
        found[ours] = round(value) if theirs in duct_keys.DRAFT_SUMMARY and "peak" in ours else value
    return found


def _provenance(
    files: duct_files.Files, info: dict[str, object], usage: duct_usage.Survey, summary: dict[str, Value]
) -> Provenance:
    missing: dict[str, str] = {}
    if not info:
        missing["info"] = "empty or absent: con-duct ended before it wrote it, or recorded samples only"
    if files.usage is None:
        missing["usage"] = "no usage file beside the info file"
    elif not usage.windows:
        missing["usage"] = "empty: the run ended before the first sample, or samples were not recorded"
    return Provenance(
        selected=tuple(sorted(_definitions(usage.keys, summary))),
        missing=missing,
        dropped={"usage": usage.damaged_lines} if usage.damaged_lines else {},
        inexact=_inexact(info, usage, summary),
        origin=ORIGIN,
    )


def _inexact(info: dict[str, object], usage: duct_usage.Survey, summary: dict[str, Value]) -> dict[str, str]:
    found: dict[str, str] = {}
    execution = loose_json.mapping(info.get("execution_summary"))
    if info and "start_time" not in execution:
        found["started_at"] = "time of the first sample: this schema kept no start time"
    exit_code, signal = _ending(execution.get("exit_code"))
    if signal is not None and exit_code == execution.get("exit_code"):
        found["signal"] = f"read from exit code {exit_code}, which a program may also return by itself"
    if _release(info) < _FIRST_SUMMED_RELEASE and usage.most_processes != 1:
        reason = "a lower bound: con-duct 0.2.0 and 0.3.0 counted the first process only"
        found.update({key: reason for key in summary if key.endswith("_total")})
    if info.get("schema_version") != _DRAFT_SCHEMA:
        return found
    draft = {
        "ps_mean_rss_total": "an upper bound: the draft schema averaged each report's maximum",
        "ps_cputime_total": "a lower bound: whole seconds, and what ended processes had used is lost",
        "cgroup_mem_peak": "of the cgroup con-duct ran in, which may hold more than the job",
    }
    found.update({key: reason for key, reason in draft.items() if key in summary})
    return found


def _release(info: dict[str, object]) -> tuple[int, ...]:
    words = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", loose_json.text(info.get("duct_version")) or "")
    return tuple(int(word or 0) for word in words.groups()) if words else _FIRST_SUMMED_RELEASE


def _definitions(window_keys: set[str], summary: dict[str, Value]) -> dict[str, Measurement]:
    return {
        key: definition
        for key, definition in duct_keys.DEFINITIONS.items()
        if key in window_keys
        or key in summary
        or any(definition.stat_key(stat.value) in summary for stat in definition.summary)
    }


def _context(
    files: duct_files.Files, info: dict[str, object], system: dict[str, object], execution: dict[str, object]
) -> dict[str, object]:
    host = {ours: _plain(system[theirs]) for theirs, ours in _HOST_FIELDS.items() if system.get(theirs)}
    user: dict[str, object] = {}
    uid, name = loose_json.whole(system.get("uid")), loose_json.text(system.get("user"))
    if uid is not None:
        user["uid"] = uid
    if name or loose_json.text(system.get("uid")):  # 0.2 to 0.4 kept $USER as uid
        user["name"] = name or loose_json.text(system.get("uid"))
    duct: dict[str, object] = {"prefix": loose_json.text(files.prefix) or ""}
    for ours, theirs in (("version", "duct_version"), ("schema_version", "schema_version")):
        if loose_json.text(info.get(theirs)):
            duct[ours] = loose_json.text(info[theirs])
    if loose_json.text(execution.get("logs_prefix")):
        duct["logs_prefix"] = loose_json.text(execution["logs_prefix"])
    if loose_json.whole(execution.get("num_reports")) is not None:
        duct["num_reports"] = loose_json.whole(execution["num_reports"])
    if system:
        duct["system"] = _plain(system)
    context = {
        "host": host,
        "user": user,
        "environment": _plain(info.get("env")) or {},
        "gpu": _plain(info.get("gpu")) or [],
        "duct": duct,
    }
    return {key: value for key, value in context.items() if value}


def _plain(value: object) -> object:
    """Keep foreign JSON as it is, made fit for UTF-8 and finite."""
    if isinstance(value, dict):
        return {str(loose_json.text(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return loose_json.text(value) or ""
    if value is None or isinstance(value, bool):
        return value
    return loose_json.number(value)


def _outputs(files: duct_files.Files) -> dict[str, Path]:
    found = {"stdout": files.stdout, "stderr": files.stderr}
    return {stream: path for stream, path in found.items() if path is not None and path.stat().st_size}

"""HTCondor's user log: events of jobs, each ended by a line of three dots.

What misleads: older logs name no year, so 1970 stands in and the run has no start; the image size is virtual memory
in KiB; `MemoryUsage` is in MiB, rounded up; a job number comes again after a pool is set up anew.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Limits, Status, Value
from jobmeter.model.view import Event

ORIGIN = "htcondor"
TOOL = "condor"
_KIB, _MIB = 1 << 10, 1 << 20
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total("condor_cputime", Unit.SECONDS, "remote user and system time, whole seconds"),
        jobrecord.total("condor_utime", Unit.SECONDS, "the part of it in user mode"),
        jobrecord.total("condor_stime", Unit.SECONDS, "the part of it in the kernel"),
        jobrecord.total("condor_elapsed", Unit.SECONDS, "from the last execution to the end"),
        jobrecord.largest("condor_image_size", Unit.BYTES, "largest virtual size reported"),
        jobrecord.largest("condor_memory_usage", Unit.BYTES, "largest memory reported, rounded up to MiB"),
        jobrecord.largest("condor_rss", Unit.BYTES, "largest resident set size reported"),
        jobrecord.total("condor_bytes_sent", Unit.BYTES, "bytes the job sent to the submit host"),
        jobrecord.total("condor_bytes_received", Unit.BYTES, "bytes it received from there"),
        jobrecord.total("condor_queued", Unit.SECONDS, "from submission to the first execution"),
    )
)
_EVENT = re.compile(
    r"(\d{3}) \((\d+)\.(\d+)\.(\d+)\) (\d[\d/-]*[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:?\d\d|Z)?) ?(.*)"
)
_YEARLESS = re.compile(r"(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)")
_USAGE = re.compile(
    r"Usr (\d+) (\d\d:\d\d:\d\d), Sys (\d+) (\d\d:\d\d:\d\d)\s+-\s+(?:Total|Run) Remote Usage"
)
_NUMBER = re.compile(r"(\d+)\s+-\s+(.+)")
_RESOURCE = re.compile(r"(Cpus|Memory \(MB\))\s*:\s*(.*)")
_SUBMIT, _EXECUTE, _TERMINATED, _IMAGE, _ABORTED, _HELD = "000", "001", "005", "006", "009", "012"
_TYPES = {
    "000": "submitted", "001": "executing", "002": "executable_error", "003": "checkpointed", "004": "evicted",
    "005": "terminated", "006": "image_size", "007": "shadow_exception", "009": "aborted", "010": "suspended",
    "011": "unsuspended", "012": "held", "013": "released", "021": "remote_error", "022": "disconnected",
    "023": "reconnected", "024": "reconnect_failed", "028": "ad_information",
}  # fmt: skip
_YEARS_LATER = 86400 * 366
NO_YEAR = "the log names no year: 1970 stands in"


@dataclass(frozen=True, slots=True)
class _Entry:
    code: str
    at: float
    head: str
    body: tuple[str, ...]


@dataclass(slots=True)
class _Story:
    id: str
    entries: list[_Entry] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def last(self, code: str) -> _Entry | None:
        """Give the last event of a kind."""
        return next((entry for entry in reversed(self.entries) if entry.code == code), None)


def sniff(head: bytes, _name: str) -> float:
    """Claim the first line of an event."""
    return 0.95 if _EVENT.match(monitorlog.head_text(head)) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per job."""
    jobs = (_job(story) for story in _stories(path))
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=TOOL, definitions=DEFINITIONS)


def _stories(path: Path) -> list[_Story]:
    current: dict[str, _Story] = {}
    found: list[_Story] = []
    for block in _blocks(path):
        first = _EVENT.match(block[0])
        at = _seconds(first[5]) if first else None
        if first is None or at is None:
            continue
        job_id = f"{int(first[2])}.{int(first[3])}"
        story = current.get(job_id)
        if story is None or first[1] == _SUBMIT:
            story = current[job_id] = _Story(job_id)
            found.append(story)
        story.entries.append(_Entry(first[1], at, first[6], tuple(line.strip() for line in block[1:])))
        story.text.extend(block)
    return found


def _blocks(path: Path) -> Iterator[list[str]]:
    block: list[str] = []
    for line in monitorlog.text_lines(path):
        if line.strip() == "...":
            if block:
                yield block
            block = []
        elif line.strip():
            block.append(line)
    if block:
        yield block  # cut off, or still being written


def _seconds(stamp: str) -> float | None:
    found = _YEARLESS.fullmatch(stamp)
    if found is None:
        told = quantity.moment(stamp)
        return None if told is None else told.seconds
    month, day, hour, minute, second = (int(part) for part in found.groups())
    try:
        return datetime(1970, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _job(story: _Story) -> jobrecord.Job:
    ended, started = story.last(_TERMINATED) or story.last(_ABORTED), story.last(_EXECUTE)
    submitted = story.last(_SUBMIT)
    code, signal = _ending(ended)
    dated = story.entries[0].at > _YEARS_LATER
    summary = _summary(story, submitted, started, ended)
    elapsed = summary.get("condor_elapsed")
    return jobrecord.Job(
        id=story.id,
        text="\n".join(story.text),
        status=_status(story, ended, code, signal),
        host=_host(started),
        exit_code=code,
        signal=signal,
        submitted_at=submitted.at if submitted and dated else None,
        started_at=started.at if started and dated else None,
        ended_at=ended.at if ended and dated else None,
        wall_seconds=elapsed if isinstance(elapsed, int | float) else None,
        limits=_limits(ended),
        summary=summary,
        details={"first_event": story.text[0][:200]},
        missing={} if dated else {"started_at": NO_YEAR},
        inexact={"condor_cputime": "whole seconds"} if "condor_cputime" in summary else {},
        events=tuple(_event(entry) for entry in story.entries if entry.code != _IMAGE),
    )


def _status(story: _Story, ended: _Entry | None, code: int | None, signal: str | None) -> Status:
    if ended is not None:
        return Status.CANCELLED if ended.code == _ABORTED else jobrecord.outcome(code, signal)
    last = next((entry.code for entry in reversed(story.entries) if entry.code != _IMAGE), _EXECUTE)
    if last == _HELD:
        return Status.PAUSED
    return Status.RUNNING if last == _EXECUTE else Status.QUEUED


def _ending(ended: _Entry | None) -> tuple[int | None, str | None]:
    text = "\n".join(ended.body) if ended else ""
    normal = re.search(r"Normal termination \(return value (-?\d+)\)", text)
    abnormal = re.search(r"Abnormal termination \(signal (\d+)\)", text)
    if abnormal:
        return jobrecord.ending(None, int(abnormal[1]))
    return (int(normal[1]), None) if normal else (None, None)


def _summary(
    story: _Story, submitted: _Entry | None, started: _Entry | None, ended: _Entry | None
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for entry in story.entries:
        _take_sizes(entry, found)
    if ended is not None:
        _take_usage(ended, found)
    if started is not None and ended is not None and ended.at >= started.at:
        found["condor_elapsed"] = quantity.tidy(ended.at - started.at)
    first = next((entry for entry in story.entries if entry.code == _EXECUTE), None)
    if submitted is not None and first is not None and first.at >= submitted.at:
        found["condor_queued"] = quantity.tidy(first.at - submitted.at)
    return found


def _take_sizes(entry: _Entry, found: dict[str, Value]) -> None:
    if entry.code != _IMAGE:
        return
    image = re.search(r"updated: (\d+)", entry.head)
    sizes = {"condor_image_size": int(image[1]) * _KIB if image else 0}
    for line in entry.body:
        told = _NUMBER.match(line)
        if told and told[2].startswith("MemoryUsage"):
            sizes["condor_memory_usage"] = int(told[1]) * _MIB
        elif told and told[2].startswith("ResidentSetSize"):
            sizes["condor_rss"] = int(told[1]) * _KIB
    for key, size in sizes.items():
        # 0 is reported before the starter has looked
        if size and size > int(found.get(key, 0)):
            found[key] = size


def _take_usage(ended: _Entry, found: dict[str, Value]) -> None:
    for line in ended.body:
        usage, told = _USAGE.match(line), _NUMBER.match(line)
        if usage:
            user, system = _days(usage[1], usage[2]), _days(usage[3], usage[4])
            found |= {"condor_utime": user, "condor_stime": system, "condor_cputime": user + system}
        elif told and told[2] == "Total Bytes Sent By Job":
            found["condor_bytes_sent"] = int(told[1])
        elif told and told[2] == "Total Bytes Received By Job":
            found["condor_bytes_received"] = int(told[1])


def _days(days: str, clock: str) -> int:
    return int(days) * 86400 + int(quantity.clock_seconds(clock) or 0)


def _limits(ended: _Entry | None) -> Limits:
    cells: dict[str, Sequence[str]] = {}
    for line in ended.body if ended else ():
        row = _RESOURCE.match(line)
        if row:
            cells[row[1]] = row[2].split()
    # the last two columns are what was asked for and what was given; usage before them may be empty
    memory = quantity.number(cells.get("Memory (MB)", [""])[-1])
    cpus = quantity.number(cells.get("Cpus", [""])[-1])
    return Limits(memory_bytes=round(memory * _MIB) if memory else None, cpus=float(cpus) if cpus else None)


def _host(started: _Entry | None) -> str | None:
    found = re.search(r"<([^:?>]+)", started.head) if started else None
    return found[1] if found else None


def _event(entry: _Entry) -> Event:
    details: dict[str, object] = {"text": entry.head} | ({"lines": list(entry.body)} if entry.body else {})
    return Event(timestamp=entry.at, type=_TYPES.get(entry.code, f"event_{entry.code}"), details=details)

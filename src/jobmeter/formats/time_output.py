"""What `time` prints at the end of a command: GNU (`-v` and short), BSD (`-l`), POSIX (`-p`) and bash's own.

What misleads: the largest resident size is of one process, not of all together; it is in KiB from GNU and the BSDs
but in bytes on macOS, told apart by what the page faults allow; `0` averages were never measured by Linux.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.imported import Imported
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Value

ORIGIN = "time_output"
TOOL = "time"
DEFINITIONS = monitorlog.table(
    (
        jobrecord.total(
            "time_cputime", Unit.SECONDS, "user and system time of the command and what it waited for"
        ),
        jobrecord.total("time_utime", Unit.SECONDS, "the part of it in user mode"),
        jobrecord.total("time_stime", Unit.SECONDS, "the part of it in the kernel"),
        jobrecord.total("time_elapsed", Unit.SECONDS, "wall time"),
        jobrecord.largest("time_maxrss", Unit.BYTES, "largest resident size of any one process"),
        jobrecord.total("time_major_faults", Unit.COUNT, "page faults that waited for storage"),
        jobrecord.total("time_minor_faults", Unit.COUNT, "page faults that did not"),
        jobrecord.total("time_voluntary_switches", Unit.COUNT, "times the command gave its CPU up"),
        jobrecord.total("time_involuntary_switches", Unit.COUNT, "times its CPU was taken"),
        jobrecord.total("time_inputs", Unit.COUNT, "blocks read, 512 bytes each on Linux"),
        jobrecord.total("time_outputs", Unit.COUNT, "blocks written"),
    )
)
_KIB = 1024
_LARGEST_PAGE = 16384

_GNU_FIELDS = {
    "User time (seconds)": "time_utime",
    "System time (seconds)": "time_stime",
    "Elapsed (wall clock) time (h:mm:ss or m:ss)": "time_elapsed",
    "Maximum resident set size (kbytes)": "time_maxrss",
    "Major (requiring I/O) page faults": "time_major_faults",
    "Minor (reclaiming a frame) page faults": "time_minor_faults",
    "Voluntary context switches": "time_voluntary_switches",
    "Involuntary context switches": "time_involuntary_switches",
    "File system inputs": "time_inputs",
    "File system outputs": "time_outputs",
}
_GNU = re.compile(r'^\s*Command being timed: "(.*)"\s*$', re.MULTILINE)
_KILLED = re.compile(r"Command terminated by signal (\d+)\s*$")
_LINE_BEFORE = 60
_SHORT = re.compile(
    r"([\d.]+)user ([\d.]+)system ([\d:.]+)elapsed [\d?.]*%?CPU \(\d+avgtext\+\d+avgdata (\d+)maxresident\)k\s+"
    r"(\d+)inputs\+(\d+)outputs \((\d+)major\+(\d+)minor\)pagefaults"
)
_POSIX = re.compile(
    r"^\s*real\s+([\dmsh.,]+)\s*\n\s*user\s+([\dmsh.,]+)\s*\n\s*sys\s+([\dmsh.,]+)\s*$", re.MULTILINE
)
_BSD_LINE = re.compile(r"^\s*([\d.]+) real\s+([\d.]+) user\s+([\d.]+) sys\s*$", re.MULTILINE)
_BSD_FIELDS = {
    "page faults": "time_major_faults",
    "page reclaims": "time_minor_faults",
    "voluntary context switches": "time_voluntary_switches",
    "involuntary context switches": "time_involuntary_switches",
    "block input operations": "time_inputs",
    "block output operations": "time_outputs",
}

Report = tuple[dict[str, Value], str, str | None, int | None]
"""Figures, text, command, exit code (less than 0 for a signal)."""


def sniff(head: bytes, _name: str) -> float:
    """Claim a report of any `time`, where little else is in the file."""
    text = monitorlog.head_text(head)
    if _GNU.search(text) and "Maximum resident set size" in text:
        return 0.95 if text.find("Command being timed") < 400 else 0.5
    if _SHORT.search(text):
        return 0.9
    found = _POSIX.search(text) or _BSD_LINE.search(text)
    if not found:
        return 0.0
    return 0.8 if "maximum resident set size" in text or not text[: found.start()].strip() else 0.2


def parse(path: Path) -> Iterable[Imported]:
    """Read one run per report."""
    text = "\n".join(monitorlog.text_lines(path))
    reports = next((found for reader in _READERS if (found := list(reader(text)))), [])
    jobs = [_job(number, *report) for number, report in enumerate(reports)]
    return jobrecord.imported(path, jobs, format=ORIGIN, tool=TOOL, definitions=DEFINITIONS)


def _job(
    number: int, figures: dict[str, Value], text: str, command: str | None, code: int | None
) -> jobrecord.Job:
    user, system = figures.get("time_utime"), figures.get("time_stime")
    if isinstance(user, int | float) and isinstance(system, int | float):
        figures = {"time_cputime": quantity.tidy(user + system), **figures}
    elapsed = figures.get("time_elapsed")
    exit_code, signal = jobrecord.ending(code, -code if code is not None and code < 0 else 0)
    missing = {} if command else {"command": "this form of time does not print it"}
    if code is None:
        missing["exit_code"] = "this form of time does not print it"
    return jobrecord.Job(
        id="" if number == 0 else str(number),
        text=f"{number}\n{text}",
        status=jobrecord.outcome(0 if code is None else exit_code, signal),
        command=(command,) if command else (),
        exit_code=exit_code,
        signal=signal,
        wall_seconds=elapsed if isinstance(elapsed, int | float) else None,
        summary=figures,
        missing=missing,
        inexact={"status": "a report says that the command ended, not how"} if code is None else {},
    )


def _gnu(text: str) -> Iterator[Report]:
    places = [found.start() for found in _GNU.finditer(text)]
    for begin, end in zip(places, [*places[1:], len(text)], strict=bool(places)):
        block = text[begin:end]
        named = _GNU.search(block)
        fields = dict(line.strip().rpartition(": ")[::2] for line in block.split("\n") if ": " in line)
        told = {key: _gnu_value(key, fields.get(name, "")) for name, key in _GNU_FIELDS.items()}
        figures = {key: value for key, value in told.items() if value is not None}
        code = quantity.number(fields.get("Exit status", ""))
        killed = _KILLED.search(text[max(0, begin - _LINE_BEFORE) : begin])
        ended = -int(killed[1]) if killed else None if code is None else int(code)
        if figures:
            yield figures, block.strip(), named[1] if named else None, ended


def _gnu_value(key: str, cell: str) -> Value | None:
    if key == "time_elapsed":
        return quantity.clock_seconds(cell)
    value = quantity.number(cell)
    return value * _KIB if value is not None and key == "time_maxrss" else value


def _short(text: str) -> Iterator[Report]:
    for found in _SHORT.finditer(text):
        user, system, elapsed, maxrss, inputs, outputs, major, minor = found.groups()
        figures = {
            "time_utime": quantity.number(user),
            "time_stime": quantity.number(system),
            "time_elapsed": quantity.clock_seconds(elapsed),
            "time_maxrss": int(maxrss) * _KIB,
            "time_major_faults": int(major),
            "time_minor_faults": int(minor),
            "time_inputs": int(inputs),
            "time_outputs": int(outputs),
        }
        yield {key: value for key, value in figures.items() if value is not None}, found.group(), None, None


def _posix(text: str) -> Iterator[Report]:
    matches = list(_POSIX.finditer(text)) or list(_BSD_LINE.finditer(text))
    ends = [*(found.start() for found in matches), len(text)][1:]
    for found, end in zip(matches, ends, strict=bool(matches)):
        keys = ("time_elapsed", "time_utime", "time_stime")
        figures: dict[str, Value] = {
            key: value
            for key, cell in zip(keys, found.groups(), strict=True)
            if (value := _span(cell)) is not None
        }
        yield figures | _bsd(text[found.end() : end]), text[found.start() : end].strip(), None, None


def _span(cell: str) -> Value | None:
    plain = cell.replace(",", ".")
    number = quantity.number(plain)
    return quantity.span_seconds(plain) if number is None else number


def _bsd(text: str) -> dict[str, Value]:
    told = {
        name: int(count) for count, name in re.findall(r"^\s*(\d+)\s+([a-z][a-z ]+?)\s*$", text, re.MULTILINE)
    }
    found: dict[str, Value] = {key: told[name] for name, key in _BSD_FIELDS.items() if name in told}
    size = told.get("maximum resident set size")
    if size is not None:
        faults = told.get("page reclaims", 0) + told.get("page faults", 0)
        # every resident page was faulted in once: more than the faults allow cannot be KiB
        found["time_maxrss"] = size if size * _KIB > faults * _LARGEST_PAGE else size * _KIB
    return found


_READERS: tuple[Callable[[str], Iterator[Report]], ...] = (_gnu, _short, _posix)

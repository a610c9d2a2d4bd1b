"""The log of a monitor as a run: windows read again at each walk, statistics from one survey of them.

A monitor's log is no job: it has no command and no exit code, and says so. Where the file has no clock its
samples stand one second apart from the first second of 1970, and the run's start stays absent.
"""

import codecs
import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import quantity
from jobmeter.model.imported import Imported, identify
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Limits, Provenance, Run, Status, Value
from jobmeter.model.view import Window

Values = dict[tuple[str, str], Value | dict[str, int]]
Reader = Callable[[Path], Iterator[Window | None]]
"""Yields the windows of a file in order, None for each line that could not be read."""

NO_LIMITS = Limits()
NO_ZONE = "the file names no time zone: read as UTC"
NO_CLOCK = "the file has no clock: its samples are placed one second apart, from 1970 on"
NOT_A_JOB = "the log of a monitor, not of a job"
_HASH_BYTES = 1 << 20
_WIDE = "utf-16"
_OVERALL = "all"
ODD_YEARS = 86400 * 366
"""What lies in the first year of the epoch is a stand-in, no date."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one file, read again at each walk."""

    path: Path
    read: Reader

    def __iter__(self) -> Iterator[Window]:
        return (window for window in self.read(self.path) if window is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a log says besides its samples."""

    name: str | None = None
    host: str | None = None
    user: str | None = None
    cwd: str | None = None
    command: tuple[str, ...] = ()
    project: str | None = None
    limits: Limits = NO_LIMITS
    missing: dict[str, str] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)
    context: dict[str, object] = field(default_factory=dict)
    summary: dict[str, Value] = field(default_factory=dict)
    """What the tool itself says of the whole; laid over the statistics of the samples."""


def gauge(
    key: str, unit: Unit, about: str, scope: Scope = Scope.DEVICE, stats: tuple[Stat, ...] = ()
) -> Measurement:
    """Define a value that goes up and down."""
    return Measurement(key, Kind.GAUGE, unit, scope, (Reduce.MAX,), stats or (Stat.PEAK, Stat.MEAN), about)


def counter(key: str, unit: Unit, about: str, scope: Scope = Scope.DEVICE) -> Measurement:
    """Define a value whose windows hold what was added."""
    return Measurement(key, Kind.COUNTER, unit, scope, (Reduce.DELTA,), (Stat.TOTAL,), about)


def label(key: str, about: str, scope: Scope = Scope.DEVICE) -> Measurement:
    """Define a text."""
    return Measurement(key, Kind.LABEL, Unit.NONE, scope, (Reduce.LAST,), (), about)


def table(measurements: Iterable[Measurement]) -> dict[str, Measurement]:
    """Index definitions by key."""
    return {measurement.key: measurement for measurement in measurements}


@dataclass(slots=True)
class _Statistic:
    count: int = 0
    total: float = 0
    low: float = 0
    high: float = 0
    last: float = 0

    def add(self, value: float) -> None:
        self.low = min(self.low, value) if self.count else value
        self.high = max(self.high, value) if self.count else value
        self.total += value
        self.last = value
        self.count += 1

    def give(self, stat: Stat) -> float:
        known = {Stat.PEAK: self.high, Stat.LOW: self.low, Stat.LAST: self.last, Stat.TOTAL: self.total}
        return self.total / self.count if stat is Stat.MEAN else known[stat]


@dataclass(slots=True)
class Survey:
    """What one walk over a log tells of the whole."""

    windows: int = 0
    samples: int = 0
    damaged: int = 0
    first: float = 0
    last: float = 0
    single: dict[str, _Statistic] = field(default_factory=dict)
    """Over all instances: the largest of any device, the mean of all readings."""
    overall: dict[str, _Statistic] = field(default_factory=dict)
    """Of the instance `all`, which some tools print beside the single ones."""
    seen: set[str] = field(default_factory=set)

    def take(self, window: Window) -> None:
        """Note one window."""
        self.first = min(self.first, window.timestamp) if self.windows else window.timestamp
        self.last = max(self.last, window.timestamp)
        self.windows += 1
        self.samples += window.num_samples
        for (key, instance), value in window.values.items():
            self.seen.add(key)
            if isinstance(value, int | float):
                kept = self.overall if instance == _OVERALL else self.single
                kept.setdefault(key, _Statistic()).add(value)

    def summary(self, definitions: Mapping[str, Measurement]) -> dict[str, Value]:
        """Name the statistics of everything but single processes."""
        found: dict[str, Value] = {}
        for key, statistic in (self.single | self.overall).items():
            definition = definitions[key]
            if definition.scope is Scope.PROCESS:
                continue
            if definition.kind is Kind.COUNTER:
                found[key] = quantity.tidy(statistic.total)
                continue
            for stat in definition.summary:
                found[definition.stat_key(stat.value)] = quantity.tidy(statistic.give(stat))
        return dict(sorted(found.items()))


def survey(windows: Iterable[Window | None]) -> Survey:
    """Walk a log once."""
    found = Survey()
    for window in windows:
        if window is None:
            found.damaged += 1
        else:
            found.take(window)
    return found


def imported(
    path: Path,
    *,
    format: str,  # noqa: A002  # the word of Imported
    definitions: Mapping[str, Measurement],
    windows: Iterable[Window | None] | Reader,
    facts: Facts | None = None,
    part: str = "",
) -> Imported:
    """Make the run of one log, or of one part of it; a reader is walked again later, a list is kept."""
    kept = Windows(path, windows) if callable(windows) else [w for w in windows if w is not None]
    seen = survey(windows(path) if callable(windows) else windows)
    if not seen.windows:
        raise UsageError(f"{path.name} holds no samples", hint="give a log that was sampled at least once")
    digest = file_digest(path, part)
    run = _run(path, digest, format, definitions, seen, facts or Facts())
    return Imported(format=format, digest=digest, run=run, sources=(path,), windows=kept)


def _run(
    path: Path,
    digest: str,
    origin: str,
    definitions: Mapping[str, Measurement],
    seen: Survey,
    facts: Facts,
) -> Run:
    dated = seen.first >= ODD_YEARS
    summary = seen.summary(definitions) | facts.summary
    known = {key: definition for key, definition in definitions.items() if _used(definition, seen, summary)}
    run_id = identify(seen.first if dated else None, digest)
    return Run(
        run_id=run_id,
        job_id=run_id,
        status=Status.COMPLETED,
        command=facts.command,
        cwd=facts.cwd,
        name=facts.name or path.name,
        project=facts.project,
        host=facts.host,
        user=facts.user,
        started_at=seen.first if dated else None,
        ended_at=seen.last if dated else None,
        wall_seconds=quantity.tidy(seen.last - seen.first) if seen.windows > 1 else None,
        samples=seen.samples,
        summary=summary,
        limits=facts.limits,
        provenance=Provenance(
            selected=tuple(sorted(known)),
            missing=({} if facts.command else {"command": NOT_A_JOB}) | facts.missing,
            dropped={"lines": seen.damaged} if seen.damaged else {},
            inexact=facts.inexact,
            origin=origin,
        ),
        definitions=known,
        context=with_limits(facts.context, facts.limits, origin, facts.user),
    )


def _used(definition: Measurement, seen: Survey, summary: Mapping[str, Value]) -> bool:
    if definition.key in seen.seen or definition.key in summary:
        return True
    return any(definition.stat_key(stat.value) in summary for stat in definition.summary)


def with_limits(
    context: Mapping[str, object], limits: Limits, source: str, user: str | None
) -> dict[str, object]:
    """Put limits and user where a run folder keeps them."""
    kept = {
        "memory_bytes": limits.memory_bytes,
        "memory_source": source if limits.memory_bytes is not None else None,
        "cpus": limits.cpus,
        "cpus_source": source if limits.cpus is not None else None,
    }
    found = dict(context)
    if limits.memory_bytes is not None or limits.cpus is not None:
        found["limits"] = {key: value for key, value in kept.items() if value is not None}
    if user:
        found["user"] = {"name": user}
    return found


def file_digest(path: Path, part: str = "") -> str:
    """Hash a file piece by piece; the parts of one file differ."""
    digest = hashlib.sha256(part.encode())
    with path.open("rb") as file:
        while piece := file.read(_HASH_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, whatever ends them; a byte-order mark and stray bytes do no harm."""
    with path.open("rb") as file:
        encoding = _encoding(file.read(2))
    with path.open(encoding=encoding, errors="replace", newline=None) as file:
        for line in file:
            yield line.rstrip("\n")


def csv_cells(line: str, delimiter: str = ",") -> list[str]:
    """Split a line of CSV with quotes; empty where it is none."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []  # a cell of more than 128 KiB: garbage


def head_text(head: bytes) -> str:
    """Decode the beginning of a file for sniffing; empty where it is no text."""
    encoding = _encoding(head[:2])
    if b"\0" in head[:1024] and encoding != _WIDE:
        return ""
    whole = head[: len(head) - len(head) % 2] if encoding == _WIDE else head
    return whole.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")


def _encoding(mark: bytes) -> str:
    """Tell UTF-16, which PowerShell writes, by the mark it begins with."""
    return _WIDE if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"

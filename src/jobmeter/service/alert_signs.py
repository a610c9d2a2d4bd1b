"""What one look at a run says of the conditions of rules: signs, in the order things were measured.

Samples are read from `usage.jsonl` itself, from where the last look ended: in the order they were taken, with the
recorder's monotonic clock, whatever its wall clock did. Of steps the newest value of each rank counts. What was not
measured gives no sign, so that nothing fires or resolves by it.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobmeter.analysis.series import LADDER, Resource
from jobmeter.model import metrics, units
from jobmeter.model.alert import Ended, Found, Holds, Level, Rule, Sign, Threshold, Told
from jobmeter.model.measurement import GPU_TOOLS, Kind, Measurement, Unit
from jobmeter.model.report import Finding, Report
from jobmeter.model.run import Run
from jobmeter.model.view import Event, Window
from jobmeter.runfolder import lines, sdkfiles, tailer
from jobmeter.service import alert_rule_text, step_summary
from jobmeter.stores import StepStatistics

USAGE = "usage.jsonl"
MOST_BYTES = 4 << 20
"""What is read in one look; the next goes on."""
_RESOURCES = {
    "cpu": Resource.CPU,
    "gpu_memory": Resource.GPU_MEMORY,
    "gpu_util": Resource.GPU,
    "memory": Resource.MEMORY,
}
_LONGEST_TITLE = 120


@dataclass(frozen=True, slots=True)
class Samples:
    """What was new in `usage.jsonl`."""

    windows: Sequence[Window]
    end: int
    is_all: bool
    """Nothing more was there."""


def samples(folder: Path, offset: int, *, closed: bool) -> Samples:
    """Read the samples past an offset, not too many at once."""
    reader = lines.WindowReader()
    windows: list[Window] = []
    end = offset
    for piece in tailer.pieces(folder, USAGE, offset, closed=closed):
        windows += reader.read(piece.lines)
        end = piece.end
        if end - offset > MOST_BYTES:
            return Samples(windows, end, is_all=False)
    return Samples(windows, end, is_all=True)


def words(folder: Path, seen: Mapping[str, int], *, closed: bool) -> tuple[list[Event], dict[str, int]]:
    """Read what was told since, file by file, and how far that is."""
    found: list[Event] = []
    ends = dict(seen)
    for name in sdkfiles.names(os.listdir(folder), sdkfiles.EVENTS):
        mapped = sdkfiles.is_mapped(name)
        for piece in tailer.pieces(folder, name, seen.get(name, 0), closed=closed, mapped=mapped):
            found += [event for line in piece.lines if (event := lines.event(line)) is not None]
            ends[name] = piece.end
    return found, ends


def beginning(folder: Path) -> int:
    """Choose where to begin with a run that was not looked at before: not with hours long past."""
    # a first line that is cut in two is no sample, and the next ones are whole
    return max(0, (tailer.size(folder, USAGE) or 0) - MOST_BYTES)


def key_of(rule: Threshold, run: Run) -> str | None:
    """Name the key a threshold is about in a run; None where none of the kind was measured."""
    resource = _RESOURCES.get(rule.key)
    if resource is None:
        return rule.key if rule.key in run.definitions else None
    return next((key for key in LADDER[resource] if key in run.definitions), None)


def of_samples(rule: Threshold, run: Run, windows: Iterable[Window]) -> Iterator[Sign]:
    """Hold samples against a threshold, each instance of the key by itself."""
    key = key_of(rule, run)
    definition = None if key is None else run.definitions.get(key)
    if key is None or definition is None or definition.kind not in (Kind.GAUGE, Kind.COUNTER):
        return
    source = definition.tool
    for window in windows:
        for (name, instance), cell in window.values.items():
            if name != key or not isinstance(cell, int | float):
                continue
            value = _in_unit(rule, definition, float(cell), window)
            limit = None if value is None else _whole(rule, run, window, instance)
            if value is None or limit is None or not math.isfinite(value):
                continue
            span = window.clock.get(source)
            yield Sign(
                instance=instance,
                holds=holds(rule, value, limit),
                sentence=_sentence(rule, definition, instance, value, limit),
                at=window.timestamp,
                clock=window.timestamp if span is None else span[1],
                value=value,
            )


def _in_unit(rule: Threshold, definition: Measurement, value: float, window: Window) -> float | None:
    """Give what a rule compares: of a counter its rate per second, of CPU cores."""
    if definition.kind is Kind.COUNTER:
        span = window.clock.get(definition.tool)
        if span is None or span[1] <= span[0]:
            return None
        return value / (span[1] - span[0])
    return value / 100 if rule.key == "cpu" and definition.unit is Unit.PERCENT else value


def _whole(rule: Threshold, run: Run, window: Window, instance: str) -> float | None:
    """Give what 100 % are, or 100 where the rule says a plain amount."""
    if not rule.of_limit:
        return 100.0
    if rule.key == "memory":
        return run.limits.memory_bytes
    totals = (window.values.get((f"{tool}_mem_total", instance)) for tool in GPU_TOOLS)
    return next((float(total) for total in totals if isinstance(total, int | float) and total > 0), None)


def holds(rule: Threshold, value: float, whole: float = 100.0) -> Holds:
    """Compare a value with a threshold and with where it clears."""
    if rule.op.holds(value, rule.value * whole / 100):
        return Holds.YES
    if rule.clear != rule.value and rule.op.holds(value, rule.clear * whole / 100):
        return Holds.BETWEEN
    return Holds.NO


def _sentence(rule: Threshold, definition: Measurement, instance: str, value: float, whole: float) -> str:
    unit = definition.unit
    if definition.kind is Kind.COUNTER and unit is Unit.BYTES:
        unit = Unit.BYTES_PER_SECOND
    name = f"{definition.key}[{instance}]" if instance else definition.key
    if rule.key == "cpu" or (definition.kind is Kind.COUNTER and unit is Unit.SECONDS):
        shown, limit = f"{units.format_metric(value)} cores", units.format_metric(rule.value)
    else:
        shown, limit = (units.format_value(one, unit) for one in (value, rule.value * whole / 100))
    share = f" ({units.format_percent(rule.value)} of its limit)" if rule.of_limit else ""
    return f"{name} is {shown}, the threshold is {rule.op.word} {limit}{share}"


def of_steps(
    rule: Threshold, found: Sequence[StepStatistics], seen: Mapping[str, int], now: float
) -> Iterator[Sign]:
    """Hold the newest value of a metric against a threshold, rank by rank, where steps came since."""
    told: set[int] = set()
    best = step_summary.best_first(found)
    several = len({one.rank for one in best}) > 1
    for one in best:
        name = None if one.rank in told else metric_of(rule.key, one.metrics())
        if name is None:
            continue
        told.add(one.rank)
        value = metrics.in_base_units(name, float(one.metrics()[name].last))
        if not math.isfinite(value) or seen.get(writer_of(one)) == one.count:
            continue
        at = max((part.pace.t1 for part in one.parts if part.pace.t1 is not None), default=now)
        subject = f"rank {one.rank}" if several else ""
        yield Sign(
            instance=subject,
            holds=holds(rule, value),
            sentence=f"{f'{subject}: ' if subject else ''}{name} is {units.format_metric(value)},"
            f" the threshold is {rule.op.word} {units.format_metric(rule.value)}",
            at=at,
            clock=at,
            value=value,
        )


def writer_of(told: step_summary.Told) -> str:
    """Name who told steps, so that the next look knows how many were seen."""
    return f"{told.rank}/{told.source}"


def metric_of(key: str, names: Iterable[str]) -> str | None:
    """Find the metric a rule means among those that were logged."""
    given = list(names)
    plain = key.removeprefix(alert_rule_text.METRIC)
    if plain in given:
        return plain
    return metrics.pick(given, plain) if plain == key else None


def of_words(rule: Told, run: Run, events: Iterable[Event]) -> Iterator[Sign]:
    """Take what the job itself told; our own alerts stand among the events too."""
    for event in events:
        details = event.details
        if event.type != "alert" or "rule" in details:
            continue
        word = str(details.get("level", "WARN"))
        level = Level(word) if word in {one.value for one in Level} else Level.WARN
        if level.order < rule.least.order:
            continue
        title, text = str(details.get("title", "")), str(details.get("text", ""))
        rank = f" (rank {event.rank})" if event.rank is not None and len(run.ranks) > 1 else ""
        sentence = f"{title}: {text}" if title and text else title or text or "the job raised an alert"
        yield Sign(
            instance=title[:_LONGEST_TITLE],
            holds=Holds.YES,
            sentence=f"{sentence}{rank}",
            at=event.timestamp,
            clock=event.timestamp,
            happened=True,
        )


def of_findings(
    rule: Found, report: Report, *, over: bool, known: Iterable[str], now: float
) -> Iterator[Sign]:
    """Hold what analysis found against a rule; what it no longer finds is well again."""
    present: dict[str, Finding] = {}
    for finding in report.findings:
        wanted = not rule.detectors or finding.detector in rule.detectors
        if wanted and finding.severity.order <= rule.least.order:
            subject = [
                finding.key,
                finding.instance,
                None if finding.rank is None else f"rank {finding.rank}",
            ]
            name = " ".join([finding.detector, *(part for part in subject if part)])
            present.setdefault(name, finding)
    for name, finding in present.items():
        yield Sign(
            instance=name, holds=Holds.YES, sentence=finding.sentence, at=now, clock=now, happened=over
        )
    for name in known:
        if name not in present:
            yield Sign(instance=name, holds=Holds.NO, sentence="", at=now, clock=now)


def of_end(rule: Ended, run: Run, report: Report, now: float) -> Iterator[Sign]:
    """Say how a run ended where the rule asks for it."""
    verdict = report.verdict
    if verdict.cause not in rule.causes:
        return
    at = run.ended_at if run.ended_at is not None else now
    yield Sign(
        instance=verdict.cause.value,
        holds=Holds.YES,
        sentence=verdict.sentence,
        at=at,
        clock=at,
        happened=True,
    )


def is_metric(rule: Rule) -> bool:
    """Tell thresholds on what a loop logged from those on what was measured."""
    condition = rule.condition
    if not isinstance(condition, Threshold) or condition.key in _RESOURCES:
        return False
    return condition.key.startswith(alert_rule_text.METRIC) or metrics.is_known(condition.key)

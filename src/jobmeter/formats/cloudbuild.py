"""Builds of Cloud Build and BuildKit: logs with resource samples, `build-stats.json`, `gcloud builds describe`.

A log is kept as the run's output, with its milestones, like any other; its samples become windows. What misleads: the
samples are of the whole host that built, `cpu` in percent of all its cores; io counts from boot, so the first sample
only says where it began. A log without samples is read like any other text.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import buildfacts, buildlog, content, log, loose_json, monitorlog, quantity, training
from jobmeter.formats.buildfacts import BuildFacts
from jobmeter.model.imported import Imported, identify
from jobmeter.model.measurement import Scope, Unit
from jobmeter.model.run import LIVE, Run
from jobmeter.model.view import Window

FORMAT = "cloudbuild"
DEFINITIONS = monitorlog.table(
    (
        monitorlog.gauge("buildstats_cpu", Unit.PERCENT, "share of all CPUs of the host in use", Scope.HOST),
        monitorlog.gauge("buildstats_mem_used", Unit.BYTES, "memory of the host in use", Scope.HOST),
        monitorlog.gauge("buildstats_mem_total", Unit.BYTES, "memory the host has", Scope.HOST),
        monitorlog.counter("buildstats_io_read", Unit.BYTES, "bytes the host read from disks", Scope.HOST),
        monitorlog.counter("buildstats_io_write", Unit.BYTES, "bytes the host wrote to disks", Scope.HOST),
    )
)
_GAUGES = {"cpu": ("buildstats_cpu", 1), "mem_used_gb": ("buildstats_mem_used", 1 << 30)} | {
    "mem_total_gb": ("buildstats_mem_total", 1 << 30)
}
_COUNTERS = {"io_read_mb": ("buildstats_io_read", 1 << 20), "io_write_mb": ("buildstats_io_write", 1 << 20)}
_SPACING_SECONDS = 60
_SURE = 0.95
_BLOCK_BYTES = 1 << 20
_NO_CLOCK = "the samples have no times: they are placed one minute apart, from 1970 on"


def sniff(head: bytes, _name: str) -> float:
    """Claim what begins with samples, with the description of a build, or holds the marker early on."""
    if buildlog.START.encode() in head:
        return _SURE
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n[")
    if not start.startswith(b"{"):
        return 0.0
    if b'"ts"' in head and b'"mem_used_gb"' in head:
        return _SURE
    described = b'"createTime"' in head and (b'"finishTime"' in head or b'"id"' in head)
    return _SURE if described and (b"cloud-build/builds" in head or b"cloudbuild" in head) else 0.0


def found_in(path: Path) -> bool:
    """Tell whether the marker stands deeper in a text than anybody looks at first."""
    marker, before = buildlog.START.encode(), b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            if marker in before + block:
                return True
            before = block[-len(marker) :]
    return False


def parse(path: Path) -> Iterable[Imported]:
    """Read the builds of a file; a log without samples is a log."""
    documents = _documents(path)
    if documents is not None:
        return [_from_document(path, document, str(part)) for part, document in enumerate(documents)]
    text = content.text(path)
    samples = buildlog.find_samples(text)
    return log.parse(path) if samples is None else [_from_log(path, text, samples)]


def parse_named(path: Path) -> Iterable[Imported]:
    """Read the log of a build that somebody called one, with or without samples."""
    documents = _documents(path)
    if documents is not None:
        return [_from_document(path, document, str(part)) for part, document in enumerate(documents)]
    text = content.text(path)
    return [_from_log(path, text, buildlog.find_samples(text) or [])]


def _documents(path: Path) -> list[object] | None:
    """Read the JSON of a file: builds, or the samples of one; None where it is a log."""
    with path.open("rb") as file:
        if not file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return None
    text = content.text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        lines = [loose_json.parse_object(line) for line in text.splitlines()]
        samples = [line for line in lines if buildlog.is_sample(line)]
        return [{"samples": samples}] if samples else None
    if isinstance(document, list) and document and all(buildfacts.is_build(one) for one in document):
        return document
    return [document] if buildfacts.is_build(document) or buildlog.samples_of(document) is not None else None


def _from_document(path: Path, document: object, part: str) -> Imported:
    if isinstance(document, dict) and buildfacts.is_build(document):
        return _imported(path, buildfacts.from_description(document), [], part)
    samples = buildlog.samples_of(document)
    if not samples:
        raise UsageError(f"{path.name} holds no samples", hint="give a build that was sampled at least once")
    return _imported(path, BuildFacts(), samples, part)


def _imported(path: Path, facts: BuildFacts, samples: Sequence[buildlog.Sample], part: str) -> Imported:
    told = training.Told(
        format=FORMAT,
        digest=monitorlog.file_digest(path, part),
        sources=(path,),
        name=facts.build_id or path.name,
        status=facts.standing,
        started_at=facts.started_at,
        ended_at=facts.finished_at,
        results=facts.as_record(),
        missing={"command": "the description of a build does not name it"},
    )
    return _with_samples(training.imported(told), facts, samples)


def _from_log(path: Path, text: str, samples: Sequence[buildlog.Sample]) -> Imported:
    facts = buildfacts.from_log(text)
    (found,) = log.parse_named(path)
    run = replace(
        found.run,
        name=facts.build_id or found.run.name,
        status=facts.standing or found.run.status,
        results=found.run.results | facts.as_record(),
    )
    return _with_samples(replace(found, run=run, format=FORMAT), facts, samples)


def _with_samples(found: Imported, facts: BuildFacts, samples: Sequence[buildlog.Sample]) -> Imported:
    windows, untimed = _windows(samples)
    seen = monitorlog.survey(windows)
    dated = bool(windows) and seen.first >= monitorlog.ODD_YEARS
    run = found.run
    started_at = run.started_at if run.started_at is not None or not dated else seen.first
    run_id = identify(started_at, found.digest)
    ended_at = run.ended_at if run.ended_at is not None or not dated else seen.last
    run = replace(
        run,
        run_id=run_id,
        job_id=run_id,
        started_at=started_at,
        ended_at=ended_at,
        wall_seconds=_wall_seconds(run, facts, seen),
        samples=seen.samples or None,
        summary=run.summary | seen.summary(DEFINITIONS),
        definitions=run.definitions | {key: one for key, one in DEFINITIONS.items() if key in seen.seen},
        provenance=replace(
            run.provenance,
            origin=FORMAT,
            selected=tuple(sorted({*run.provenance.selected, *seen.seen})),
            inexact=_doubts(run, facts, seen) | ({"timestamps": _NO_CLOCK} if windows and not dated else {}),
            dropped=run.provenance.dropped | ({"samples": untimed} if untimed else {}),
        ),
    )
    return replace(found, run=run, windows=windows)


def _wall_seconds(run: Run, facts: BuildFacts, seen: monitorlog.Survey) -> float | None:
    if run.wall_seconds is not None:
        return run.wall_seconds
    if facts.working_seconds is not None:
        return float(facts.working_seconds)
    return quantity.tidy(seen.last - seen.first) if seen.windows > 1 else None


def _doubts(run: Run, facts: BuildFacts, seen: monitorlog.Survey) -> dict[str, str]:
    found = dict(run.provenance.inexact)
    if facts.standing is not None:
        found.pop("status", None)
    if run.status in LIVE:
        found["status"] = f"it was {facts.status} when this was written"
    if seen.windows and run.started_at is None:
        found["started_at"] = "time of the first sample"
    if seen.windows and run.ended_at is None:
        found["ended_at"] = "time of the last sample"
    return found


def _windows(samples: Sequence[buildlog.Sample]) -> tuple[list[Window], int]:
    """Make windows of samples, and count those whose time nobody can tell."""
    moments = [quantity.moment(str(sample.get("ts"))) for sample in samples]
    clocked = any(moment is not None for moment in moments)
    found: list[Window] = []
    before: dict[str, float] = {}
    for place, (sample, moment) in enumerate(zip(samples, moments, strict=True)):
        if moment is None and clocked:
            continue
        at = float(place * _SPACING_SECONDS) if moment is None else moment.seconds
        values = _values(sample, before)
        if values:
            found.append(Window(timestamp=at, num_samples=1, clock={}, values=values))
    return found, sum(1 for moment in moments if moment is None) if clocked else 0


def _values(sample: buildlog.Sample, before: dict[str, float]) -> monitorlog.Values:
    values: monitorlog.Values = {}
    for field, (key, factor) in _GAUGES.items():
        value = loose_json.number(sample.get(field))
        if value is not None:
            values[key, ""] = quantity.tidy(value * factor)
    for field, (key, factor) in _COUNTERS.items():
        count = loose_json.number(sample.get(field))
        if count is None:
            continue
        # counters stand where boot left them: the first one is no growth
        values[key, ""] = quantity.tidy(max(count - before.get(field, count), 0) * factor)
        before[field] = count
    return values

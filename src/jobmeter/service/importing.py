"""Bring runs that other tools recorded into the house: found, read, written as run folders.

A folder appears whole or not at all. The same files give the same run id wherever they lie, so importing
twice finds what is there and says so.
"""

import math
import os
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path

import msgspec

from jobmeter import formats
from jobmeter.config import redaction
from jobmeter.errors import JobmeterError, UsageError, reason_of
from jobmeter.model import moments
from jobmeter.model.imported import Imported
from jobmeter.model.view import Event, Step, Window
from jobmeter.runfolder import reader, records, writer
from jobmeter.service import bundles, index, lifecycle

Record = dict[str, object]

BUNDLE = "bundle"
"""A run of jobmeter's own, from a colleague."""
NAMES = (BUNDLE, *formats.ALL)
_GZIP = b"\x1f\x8b"
_SHORT_ID = 6
_LONG_ID = 12
_PASSED_BY = frozenset((".git", ".jobmeter", "node_modules"))
"""Directories a search does not enter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A run that was written, with what it holds."""

    run_id: str
    format: str
    steps: int
    windows: int
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that gave no new run, and why."""

    path: str
    reason: str
    known_run_id: str | None = None
    """Set where the run is there already."""


@dataclass(slots=True)
class Harvest:
    """What one import did."""

    runs: list[Brought] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def empty_handed(self) -> bool:
        """Nothing was imported and nothing was there already."""
        return not self.runs and not any(skipped.known_run_id for skipped in self.skipped)


def import_paths(home: str, paths: Iterable[str], format_name: str | None = None) -> Harvest:
    """Import every run found under the paths; a directory is searched."""
    if format_name is not None and format_name not in NAMES:
        raise UsageError(f"unknown format: {format_name}", hint=f"use one of {', '.join(NAMES)}")
    harvest = Harvest()
    consumed: set[Path] = set()
    for path in map(Path, paths):
        if os.path.isdir(path):
            for file in _search(path):
                if format_name in (None, BUNDLE) or formats.claims(file, format_name):
                    _import_file(Path(home), file, format_name, harvest, consumed)
            continue
        before = len(harvest.runs) + len(harvest.skipped)
        _import_file(Path(home), path, format_name, harvest, consumed)
        if len(harvest.runs) + len(harvest.skipped) == before and _real(path) not in consumed:
            harvest.skipped.append(Skipped(path=str(path), reason=_why_not(path)))
    return harvest


def _why_not(path: Path) -> str:
    try:
        path.stat()
    except OSError as error:
        return "no such file" if isinstance(error, FileNotFoundError) else reason_of(error)
    return "no known format: see docs/formats.md"


def _real(path: Path) -> Path:
    """Follow links as far as they lead; pathlib's own way raises where they go round in a circle."""
    return Path(os.path.realpath(path))


def _search(folder: Path) -> Iterator[Path]:
    """Walk a directory in order; run folders are ours already."""
    for parent, folders, names in os.walk(folder):
        if "run.jsonl" in names or "run.jsonl.gz" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _PASSED_BY)
        yield from (Path(parent, name) for name in sorted(names))


def _import_file(
    home: Path, path: Path, format_name: str | None, harvest: Harvest, consumed: set[Path]
) -> None:
    # os.path says no where pathlib raises: a circle of links, a folder that may not be entered
    if not os.path.isfile(path) or _real(path) in consumed:
        return
    bundled = _bundled_run(path) if format_name in (None, BUNDLE) else None
    if bundled is not None:
        consumed.add(_real(path))
        _import_bundle(home, path, bundled, harvest)
        return
    try:
        recognised = format_name or formats.recognise(path)
        if recognised in (None, BUNDLE):
            return
        found = list(formats.read(path, recognised, is_named=format_name is not None))
    except OSError as error:
        harvest.skipped.append(Skipped(path=str(path), reason=reason_of(error)))
        return
    except JobmeterError as error:
        harvest.skipped.append(Skipped(path=str(path), reason=str(error)))
        return
    for imported in found:
        consumed.update(map(_real, imported.sources))
        _keep(home, path, imported, harvest)


def _bundled_run(path: Path) -> str | None:
    """Name the run that a bundle holds; None where the file is none."""
    try:
        with path.open("rb") as file:
            if file.read(len(_GZIP)) != _GZIP:
                return None
        with tarfile.open(path, mode="r|gz") as archive:
            member = archive.next()
    except (OSError, EOFError, tarfile.TarError, zlib.error):
        return None  # some other compressed file
    run_id, slash, _ = member.name.partition("/") if member is not None else ("", "", "")
    return run_id if slash and index.is_run_id(run_id) else None


def _import_bundle(home: Path, path: Path, run_id: str, harvest: Harvest) -> None:
    known = index.folder_of(home, run_id).exists()
    try:
        run = bundles.import_bundle(str(home), str(path))
    except JobmeterError as error:
        harvest.skipped.append(Skipped(path=str(path), reason=str(error)))
        return
    if known:
        reason = f"already imported as {run.run_id}"
        harvest.skipped.append(Skipped(path=str(path), reason=reason, known_run_id=run.run_id))
        return
    folder = index.folder_of(home, run.run_id)
    harvest.runs.append(
        Brought(
            run_id=run.run_id,
            format=BUNDLE,
            steps=sum(1 for _ in reader.read_steps(folder)),
            windows=sum(1 for _ in reader.read_windows(folder)),
            events=sum(1 for _ in reader.read_events(folder)),
        )
    )


def _keep(home: Path, path: Path, imported: Imported, harvest: Harvest) -> None:
    run_id, known = _free_id(home, imported)
    if known:
        reason = f"already imported as {run_id}"
        harvest.skipped.append(Skipped(path=str(path), reason=reason, known_run_id=run_id))
        return
    counts = write(home, run_id, imported)
    steps, windows, events = counts
    harvest.runs.append(
        Brought(run_id=run_id, format=imported.format, steps=steps, windows=windows, events=events)
    )


def _free_id(home: Path, imported: Imported) -> tuple[str, bool]:
    """Choose the id, and say whether this very run is there already; a clash makes it longer."""
    short = imported.run.run_id
    for digits in (_SHORT_ID, _LONG_ID):
        run_id = short[: short.rindex("-") + 1] + imported.digest[:digits]
        folder = index.folder_of(home, run_id)
        if not folder.exists():
            return run_id, False
        facts = records.read(folder)
        origin = facts.merged.get("imported")
        if isinstance(origin, dict) and origin.get("digest") == imported.digest:
            return run_id, True
    raise UsageError(f"run ids clash: {short}", hint=f"remove {index.folder_of(home, short)}")


def write(home: Path, run_id: str, imported: Imported) -> tuple[int, int, int]:
    """Write a foreign run as a run folder; returns how many steps, windows and events it holds."""
    folder = index.folder_of(home, run_id)
    partial = home / f".importing-{run_id}-{os.getpid()}"
    try:
        lifecycle.make_private(partial)
        counts = _write_files(partial, run_id, imported)
        lifecycle.make_private(folder.parent)
        partial.rename(folder)
    except OSError as error:
        raise UsageError(
            f"cannot keep runs in {home}: {reason_of(error)}", hint="choose another home with --home"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return counts


def _write_files(folder: Path, run_id: str, imported: Imported) -> tuple[int, int, int]:
    records = [_start(run_id, imported), _context(imported), _end(imported)]
    _write_lines(folder / "run.jsonl", records)
    _write_lines(folder / "sdk.jsonl", _told(imported))
    for stream, source in imported.outputs.items():
        _copy_private(source, folder / stream)
    return (
        _write_lines(folder / "steps.jsonl", map(_step, imported.steps)),
        _write_lines(folder / "usage.jsonl", map(_window, imported.windows)),
        _write_lines(folder / "events.jsonl", map(_event, imported.events)),
    )


def _write_lines(path: Path, records: Iterable[Record]) -> int:
    found = iter(records)
    first = next(found, None)
    if first is None:
        return 0  # an empty file is not created
    count = 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for record in chain((first,), found):
            file.write(msgspec.json.encode(record) + b"\n")
            count += 1
    return count


def _copy_private(source: Path, target: Path) -> None:
    with (
        source.open("rb") as given,
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as kept,
    ):
        shutil.copyfileobj(given, kept)


@lru_cache(maxsize=1024)
def _hide(text: str) -> str:
    """Cut secrets out; the same command line stands in every window."""
    return redaction.redact_text(text)


def _present(record: Record) -> Record:
    return {key: value for key, value in record.items() if value not in (None, {}, [], ())}


def _iso(moment: float | None) -> str | None:
    """Render a time as run folders do; foreign stamps keep their microseconds."""
    return moments.iso_time(moment, moments.MICROSECONDS)


def _start(run_id: str, imported: Imported) -> Record:
    run = imported.run
    record = _present(
        {
            "cwd": run.cwd,
            "name": run.name,
            "project": run.project,
            "message": run.message and _hide(run.message),
            "tags": run.tags,
            "host": run.host,
            "started_at": _iso(run.started_at),
        }
    )
    ids: Record = {"type": "start", "schema": writer.SCHEMA, "run_id": run_id, "job_id": run_id}
    return ids | {"command": redaction.redact_argv(run.command)} | record


def _told(imported: Imported) -> list[Record]:
    """What the job said of itself, where a run of our own has it from the SDK."""
    run = imported.run
    found: list[Record] = []
    if run.group is not None:
        found.append({"type": "init", "group": run.group})
    if run.results:
        found.append({"type": "summary", "summary": redaction.redact_tree(run.results)})
    return found


def _context(imported: Imported) -> Record:
    run = imported.run
    how = _present(
        {
            "selected": list(run.provenance.selected),
            "missing": run.provenance.missing,
            "origin": imported.format,
        }
    )
    outputs = [{"stream": o.stream, "mode": o.mode, "path": o.path, "offset": o.offset} for o in run.outputs]
    return {
        "type": "context",
        **_present({key: redaction.redact_tree(value, key) for key, value in run.context.items()}),
        **_present({"outputs": outputs}),
        "measurements": [definition.as_record() for definition in run.definitions.values()],
        "provenance": how,
        "imported": {
            "format": imported.format,
            "digest": imported.digest,
            "sources": [os.fsencode(_real(path)).decode("utf-8", "replace") for path in imported.sources],
            "timestamp": _iso(time.time()),
        },
    }


def _end(imported: Imported) -> Record:
    """Close the run: even a lost one, whose recorder is nowhere that could be asked."""
    run = imported.run
    record = _present(
        {
            "exit_code": run.exit_code,
            "signal": run.signal,
            "ended_at": _iso(run.ended_at),
            "wall_seconds": run.wall_seconds,
            "samples": run.samples,
            "summary": run.summary,
            "inexact": run.provenance.inexact,
            "dropped": run.provenance.dropped,
        }
    )
    return {"type": "end", "status": run.status.value} | record


def _window(window: Window) -> Record:
    measurements: Record = {}
    for (key, instance), value in window.values.items():
        kept = _hide(value) if isinstance(value, str) else value
        if not instance:
            measurements[key] = kept
            continue
        by_instance = measurements.setdefault(key, {})
        if isinstance(by_instance, dict):
            by_instance[instance] = kept
    return {
        "timestamp": _iso(window.timestamp),
        "num_samples": window.num_samples,
        **_present({"clock": window.clock}),
        "measurements": measurements,
    }


def _step(step: Step) -> Record:
    stamp = {} if step.timestamp is None else {"timestamp": _iso(step.timestamp)}
    metrics = {name: _spelled(value) for name, value in step.metrics.items()}
    return stamp | {"step": step.step, "rank": step.rank, "source": step.source, "metrics": metrics}


def _spelled(value: float) -> float | str:
    """Spell what JSON has no number for; a whole number may be larger than any float."""
    if isinstance(value, int) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _event(event: Event) -> Record:
    return {
        "timestamp": _iso(event.timestamp),
        "type": event.type,
        **_present({"details": event.details, "config": event.config, "measurements": event.measurements}),
    }

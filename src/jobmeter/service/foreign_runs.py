"""A run that another tool recorded, written as a run folder of ours: whole or not at all."""

import errno
import math
import os
import shutil
import time
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path

import msgspec

from jobmeter.config import redaction
from jobmeter.errors import UsageError, reason_of
from jobmeter.model import moments
from jobmeter.model.imported import Imported
from jobmeter.model.view import Event, Step, Window
from jobmeter.runfolder import writer
from jobmeter.service import index, lifecycle

Record = dict[str, object]


def write(home: Path, run_id: str, imported: Imported) -> tuple[int, int, int] | None:
    """Write a foreign run as a run folder; returns how many steps, windows and events it holds.

    None where a run of that id is there: another process may have been first.
    """
    folder = index.folder_of(home, run_id)
    partial = home / f".importing-{run_id}-{os.getpid()}-{time.monotonic_ns()}"
    try:
        lifecycle.make_private(partial)
        counts = _write_files(partial, run_id, imported)
        lifecycle.make_private(folder.parent)
        partial.rename(folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and os.path.isdir(folder):
            return None
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
            "sources": [
                os.fsencode(os.path.realpath(path)).decode("utf-8", "replace") for path in imported.sources
            ],
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

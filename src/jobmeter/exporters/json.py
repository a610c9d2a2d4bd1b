"""A run as one JSON document: its facts, the definitions of its keys, every series, events and processes.

Only what was measured is present; metrics that are not finite are spelled ("NaN"). Moments are ISO 8601 UTC;
the long `times` of series are seconds since the epoch.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

import msgspec

from jobmeter.exporters import WHOLE
from jobmeter.model.moments import iso_time
from jobmeter.model.run import Run
from jobmeter.model.steps import Step, as_json
from jobmeter.model.view import Event, RunView, Window

Document = dict[str, object]


def render(view: RunView, windows: Iterable[Window], *, prefix: str) -> Mapping[str, Iterable[bytes]]:
    """Render a whole run as JSON."""
    del windows, prefix  # the view holds the series, and one document names no other
    return {WHOLE: _pieces(view)}


def _pieces(view: RunView) -> Iterator[bytes]:
    """Yield the document step by step and series by series, so that a long run is never one string in memory."""
    head: Document = {
        "run": _run(view.run),
        "measurements": [definition.as_record() for definition in view.run.definitions.values()],
        "events": [_event(event) for event in view.events],
        "processes": [_present(msgspec.to_builtins(process)) for process in view.processes],
    }
    yield _encode(head).removesuffix(b"}") + b',"steps":['
    yield from _separated(_encode(_step(step)) for step in view.steps)
    yield b'],"series":['
    yield from _separated(
        _encode(_present(msgspec.to_builtins(series, enc_hook=list))) for series in view.series.values()
    )
    yield b"]}\n"


def _separated(documents: Iterable[bytes]) -> Iterator[bytes]:
    separator = b"\n"
    for document in documents:
        yield separator + document
        separator = b",\n"


def _encode(document: object) -> bytes:
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:  # an argument that is not UTF-8: the standard library writes it escaped
        return json.dumps(document).encode("ascii")


def _run(run: Run) -> Document:
    apart = ("definitions", "folder", "started_at", "ended_at", "steps")
    names = [field.name for field in fields(run) if field.name not in apart]
    document: Document = {name: msgspec.to_builtins(getattr(run, name)) for name in names}
    document["limits"] = _present(msgspec.to_builtins(run.limits))
    document["provenance"] = _present(msgspec.to_builtins(run.provenance))
    document["steps"] = None if run.steps is None else run.steps.as_record()
    return _present(document | {"started_at": iso_time(run.started_at), "ended_at": iso_time(run.ended_at)})


def _event(event: Event) -> Document:
    return _present(msgspec.to_builtins(event)) | {"timestamp": iso_time(event.timestamp)}


def _step(step: Step) -> Document:
    document: Document = {"timestamp": iso_time(step.timestamp), "step": step.step, "rank": step.rank}
    metrics = {name: as_json(value) for name, value in step.metrics.items()}
    return _present(document | {"source": step.source}) | {"metrics": metrics}


def _present(document: Document) -> Document:
    return {key: value for key, value in document.items() if value not in (None, {}, [], ())}

"""One `.wandb` file: the records of a W&B run, from its start over its history to its exit.

Field numbers are those of wandb's `wandb_internal.proto`, which only ever adds. A value is JSON text, in newer
releases also a typed field; a key is one text, or a path for nested values.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.formats import figures, leveldb_log, loose_json, protobuf, training
from jobmeter.model.view import Event, Step

_HISTORY, _SUMMARY, _CONFIG, _STATS, _ALERT = 2, 3, 5, 7, 10
_RUN, _EXIT, _ENVIRONMENT = 17, 18, 26
_ITEM, _HISTORY_STEP = 1, 2
_REMOVED = 2
_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_TYPED_TRUTH, _TYPED_WHOLE, _TYPED_NUMBER, _TYPED_TEXT, _TYPED_JSON = 4, 5, 6, 7, 8
_STATS_TIME, _STATS_ITEM = 2, 3
_RUN_TEXTS = {1: "run_id", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes"}
_RUN_CONFIG, _RUN_SUMMARY, _RUN_TAGS, _RUN_HOST, _RUN_START = 4, 5, 10, 13, 17
_ENVIRONMENT_TEXTS = {
    1: "os",
    2: "python",
    6: "program",
    10: "email",
    11: "root",
    12: "host",
    13: "username",
    14: "executable",
    18: "gpu",
    25: "cudaVersion",
}
_ENVIRONMENT_START, _ENVIRONMENT_ARGUMENTS, _ENVIRONMENT_GIT = 3, 5, 9
_ENDLESS = frozenset(("NaN", "Infinity", "-Infinity"))

Pair = tuple[str, object]


@dataclass(slots=True)
class Story:
    """Everything but the history, merged in order."""

    facts: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    config: dict[str, object] = field(default_factory=dict)
    summary: dict[str, object] = field(default_factory=dict)
    environment: dict[str, object] = field(default_factory=dict)
    stats: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    alerts: list[Event] = field(default_factory=list)
    started_at: float | None = None
    last_timestamp: float | None = None
    exit_code: int | None = None
    runtime_seconds: int | None = None
    damage: leveldb_log.Damage = field(default_factory=leveldb_log.Damage)


def read(path: Path) -> Story:
    """Walk the file once for all that is told about the run."""
    story = Story()
    for kind, message in _messages(path, story.damage):
        try:
            _take(story, kind, message)
        except protobuf.DamagedError:
            story.damage.bad_records += 1
    return story


def steps(path: Path, source: str) -> Iterator[Step]:
    """Walk the history; a row without a single number is no step."""
    for kind, message in _messages(path, leveldb_log.Damage()):
        if kind != _HISTORY:
            continue
        try:
            step = _step(message, source)
        except protobuf.DamagedError:
            continue  # counted when the story was read
        if step is not None:
            yield step


def _messages(path: Path, damage: leveldb_log.Damage) -> Iterator[tuple[int, bytes]]:
    for record in leveldb_log.records(path, damage):
        try:
            found = [(number, value) for number, value in protobuf.fields(record) if isinstance(value, bytes)]
        except protobuf.DamagedError:
            damage.bad_records += 1
            continue
        yield from found


def _take(story: Story, kind: int, message: bytes) -> None:
    taker = _TAKERS.get(kind)
    if taker is not None:
        taker(story, message)


def _take_history(story: Story, message: bytes) -> None:
    moment = figures.moment(dict(_pairs(message, _ITEM)).get("_timestamp"))
    story.last_timestamp = moment or story.last_timestamp


def _take_summary(story: Story, message: bytes) -> None:
    _merge(story.summary, message)


def _take_config(story: Story, message: bytes) -> None:
    _merge(story.config, message)


def _take_exit(story: Story, message: bytes) -> None:
    story.exit_code, story.runtime_seconds = protobuf.whole(message, 1), protobuf.whole(message, 2)


def _merge(known: dict[str, object], message: bytes) -> None:
    known.update(_pairs(message, _ITEM))
    for item in protobuf.chunks(message, _REMOVED):
        known.pop(_name(item), None)


def _take_stats(story: Story, message: bytes) -> None:
    moment = protobuf.moment(protobuf.chunk(message, _STATS_TIME))
    found = figures.metrics(dict(_pairs(message, _STATS_ITEM)))
    if moment is not None and found:
        story.stats.append((moment, found))


def _take_alert(story: Story, message: bytes) -> None:
    moment = story.last_timestamp or story.started_at
    if moment is None:
        return
    title, text, level = (protobuf.text(message, number) for number in (1, 2, 3))
    details: dict[str, object] = {"title": title, "text": text, "level": level, "clock": "the step before it"}
    story.alerts.append(Event(timestamp=moment, type="alert", details=details))


def _take_run(story: Story, message: bytes) -> None:
    for number, value in protobuf.fields(message):
        if number in _RUN_TEXTS and isinstance(value, bytes) and value:
            story.facts[_RUN_TEXTS[number]] = value.decode("utf-8", "replace")
    host = protobuf.text(message, _RUN_HOST)
    if host:
        story.facts["host"] = host
    story.tags = [tag.decode("utf-8", "replace") for tag in protobuf.chunks(message, _RUN_TAGS)] or story.tags
    _merge(story.config, protobuf.chunk(message, _RUN_CONFIG))
    _merge(story.summary, protobuf.chunk(message, _RUN_SUMMARY))
    story.started_at = protobuf.moment(protobuf.chunk(message, _RUN_START)) or story.started_at


def _take_environment(story: Story, message: bytes) -> None:
    for number, value in protobuf.fields(message):
        if number in _ENVIRONMENT_TEXTS and isinstance(value, bytes) and value:
            story.environment[_ENVIRONMENT_TEXTS[number]] = value.decode("utf-8", "replace")
    words = [word.decode("utf-8", "replace") for word in protobuf.chunks(message, _ENVIRONMENT_ARGUMENTS)]
    if words:
        story.environment["args"] = words
    git = protobuf.chunk(message, _ENVIRONMENT_GIT)
    if git:
        story.environment["git"] = {"remote": protobuf.text(git, 1), "commit": protobuf.text(git, 2)}
    started_at = protobuf.moment(protobuf.chunk(message, _ENVIRONMENT_START))
    story.started_at = story.started_at or started_at


_TAKERS: dict[int, Callable[[Story, bytes], None]] = {
    _HISTORY: _take_history,
    _SUMMARY: _take_summary,
    _CONFIG: _take_config,
    _STATS: _take_stats,
    _ALERT: _take_alert,
    _RUN: _take_run,
    _EXIT: _take_exit,
    _ENVIRONMENT: _take_environment,
}


def _step(message: bytes, source: str) -> Step | None:
    row = dict(_pairs(message, _ITEM))
    number = figures.whole(row.get("_step"))
    if number is None:
        number = protobuf.whole(protobuf.chunk(message, _HISTORY_STEP), 1)
    kept = {name: value for name, value in row.items() if not name.startswith("_") and _is_number(value)}
    metrics = figures.metrics(kept)
    if not metrics:
        return None
    moment = figures.moment(row.get("_timestamp"))
    return Step(timestamp=moment, step=number, rank=0, source=source, metrics=metrics)


def _is_number(value: object) -> bool:
    """A text is text here, however it looks; only the words for what JSON cannot say are numbers."""
    return not isinstance(value, str) or value in _ENDLESS


def _pairs(message: bytes, wanted: int) -> Iterator[Pair]:
    for item in protobuf.chunks(message, wanted):
        yield _name(item), _value(item)


def _name(item: bytes) -> str:
    nested = [part.decode("utf-8", "replace") for part in protobuf.chunks(item, _NESTED_KEY)]
    return ".".join(nested) or protobuf.text(item, _KEY)


def _value(item: bytes) -> object:
    for number, value in protobuf.fields(item):
        if number in (_VALUE_JSON, _TYPED_JSON) and isinstance(value, bytes):
            return _json(value)
        if number == _TYPED_NUMBER and isinstance(value, bytes):
            return protobuf.double(value)
        if number == _TYPED_WHOLE and isinstance(value, int):
            return value >> 1 ^ -(value & 1)  # zigzag
        if number == _TYPED_TRUTH:
            return bool(value)
        if number == _TYPED_TEXT and isinstance(value, bytes):
            return value.decode("utf-8", "replace")
    return None


def _json(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def plain_config(config: dict[str, object]) -> dict[str, object]:
    """Drop W&B's own entry; unwrap `{"value": x}`, the form of `config.yaml`."""
    found: dict[str, object] = {}
    for key, value in config.items():
        if key in ("_wandb", "wandb_version"):
            continue
        entry = loose_json.mapping(value)
        wrapped = isinstance(value, dict) and "value" in entry and set(entry) <= {"value", "desc"}
        found[key] = training.plain(entry["value"] if wrapped else value)
    return found

"""The messages inside a TensorBoard event file: `Event`, `Summary`, `TensorProto`, the hparams plugin.

Field numbers are those of tensorflow's `event.proto`, `summary.proto`, `tensor.proto` and the plugin's
`plugin_data.proto`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.formats import loose_json, protobuf, tfrecord, training

_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_SUMMARY_VALUE = 1
_TAG, _SIMPLE_VALUE, _TENSOR, _METADATA = 1, 2, 8, 9
_METADATA_PLUGIN = 1
_PLUGIN_NAME, _PLUGIN_CONTENT = 1, 2
_TENSOR_TYPE, _TENSOR_SHAPE, _TENSOR_CONTENT, _TENSOR_TEXT = 1, 2, 4, 8
_SHAPE_DIMENSION, _DIMENSION_SIZE = 2, 1
_SESSION_START, _SESSION_HPARAMS = 3, 1
_MAP_KEY, _MAP_VALUE = 1, 2
_JSON_NUMBER, _JSON_TEXT, _JSON_TRUTH = 2, 3, 4
_TYPE_TEXT = 7
_NUMBERS: dict[int, tuple[str, int]] = {
    1: ("<f", 5),
    2: ("<d", 6),
    3: ("<i", 7),
    4: ("<B", 7),
    5: ("<h", 7),
    6: ("<b", 7),
    9: ("<q", 10),
    10: ("<?", 11),
    17: ("<H", 7),
    19: ("<e", 13),
    22: ("<I", 16),
    23: ("<Q", 17),
}
"""By type of tensor: how one element is laid out in raw content, and the field of spelled out elements."""
_HALF = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tagged value of one event; a value that is no scalar, no text and no hparams has only its tag."""

    wall_time: float
    step: int
    tag: str
    value: int | float | None = None
    text: str | None = None
    hparams: dict[str, object] = field(default_factory=dict)


def entries(path: Path, damage: tfrecord.Damage) -> Iterator[Entry]:
    """Walk every value of every event of a file."""
    for record in tfrecord.records(path, damage):
        try:
            found = list(_of_event(record))
        except protobuf.DamagedError:
            damage.bad_records += 1
            continue
        yield from found


def arguments(text: str) -> object:
    """Read a text as the JSON it may hold."""
    found = loose_json.parse_object(text)
    return training.plain(found) if found is not None else loose_json.text(text) or ""


def _of_event(event: bytes) -> Iterator[Entry]:
    wall_time, step, summaries = 0.0, 0, []
    for number, value in protobuf.fields(event):
        if number == _WALL_TIME and isinstance(value, bytes):
            wall_time = protobuf.double(value)
        elif number == _STEP and isinstance(value, int):
            step = protobuf.signed(value)
        elif number == _SUMMARY and isinstance(value, bytes):
            summaries.append(value)
    if not summaries:
        yield Entry(wall_time=wall_time, step=step, tag="")
    for summary in summaries:
        for value in protobuf.chunks(summary, _SUMMARY_VALUE):
            yield _entry(wall_time, step, value)


def _entry(wall_time: float, step: int, value: bytes) -> Entry:
    parts = dict(protobuf.fields(value))
    name, simple, tensor, metadata = (parts.get(n) for n in (_TAG, _SIMPLE_VALUE, _TENSOR, _METADATA))
    tag = name.decode("utf-8", "replace") if isinstance(name, bytes) else ""
    if isinstance(simple, bytes):
        return Entry(wall_time=wall_time, step=step, tag=tag, value=protobuf.single(simple))
    hparams = _hparams(metadata) if isinstance(metadata, bytes) else {}
    if hparams or not isinstance(tensor, bytes):
        return Entry(wall_time=wall_time, step=step, tag=tag, hparams=hparams)
    return Entry(wall_time=wall_time, step=step, tag=tag, value=_scalar(tensor), text=_text(tensor))


def _elements(tensor: bytes) -> int:
    """Count the elements that the shape promises; a scalar has no dimension."""
    count = 1
    for dimension in protobuf.chunks(protobuf.chunk(tensor, _TENSOR_SHAPE), _SHAPE_DIMENSION):
        count *= protobuf.whole(dimension, _DIMENSION_SIZE)
    return count


def _scalar(tensor: bytes) -> int | float | None:
    layout = _NUMBERS.get(protobuf.whole(tensor, _TENSOR_TYPE))
    if layout is None or _elements(tensor) != 1:
        return None
    code, spelled = struct.Struct(layout[0]), layout[1]
    content = protobuf.chunk(tensor, _TENSOR_CONTENT)
    if len(content) == code.size:
        found = code.unpack(content)[0]
        return int(found) if isinstance(found, bool) else found
    return _spelled(tensor, spelled)


def _spelled(tensor: bytes, wanted: int) -> int | float | None:
    """Read an element from its own field, packed or not."""
    for number, value in protobuf.fields(tensor):
        if number != wanted:
            continue
        if isinstance(value, bytes) and wanted in (5, 6):
            return protobuf.single(value[:4]) if wanted == 5 else protobuf.double(value[:8])
        whole = value if isinstance(value, int) else _first_varint(value)
        if wanted == _NUMBERS[_HALF][1]:
            return float(struct.unpack("<e", struct.pack("<H", whole & 0xFFFF))[0])
        return protobuf.signed(whole)
    return None


def _first_varint(packed: bytes) -> int:
    # a packed row of varints reads like the value of a field: put a tag in front
    return next((value for _, value in protobuf.fields(b"\x08" + packed[:10]) if isinstance(value, int)), 0)


def _text(tensor: bytes) -> str | None:
    if protobuf.whole(tensor, _TENSOR_TYPE) != _TYPE_TEXT or _elements(tensor) != 1:
        return None
    return protobuf.text(tensor, _TENSOR_TEXT)


def _hparams(metadata: bytes) -> dict[str, object]:
    plugin = protobuf.chunk(metadata, _METADATA_PLUGIN)
    if protobuf.text(plugin, _PLUGIN_NAME) != "hparams":
        return {}
    session = protobuf.chunk(protobuf.chunk(plugin, _PLUGIN_CONTENT), _SESSION_START)
    found: dict[str, object] = {}
    for pair in protobuf.chunks(session, _SESSION_HPARAMS):
        found[protobuf.text(pair, _MAP_KEY)] = _json_value(protobuf.chunk(pair, _MAP_VALUE))
    return found


def _json_value(value: bytes) -> object:
    for number, part in protobuf.fields(value):
        if number == _JSON_NUMBER and isinstance(part, bytes):
            return training.plain(protobuf.double(part))
        if number == _JSON_TEXT and isinstance(part, bytes):
            return part.decode("utf-8", "replace")
        if number == _JSON_TRUTH:
            return bool(part)
    return None

"""A run as the two documents a store keeps of it: what lists show, and the rest.

Text that is no Unicode (a file name of raw bytes) is held by surrogates, which strict encoders refuse;
those rare documents go through the standard library, which escapes them.
"""

import dataclasses
import zlib
from functools import lru_cache
from typing import TypeVar

import msgspec

from jobmeter.model import measurement
from jobmeter.model.run import Run, Value
from jobmeter.model.view import Event

Document = TypeVar("Document")

_LEVEL = 3
"""Packs a tenth less well than the usual 6, in half the time."""


class DamagedDocumentError(ValueError):
    """A document that was not written here, or changed since."""


class Detail(msgspec.Struct):
    """What only the view of one run needs."""

    definitions: list[dict[str, object]]
    context: dict[str, object]


class _Summary(msgspec.Struct):
    summary: dict[str, Value]


def encode_brief(run: Run) -> bytes:
    """Render a run without its definitions and context."""
    return encode(dataclasses.replace(run, definitions={}, context={}))


def encode_detail(run: Run) -> bytes:
    """Render what the brief leaves out."""
    definitions = [_as_record(definition) for definition in run.definitions.values()]
    return zlib.compress(encode(Detail(definitions, run.context)), _LEVEL)


@lru_cache(maxsize=4096)
def _as_record(definition: measurement.Measurement) -> dict[str, object]:
    return definition.as_record()


def decode_brief(document: bytes) -> Run:
    """Read a brief back."""
    return _decode(document, _RUNS)


def decode_summary(document: bytes) -> dict[str, Value]:
    """Read the summary out of a brief, and nothing else of it."""
    return _decode(document, _SUMMARIES).summary


def decode_detail(document: bytes) -> Detail:
    """Read the rest of a run back."""
    try:
        text = zlib.decompress(document)
    except zlib.error as error:
        raise DamagedDocumentError(str(error)) from error
    return _decode(text, _DETAILS)


def decode_mapping(document: bytes) -> dict[str, object]:
    """Read any JSON object back."""
    return _decode(document, _MAPPINGS)


def decode_event(document: bytes) -> Event:
    """Read an event back."""
    return _decode(document, _EVENTS)


def join(brief: Run, detail: Detail) -> Run:
    """Make a run whole again."""
    found = [measurement.from_record(record) for record in detail.definitions]
    definitions = {definition.key: definition for definition in found if definition is not None}
    return dataclasses.replace(brief, definitions=definitions, context=detail.context)


def is_plain(text: str) -> bool:
    """Tell text that `clean` leaves as it is, which is nearly all, at little cost."""
    return text.isascii() and "\0" not in text


def clean(text: str) -> str:
    """Make text that every database takes: raw bytes become visible escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _refuse(kind: type, found: object) -> object:
    if kind is object:
        return found
    raise ValueError(f"no {kind.__name__} belongs in a brief")


def encode(document: object) -> bytes:
    """Render anything of the model as JSON."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(document)).encode("ascii")


_RUNS = msgspec.json.Decoder(Run, dec_hook=_refuse)
_SUMMARIES = msgspec.json.Decoder(_Summary)
_DETAILS = msgspec.json.Decoder(Detail)
_EVENTS = msgspec.json.Decoder(Event)
_MAPPINGS = msgspec.json.Decoder(dict[str, object])


def _decode(text: bytes, decoder: "msgspec.json.Decoder[Document]") -> Document:
    try:
        return decoder.decode(text)
    except ValueError:
        return _decode_odd(text, decoder.type)


def _decode_odd(text: bytes, kind: type[Document]) -> Document:
    import json

    try:
        return msgspec.convert(json.loads(text), kind, dec_hook=_refuse)
    except ValueError as error:
        raise DamagedDocumentError(str(error)) from error

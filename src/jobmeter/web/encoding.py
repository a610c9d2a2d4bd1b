"""How answers become JSON: strict, so that every client can read them.

A number that is none (NaN, an infinity) is null. Where it matters which of them it was, the answer carries
it as text beside: the functions that make series and steps do that. Bytes of names that were no UTF-8 come
out as the escapes of lone surrogates, as the command line prints them.
"""

import json
from collections.abc import Mapping
from math import isfinite

import msgspec


def encode(document: object) -> bytes:
    """Encode a document, or any model type, as strict JSON."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        # msgspec refuses halves of characters, which JSON can hold
        return json.dumps(_finite(msgspec.to_builtins(document)), allow_nan=False).encode()


def _finite(document: object) -> object:
    if isinstance(document, Mapping):
        return {str(key): _finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [_finite(value) for value in document]
    return None if isinstance(document, float) and not isfinite(document) else document

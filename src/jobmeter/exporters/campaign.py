"""A build campaign as the bytes of a `campaign_stats.json` that tools of campaigns read.

What a campaign says of a build is worked out elsewhere and handed over; here it only becomes bytes.
"""

import json
from collections.abc import Iterable, Mapping

import msgspec

from jobmeter.exporters import WHOLE

Document = Mapping[str, object]


def render(document: Document) -> Mapping[str, Iterable[bytes]]:
    """Write the document of a campaign."""
    return {WHOLE: (encode(document),)}


def encode(document: Document) -> bytes:
    """Write strict JSON, indented: a number that is none is null, half a character a question mark."""
    try:
        compact = msgspec.json.encode(document)
    except UnicodeEncodeError:
        # out of an argument or a foreign file; strict readers refuse its escape too
        whole = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        compact = msgspec.json.encode(json.loads(whole))
    return msgspec.json.format(compact, indent=2) + b"\n"

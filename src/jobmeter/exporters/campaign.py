"""A run as a build campaign of one build: the `campaign_stats.json` that tools of campaigns read.

What a campaign says of a build is worked out elsewhere and handed over; here it only becomes bytes.
"""

from collections.abc import Iterable, Mapping

import msgspec

from jobmeter.exporters import WHOLE

Document = Mapping[str, object]


def render(document: Document) -> Mapping[str, Iterable[bytes]]:
    """Write the document of a campaign."""
    return {WHOLE: (msgspec.json.format(msgspec.json.encode(document), indent=2), b"\n")}

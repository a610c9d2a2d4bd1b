"""Resource samples in the log of a build: JSON between `BUILD_STATS_JSON_START` and `BUILD_STATS_JSON_END`.

What misleads: Cloud Build puts `Step #0 - "build": ` before every line, BuildKit `#12 45.1 `, both at once where one
runs the other, log viewers a time; steps that run side by side take turns line by line; the marker also stands in
the echo of the command that prints it. So prefixes are cut line by line, lines of other steps are left out, and the
last START that is followed by JSON counts. A block that was cut off still gives the samples that are whole.
"""

import re
from collections.abc import Iterator

from jobmeter.formats import loose_json

START, END = "BUILD_STATS_JSON_START", "BUILD_STATS_JSON_END"
_LARGEST_BLOCK = 1 << 25
_LONGEST_PREFIX = 1 << 16
"""How far back the beginning of a line is looked for."""
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_PREFIX = re.compile(
    r"\ufeff"
    r'|(?P<step>Step #\d+(?: - "[^"]*")?: ?)'
    r"|(?P<vertex>#\d+ )\d+\.\d+ ?"
    r"|(?P<service>[\w.-]+ +\| )"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]+"
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_NO_VALUE = re.compile(r":\s*(?=[,}])")
"""What a shell writes where a variable was empty."""

Sample = dict[str, object]
Line = tuple[str, str]
"""Who wrote a line, and the line itself."""


def find_samples(text: str) -> list[Sample] | None:
    """Find the samples of the last block that holds any; None where there is no block."""
    segments = list(_segments(text))
    for read in (_whole, _salvaged):
        for segment in reversed(segments):
            found = read(segment)
            if found is not None:
                return found
    return None


def samples_of(document: object) -> list[Sample] | None:
    """Take the samples out of a document `{"samples": [...]}`, or a list of them; None where it is neither."""
    listed = document.get("samples") if isinstance(document, dict) else document
    if not isinstance(listed, list):
        return None
    return [loose_json.mapping(sample) for sample in listed if isinstance(sample, dict)]


def is_sample(document: object) -> bool:
    """Tell one sample from other objects."""
    return (
        isinstance(document, dict) and "ts" in document and ("cpu" in document or "mem_used_gb" in document)
    )


def _segments(text: str) -> Iterator[list[str]]:
    """Cut out what follows each START, up to the next one or an END: as written, and of one writer only."""
    place, after = text.find(START), 0
    while place >= 0:
        following = text.find(START, place + len(START))
        near = max(place - _LONGEST_PREFIX, after)
        begin = max(text.rfind("\n", near, place), text.rfind("\r", near, place), near - 1) + 1
        end = len(text) if following < 0 else following
        yield _bodies(text[begin : min(end, place + _LARGEST_BLOCK)])
        place, after = following, place + len(START)


def _bodies(segment: str) -> list[str]:
    lines = [_cleaned(line) for line in _LINE_ENDS.split(segment)]
    writer = lines[0][0]
    own = [line for who, line in lines if who == writer]
    everyone = [line for _, line in lines]
    # joined without line ends: a line that was too long for a log is broken anywhere
    bodies = ["".join(own), "".join(everyone)] if len(own) < len(everyone) else ["".join(own)]
    return [body.partition(START)[2].partition(END)[0] for body in bodies]


def _cleaned(line: str) -> Line:
    """Cut everything off a line that others put before it."""
    plain = _ANSI.sub("", line) if "\x1b" in line else line
    writer, begin = "", 0
    while (prefix := _PREFIX.match(plain, begin)) is not None:
        writer += prefix["step"] or prefix["vertex"] or prefix["service"] or ""
        begin = prefix.end()
    return writer, plain[begin:]


def _whole(bodies: list[str]) -> list[Sample] | None:
    for body in bodies:
        begin = min((place for place in (body.find("{"), body.find("[")) if place >= 0), default=-1)
        if begin < 0:
            continue
        try:
            document, _ = loose_json.DECODER.raw_decode(body, begin)
        except (ValueError, RecursionError):
            continue
        found = samples_of(document)
        if found is not None:
            return found
    return None


def _salvaged(bodies: list[str]) -> list[Sample] | None:
    for body in bodies:
        objects = (_NO_VALUE.sub(": null", found[0]) for found in _OBJECT.finditer(body))
        known = [document for text in objects if is_sample(document := loose_json.parse_object(text))]
        if known:
            return [loose_json.mapping(sample) for sample in known]
    return None

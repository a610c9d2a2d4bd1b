"""The program found itself in a state it says cannot be: `assert` of Python, C and C++."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of

WORDS = ("assertionerror", "assertion `", "assertion failed", "assert failed", "check failed:", "panicked at")
_SAID = re.compile(
    r"\bAssertionError\b|Assertion `.{0,200}' failed|[Aa]ssertion failed|Check failed: |panicked at "
)


def read(passage: Passage) -> Sign | None:
    """Read an assertion that did not hold."""
    if _SAID.search(passage.text) is None or passage.level in ("INFO", "DEBUG"):
        return None
    return Sign(type=type_of(passage, "assertion"), message=passage.text, level=level_of(passage))

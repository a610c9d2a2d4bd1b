"""Any other exception that a traceback ended in, of Python or Java."""

import re

from jobmeter.formats.errorlines.sign import ERROR, Passage, Sign, level_of

WORDS = ("",)
_JAVA = re.compile(r"^Exception in thread \"[^\"]*\" (?P<type>[\w.$]+)(?:: (?P<message>.*))?")
_CPP = re.compile(r"terminate called after throwing an instance of '(?P<type>[^']+)'")


def read(passage: Passage) -> Sign | None:
    """Read what is an exception and nothing more particular."""
    if passage.exception is not None:
        return Sign(type=passage.exception, message=passage.text, level=level_of(passage, ERROR))
    java = _JAVA.match(passage.text) or _CPP.search(passage.text)
    return None if java is None else Sign(type=java["type"], message=passage.text)

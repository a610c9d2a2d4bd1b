"""Numbers of record as they are said: an inexact one says so, and each names the keys it came from."""

from collections.abc import Callable

from jobmeter.model import text
from jobmeter.model.run import Headline


def number(headline: Headline, write: Callable[[float], str]) -> str:
    """Write a value; one that is not exact says so before anything else."""
    return write(headline.value) if headline.exact else f"~{write(headline.value)}"


def source(headline: Headline, joint: str = ", ") -> str:
    """Name the keys of a number, joined by how it was made of them."""
    return text.clean(joint.join(dict.fromkeys(headline.keys)))

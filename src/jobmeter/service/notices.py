"""How the service tells people what they should know but need not act on."""

import sys
from collections.abc import Callable

Warn = Callable[[str], None]


def to_stderr(sentence: str) -> None:
    """Write one line beside the output of a command."""
    print(f"jobmeter: {sentence}", file=sys.stderr)

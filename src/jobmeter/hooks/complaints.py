"""Say what is wrong once, on stderr, and let the training go on; raise it only where that was asked for."""

import sys

from jobmeter.errors import JobmeterError, UsageError
from jobmeter.recording import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")


_MOST = 100
"""A script that names its metrics after its steps would be told for ever, and remembered for ever."""


class Complaints:
    """What a run has complained about so far."""

    __slots__ = ("_said", "strict")

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self._said: set[str] = set()

    def say(self, sentence: str, *, about: str = "") -> None:
        """Tell a sentence, once per what it is about; as an error where the script is to be strict."""
        if self.strict:
            raise UsageError(sentence)
        if (about or sentence) in self._said or len(self._said) >= _MOST:
            return
        self._said.add(about or sentence)
        say(sentence)
        if len(self._said) == _MOST:
            say("so much was refused that no more of it is said")

    def failed(self, error: JobmeterError) -> None:
        """Tell an expected error with its hint."""
        if self.strict:
            raise error
        say(f"{error}; {error.hint}" if error.hint else str(error))

    def not_kept(self, error: OSError) -> None:
        """Tell that the disk refuses what is logged."""
        reason = (error.strerror or "it cannot be written").lower()
        self.say(f"what is logged is not kept for now: {reason}", about="disk")

    def attempt(
        self, what: str, action: "Callable[P, T]", *given: "P.args", **named: "P.kwargs"
    ) -> "T | None":
        """Do something for the training that must not hurt it; whatever goes wrong is told and costs data."""
        if self.strict:
            return action(*given, **named)
        return guard.attempt(
            lambda: action(*given, **named), lambda error: self.say(f"{what} failed: {error}", about=what)
        )


def say(sentence: str) -> None:
    """Print one line of our own."""
    if sys.stderr is None:
        return  # a daemon: `print` would take stdout instead, which is the script's
    try:
        print(f"jobmeter: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return  # nobody listens, or the stream is closed already

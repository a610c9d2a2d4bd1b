"""Where in the job's own code an exception came from, by its traceback.

A library is where errors are raised and seldom where they are made: of all frames the innermost one outside of what
was installed and of Python itself counts. What can mislead: a library that is developed in place looks like the job's
own code.
"""

import re
from dataclasses import dataclass

from jobmeter.model.report import LogError

_HEADER = "Traceback (most recent call last)"
_FRAME = re.compile(
    r"\s*(?:[|] *)?File \"(?P<path>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<function>\S+))?"
    r"|[│┃] +(?P<boxed>[^\s:]+\.py):(?P<at>\d+) in (?P<within>\S+)"
)
_FOREIGN = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\][Ll]ib(?:64)?[/\\]python\d|[/\\]bin[/\\][^/\\.]+$"
    r"|^<(?!string>|stdin>|ipython-input)"
)
"""Packages, Python itself, the commands that packages bring, and code that a library made up."""
_GIVEN = frozenset(("<string>", "<stdin>"))
"""What Python calls the code that was given on its command line or its input."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of code that was being run."""

    path: str
    line: int
    function: str | None = None

    @property
    def is_own(self) -> bool:
        """Tell the job's own code from what was installed, and from Python's."""
        return not _FOREIGN.search(self.path)

    @property
    def is_given(self) -> bool:
        """Tell code that stands in no file: `python -c`, or the standard input."""
        return self.path in _GIVEN

    @property
    def place(self) -> str:
        """Say where it is, as editors read it."""
        if self.is_given:
            given = "that was given with -c" if self.path == "<string>" else "from the standard input"
            return f"line {self.line} of the code {given}"
        within = "" if self.function in (None, "<module>") else f" in {self.function}"
        return f"{self.path}:{self.line}{within}"


def own(error: LogError) -> Frame | None:
    """Give the innermost frame of the job's own code; None where there is none, or no traceback."""
    frames = _frames(error.traceback or "", error.message.split("\n")[0])
    mine = [frame for frame in reversed(frames) if frame.is_own]
    # what `eval` and dataclasses make is called `<string>` too: it counts where no file of one's own is there
    return next((frame for frame in mine if not frame.is_given), mine[0] if mine else None)


def _frames(traceback: str, ending: str) -> list[Frame]:
    """List the frames above the words; of several exceptions the others do not count."""
    found: list[Frame] = []
    for line in traceback.split("\n"):
        frame = _FRAME.match(line)
        if frame is not None:
            path, at = frame["path"] or frame["boxed"], frame["line"] or frame["at"]
            found.append(Frame(path, int(at), frame["function"] or frame["within"]))
        elif _HEADER in line:
            found = []
        elif ending and ending in line:
            return found
    return found

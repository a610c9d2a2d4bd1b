"""Tracebacks of Python, put together line by line: chained ones, those of workers, of groups, and rich ones in boxes.

What misleads: the exception printed first is where it began, the last one is what came of it; several processes print
into one file at once; a message may have more lines than one, and nothing says where it ends.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

HEADER = "Traceback (most recent call last)"
_ORIGINAL = "Original Traceback (most recent call last)"
_CHAINED = re.compile(
    r"(?P<cause>The above exception was the direct cause of the following exception:)"
    r"|(?P<context>During handling of the above exception, another exception occurred:)"
)
_EXCEPTION = re.compile(r"(?P<type>[A-Za-z_][\w.]*(?:\([\w.]+\))?)(?:: ?(?P<message>.*))?$")
_DUMPED = re.compile(r"object repr\s+: (?P<type>[A-Za-z_][\w.]*)\((?P<message>.*)\)$")
"""What Python writes of an exception whose traceback could not be printed: a handler of signals failed meanwhile."""
_LOOKS_SO = re.compile(
    r"(?:Error|Exception|Interrupt|Exit|Warning|Iteration|Group|Failure|Timeout|Empty|Full|Aborted"
    r"|NotFound|Quit|Crashed)\)?$|\."
)
_GROUPED = re.compile(r"\s*(?:[|+] ?|\+-\+-+ \d+ -+)")
_BOXED = "│╭╰┃┏┗─"
_MOST_NOISE = 15
_MOST_BLANKS = 2
_MOST_LINES = 400
_LONGEST_LINE = 4_000
_MOST_CONTINUED = 12
_MOST_TOLD = 5
_LONGEST_TOLD = 500
_EXPLAINED = re.compile(r"[ \t]+(?:in \".*\", line \d+, column \d+|\S.*[\[(]type=[\w.]+)")
"""What stands below a line of YAML's complaints (where) and of pydantic's (why): so that line is one of the message."""
_QUOTED = re.compile(r"\s+in \".*\", line \d+, column \d+:\s*$")
"""YAML shows the line it speaks of below, with a caret under the place."""
_NOT_TOLD = re.compile(r"\s*(?:[=\-]*|\^.*|[|+].*|For further information visit .*|.*\d%\|.*)")
"""Rules, carets, frames of groups, addresses, bars: lines below an exception that say nothing of it."""
_WIDE = 120
_INTERNAL = frozenset(
    ("KeyError", "AttributeError", "StopIteration", "IndexError", "queue.Empty", "_queue.Empty")
)
"""What libraries raise to themselves: met while handling one of these, the next exception is the failure."""


@dataclass(slots=True)
class Link:
    """One exception of a chain."""

    type: str
    message: str
    following: str
    """What came after it, in case the message went on there."""
    continued: int = 0
    more: list[str] = field(default_factory=list)
    """The further lines of its message, as far as they say something."""
    _is_quoting: bool = False

    @property
    def text(self) -> str:
        """Write it as Python does."""
        return f"{self.type}: {self.message}" if self.message else self.type

    @property
    def told(self) -> tuple[str, ...]:
        """Give the further lines; the last one announces nothing."""
        if not self.more or not _QUOTED.match(self.more[-1]):
            return tuple(self.more)
        return (*self.more[:-1], self.more[-1].rstrip(": "))

    def tell(self, line: str) -> None:
        """Take in a further line of the message, unless it only shows what another one speaks of."""
        is_quoted, self._is_quoting = self._is_quoting, _QUOTED.match(line) is not None
        if is_quoted:
            # the line, and then the caret
            self._is_quoting = line.lstrip()[:1] != "^"
            return
        told = len(self.text) + sum(map(len, self.more))
        has_room = len(self.more) < _MOST_TOLD and told + len(line) <= _LONGEST_TOLD
        if has_room and not _NOT_TOLD.fullmatch(line):
            self.more.append(line.rstrip())


@dataclass(slots=True)
class Traceback:
    """One that is being read."""

    start: int
    is_ignored: bool = False
    """Python said that it goes on in spite of it."""
    lines: list[str] = field(default_factory=lambda: [f"{HEADER}:"])
    links: list[Link] = field(default_factory=list)
    last_seen: int = 0
    """Where in the stream its last line stands."""
    _in_body: bool = True
    _noise: int = 0
    _blanks: int = 0
    _is_context: bool = False
    _original: bool = False
    _chains: bool = False

    def take(
        self, line: str, at: int, following: Callable[[], str], *, is_record: Callable[[], bool]
    ) -> bool:
        """Take the next line in; False where it does not belong here and the traceback is over."""
        taken = (
            self._body(line, following)
            if self._in_body
            else self._after(line, following, is_record=is_record)
        )
        if taken:
            self.last_seen = at
        return taken

    def _keep(self, line: str) -> None:
        self.lines.append(line[:_LONGEST_LINE])
        if len(self.lines) > _MOST_LINES:
            del self.lines[_MOST_LINES // 2]

    def _body(self, line: str, following: Callable[[], str]) -> bool:
        if HEADER in line:
            return True  # a second one begins before the first has ended: two processes write at once
        if not line.strip():
            self._noise += 1
            return self._noise <= _MOST_NOISE
        grouped = _GROUPED.match(line)
        inner = line[grouped.end() :] if grouped else line
        if inner[:1] in " \t" or line[:1] in _BOXED:
            self._keep(line)
            return True
        found = _DUMPED.match(line) or _EXCEPTION.match(inner.rstrip())
        if found is not None and (found["message"] or _LOOKS_SO.search(found["type"])):
            self._keep(line)
            self._end(Link(found["type"], found["message"] or "", following()))
            return True
        self._noise += 1
        return self._noise <= _MOST_NOISE

    def _end(self, link: Link) -> None:
        if self._original and self.links:
            # what a worker raised is older than what its parent made of it
            self.links.insert(len(self.links) - 1, link)
        else:
            self.links.append(link)
        self._in_body, self._blanks, self._original, self._chains, self._noise = False, 0, False, False, 0

    def _after(self, line: str, following: Callable[[], str], *, is_record: Callable[[], bool]) -> bool:
        if _ORIGINAL in line:
            self._keep(line)
            self._in_body = self._original = True
            return True
        if HEADER in line:
            return self._go_on() if self._chains else False
        if not line.strip():
            self._blanks += 1
            return self._blanks <= _MOST_BLANKS or self._chains
        chained = _CHAINED.search(line)
        if chained is not None:
            self._keep("")
            self._keep(line)
            self._is_context = self._is_context or chained["context"] is not None
            self._chains = True
            return True
        return not is_record() and self._continues(line, following)

    def _go_on(self) -> bool:
        self._keep("")
        self._keep(f"{HEADER}:")
        self._in_body = True
        return True

    def _continues(self, line: str, following: Callable[[], str]) -> bool:
        """Take in a line of a message that has several."""
        link = self.links[-1]
        if self._blanks or link.continued >= _MOST_CONTINUED:
            return False
        is_part = line[:1] in " \t" or bool(_EXPLAINED.match(following()))
        announced = link.message.endswith(":")
        if not (is_part or line[:1] in "=-" or announced or not link.message or len(link.message) >= _WIDE):
            return False
        if is_part or (announced and not link.continued):
            link.tell(line)
        link.continued += 1
        self._keep(line)
        return True

    @property
    def ordered(self) -> list[Link]:
        """Give the exceptions, where it began first."""
        if self._is_context and len(self.links) > 1 and self.links[0].type in _INTERNAL:
            return [self.links[-1], *self.links[:-1]]
        return self.links

    @property
    def text(self) -> str:
        """Give it whole."""
        return "\n".join(self.lines)

"""A name that a module does not have, as Python tells it: which name, which module, which file that is."""

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"cannot import name '?(?P<name>\w+)'? from (?P<partly>partially initialized module )?'(?P<module>[A-Za-z_][\w.]*)'"
    r"(?: \(most likely due to a circular import\))?"
    r"(?: \((?:consider renaming '(?P<renamed>[^']+)' (?P<why>if|since)\b[^)]*|(?P<path>[^()]+))\))?"
)
"""Since 3.13 Python says itself which file hides a module, `if` it may be a circle as well."""
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_WITH_PYTHON = re.compile(r"[/\\][Ll]ib(?:64)?[/\\]python\d")
_NOWHERE = "unknown location"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name that was to be imported."""

    name: str
    module: str
    path: str | None
    """The module's file, where it has one."""
    is_circular: bool
    """The module was still being read itself."""
    is_doubtful: bool = False
    """Or its file stands where a library of that name was meant."""

    @property
    def is_installed(self) -> bool:
        """Tell what a package brought."""
        return self.path is not None and _INSTALLED.search(self.path) is not None

    @property
    def is_of_python(self) -> bool:
        """Tell what came with Python."""
        return self.path is not None and not self.is_installed and _WITH_PYTHON.search(self.path) is not None


def read(message: str) -> Named | None:
    """Take the message apart; None for any other one."""
    found = _NAME.search(message)
    if found is None:
        return None
    path = found["path"] or found["renamed"]
    return Named(
        name=found["name"],
        module=found["module"],
        path=None if path == _NOWHERE else path,
        is_circular=found["partly"] is not None or found["why"] == "if",
        is_doubtful=found["why"] == "if",
    )

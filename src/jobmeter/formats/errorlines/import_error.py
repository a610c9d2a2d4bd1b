"""A module, a shared library or a program that the job needs is not there."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("no module named", "cannot import name", "importerror", "modulenotfounderror",
         "error while loading shared",
         "cannot open shared object", "command not found", "undefined symbol", "cannot find module",
         "there is no package called", "noclassdeffounderror", "classnotfoundexception", "version `glibc",
         "could not find or load main class", "dll load failed", ": not found", "circular import",
         "executable file not found", "glibcxx")  # fmt: skip
_SAID = re.compile(
    r"No module named '?(?P<module>[\w.]+)'?|cannot import name '?(?P<name>\w+)'?|\bImportError: "
    r"|ModuleNotFoundError"
    r"|error while loading shared libraries: (?P<library>[^\s:]+)"
    r"|(?P<object>\S+): cannot open shared object file"
    r"|undefined symbol: (?P<symbol>\w+)|version `(?P<glibc>GLIBC\w*_[\d.]+)' not found"
    r"|(?:^|: )(?P<program>[\w./+-]+): command not found|Cannot find module '(?P<node>[^']+)'"
    r"|there is no package called .(?P<r>[\w.]+)|NoClassDefFoundError: (?P<java>\S+)"
    r"|ClassNotFoundException: (?P<java2>\S+)"
    r"|(?:^|: )\d+: (?P<sh>[\w./+-]+): not found$|DLL load failed"
    r"|exec: \"(?P<docker>[^\"]+)\": (?:stat \S+|executable file not found)"
)
_OPTIONAL = re.compile(
    r"dlerror|Could not load dynamic library|not (?:be )?(?:installed|available).{0,20}(?:skip|fall)"
    r"|optional|falling back|disabled|will not|ignore",
    re.I,
)


def read(passage: Passage) -> Sign | None:
    """Read that something is not installed."""
    said = _SAID.search(passage.text)
    if said is None or (passage.exception is None and _OPTIONAL.search(passage.text)):
        return None
    # the exception's own name comes before what names the module
    missing = next((v for one in _SAID.finditer(passage.text) for v in one.groups() if v), None)
    fields: dict[str, Value] = {} if missing is None else {"missing": missing}
    is_logged_only = (
        passage.exception is None and passage.level in (None, "INFO", "DEBUG") and _may_be_tried(said)
    )
    return Sign(
        type=type_of(passage, "import_error"),
        message=passage.text,
        fields=fields,
        # the same words without a traceback are mostly a package that was tried and is not needed
        level="WARNING" if is_logged_only and not _bare(passage.text) else level_of(passage),
    )


def _may_be_tried(said: "re.Match[str]") -> bool:
    """Tell what programs look for and do without: modules of Python, libraries they open by name."""
    return said["object"] is not None or any(word in said[0] for word in ("odule", "import", "Import"))


def _bare(text: str) -> bool:
    return (
        re.match(
            r"(?:\S*python\S*: )?(?:No module named|\w*Error: |Error: Cannot find module|/\S*python\S*: )",
            text,
        )
        is not None
    )

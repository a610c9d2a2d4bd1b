"""Read `.env` files as con-duct does through python-dotenv: assignments, quotes, comments, `${NAME}`.

A line that is no assignment is skipped and counted; a file that cannot be read is skipped with its reason.
"""

import os
import re
from collections.abc import Iterator, Mapping

DEFAULT_PATHS = "/etc/duct/.env:${XDG_CONFIG_HOME:-~/.config}/duct/.env:.duct/.env"

_ASSIGNMENT = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.]*)[ \t]*=[ \t]*
    (?: '(?P<single>(?:\\.|[^'\\])*)'[ \t]*(?:\#[^\n]*)?
      | "(?P<double>(?:\\.|[^"\\])*)"[ \t]*(?:\#[^\n]*)?
      | (?P<bare>[^\n]*) )[ \t]*$""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"\s#.*")
_REFERENCE = re.compile(r"\$\{([^}:]+)(?::-([^}]*))?\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}


def search_paths(environ: Mapping[str, str]) -> list[str]:
    """List the files to look for, the strongest last."""
    listed = environ.get("DUCT_CONFIG_PATHS", DEFAULT_PATHS)
    expanded = _expand(listed, environ)
    return [os.path.expanduser(path.strip()) for path in expanded.split(os.pathsep) if path.strip()]


def settings(environ: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Read all files; a later file wins. Returns the values and what is to be said about the files."""
    found: dict[str, str] = {}
    remarks: list[tuple[str, str]] = []
    for path in search_paths(environ):
        if not os.path.exists(path):
            remarks.append(("DEBUG", f".env file not found (skipping): {path}"))
            continue
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            remarks.append(("WARNING", f"Cannot read .env file {path}: {error}"))
            continue
        remarks.append(("INFO", f"Loading .env file: {path}"))
        found.update(parse(text, {**found, **environ}))
    return found, remarks


def parse(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """Read the assignments of one file; `${NAME}` sees what is known and what stands above."""
    found: dict[str, str] = {}
    for name, value, literal in _assignments(text):
        found[name] = value if literal else _expand(value, {**known, **found})
    return found


def _assignments(text: str) -> Iterator[tuple[str, str, bool]]:
    position = 0
    while position < len(text):
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        if text[position:line_end].lstrip().startswith("#"):
            position = line_end + 1
            continue
        match = _ASSIGNMENT.match(text, position)
        if match is None:
            position = line_end + 1
            continue
        yield _value(match)
        position = match.end() + 1


def _value(match: re.Match[str]) -> tuple[str, str, bool]:
    name = match["name"]
    if match["single"] is not None:
        return name, re.sub(r"\\([\\'])", r"\1", match["single"]), True
    if match["double"] is not None:
        return name, re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), match["double"]), False
    return name, _COMMENT.sub("", match["bare"]).strip(), False


def _expand(text: str, known: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: known.get(match[1]) or match[2] or "", text)

"""Pretty-print a file of jobmeter or con-duct."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.model.measurement import Measurement
from jobmeter.service import pretty

DEEPEST = 40


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="info.json, run.jsonl, usage.jsonl, ...; also .gz"
    )
    parser.add_argument(
        "-H", "--humanize", "--humanise", action="store_true", help="write sizes and times with units"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print every document of the file as an outline."""
    documents = pretty.open_documents(args.file)
    if args.json:
        common.print_json_list(documents)
    else:
        out = screen.standard_output()
        for number, document in enumerate(documents):
            known = documents.definitions | pretty.definitions_in(document)
            outline = _Outline(out, known if args.humanize else None)
            out.write(*([""] if number else []), *outline.lines(document))
    shown = text.clean(str(args.file))
    if not documents.good_lines:
        raise UsageError(f"{shown} holds no JSON", hint="pp reads JSON documents, whole or one a line")
    if documents.bad_lines:
        print(
            f"jobmeter: {documents.bad_lines} lines of {shown} are no JSON and were left out", file=sys.stderr
        )
    return 0


class _Outline:
    """Nested mappings as indented, aligned lines; humanised where definitions are given."""

    def __init__(self, out: Screen, definitions: Mapping[str, Measurement] | None) -> None:
        self._out = out
        self._definitions = definitions

    def lines(self, document: object, indent: int = 0, key: str = "") -> Iterator[str]:
        if isinstance(document, dict) and document and indent < DEEPEST:
            yield from self._mapping(document, indent)
        elif (
            isinstance(document, list)
            and any(isinstance(item, dict | list) for item in document)
            and indent < DEEPEST
        ):
            for item in document:
                first, *rest = self.lines(item, indent + 1, key)
                yield f"{'  ' * indent}- {first.lstrip()}"
                yield from rest
        else:
            yield "  " * indent + self._scalar(key, document)

    def _mapping(self, document: Mapping[str, object], indent: int) -> Iterator[str]:
        names = {key: text.clean(str(key)) for key in document}
        cells = min(max(text.width(name) for name in names.values()), 32)
        for key, value in document.items():
            name = self._out.paint(names[key], Style.BOLD)
            if _is_nested(value) and indent < DEEPEST:
                yield f"{'  ' * indent}{name}"
                yield from self.lines(value, indent + 1, key)
                continue
            padding = " " * max(0, cells - text.width(names[key]))
            yield f"{'  ' * indent}{name}{padding}  {self._scalar(key, value)}"

    def _scalar(self, key: str, value: object) -> str:
        if self._definitions is not None:
            written = pretty.humanised(key, value, self._definitions)
            if written is not None:
                return written
        if isinstance(value, str):
            return text.clean(value) or '""'
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if _is_nested(value):
            return text.ELLIPSIS  # deeper than a person reads
        if isinstance(value, list):
            return "[" + ", ".join(self._scalar(key, item) for item in value) + "]"
        return text.clean(str(value))


def _is_nested(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict) and bool(value)

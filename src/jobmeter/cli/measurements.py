"""List everything that can be measured, and what is available here."""

import argparse
import os

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.errors import UsageError
from jobmeter.model import text
from jobmeter.probes.paths import Paths
from jobmeter.service import catalogue
from jobmeter.service.catalogue import Entry


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "prefix", metavar="PREFIX", nargs="*", help="only keys that begin so: proc, cgroup_mem"
    )
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    entries = list(catalogue.catalogue(Paths(), os.uname().sysname))
    for prefix in args.prefix:
        if not any(_begins(entry, prefix) for entry in entries):
            raise UsageError(
                f"no measurement begins with {text.clean(prefix)}", hint="jobmeter measurements lists all"
            )
    if args.prefix:
        entries = [entry for entry in entries if any(_begins(entry, prefix) for prefix in args.prefix)]
    if args.json:
        common.print_json_list(entry.as_record() for entry in entries)
        return 0
    out = screen.standard_output()
    out.write(*_lines(entries, out))
    return 0


def _begins(entry: Entry, prefix: str) -> bool:
    """Compare whole words: `ps` is not `psi`."""
    return f"{entry.measurement.key}_".startswith(f"{prefix.removesuffix('_')}_")


def _lines(entries: list[Entry], out: Screen) -> list[str]:
    """Group the keys under their source: key, what it is, and its meaning, wrapped beside it."""
    lines: list[str] = []
    kinds = {entry.measurement.key: _kind(entry) for entry in entries}
    key_cells = max(len(key) for key in kinds)
    kind_cells = max(len(kind) for kind in kinds.values())
    collector = ""
    for entry in entries:
        if entry.collector != collector:
            collector = entry.collector
            lines += ["", _heading(entry, out)] if lines else [_heading(entry, out)]
        key = entry.measurement.key
        room = max(out.width - key_cells - kind_cells - 6, 24) if out.width else 0
        about = text.wrap(entry.measurement.about, room)
        kind = out.paint(f"{kinds[key]:<{kind_cells}}", Style.DIM)
        lines.append(f"  {key:<{key_cells}}  {kind}  {about[0]}")
        lines += [" " * (key_cells + kind_cells + 6) + more for more in about[1:]]
    return lines


def _kind(entry: Entry) -> str:
    found = entry.measurement
    unit = "" if found.unit.value == "none" else f" {found.unit.value}"
    return f"{found.scope.value} {found.kind.value}{unit}"


def _heading(entry: Entry, out: Screen) -> str:
    name = out.paint(entry.collector, Style.BOLD) + ("  (untested on hardware)" if entry.untested else "")
    if entry.missing is not None:
        return f"{name}  {out.paint(f'not here: {text.clean(entry.missing)}', Style.WARN)}"
    return f"{name}  {out.paint('available', Style.GOOD)}" + ("" if entry.default else ", on request")

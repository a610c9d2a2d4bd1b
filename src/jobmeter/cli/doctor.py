"""Test this machine: what can be measured here, can it be kept, does a real job come out right."""

import argparse

from jobmeter.cli import common
from jobmeter.cli.render import screen
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text
from jobmeter.probes.paths import Paths
from jobmeter.service import doctor
from jobmeter.service.doctor import Finding, Place, Verdict

_STYLES = {Verdict.OK: Style.GOOD, Verdict.WARN: Style.WARN, Verdict.FAIL: Style.BAD}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common.add_common(parser)


def main(args: argparse.Namespace) -> int:
    """Run every check; exit code 1 where one failed."""
    place = Place(Paths(), common.home_of(args))
    out = screen.standard_output()
    found: dict[str, Finding] = {}
    for name in doctor.ALL:
        found[name] = doctor.load(name)(place)
        if not args.json:
            out.write(*_lines(name, found[name], out))
    if args.json:
        common.print_json([_record(name, finding) for name, finding in found.items()])
    return 1 if any(finding.verdict is Verdict.FAIL for finding in found.values()) else 0


def _record(name: str, finding: Finding) -> dict[str, str]:
    record = {"check": name, "verdict": finding.verdict.value, "fact": finding.fact}
    return record | ({"repair": finding.repair} if finding.repair else {})


def _lines(name: str, finding: Finding, out: Screen) -> list[str]:
    label = max(map(len, doctor.ALL))
    room = max(out.width - label - 8, 30) if out.width else 0
    first, *more = text.wrap(text.clean(finding.fact), room)
    verdict = out.paint(f"{finding.verdict.value:<4}", _STYLES[finding.verdict])
    lines = [f"{verdict}  {name:<{label}}  {first}", *(" " * (label + 8) + line for line in more)]
    if finding.repair:
        lines.append(f"{' ' * (label + 8)}-> {text.clean(finding.repair)}")
    return lines

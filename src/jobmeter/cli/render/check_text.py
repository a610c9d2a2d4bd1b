"""What a guard found: a line for each reason, or the same as a comment in Markdown."""

from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text, units
from jobmeter.model.check import Checked, CheckReport

_WORTH_TELLING = ("better", "still_worse")
_MARKS = {True: "worse", False: "ok"}


def page(report: CheckReport, screen: Screen, *, verbose: bool) -> list[str]:
    """Give a line for everything that is bad or changed, and nothing where nothing is; all when verbose."""
    lines: list[str] = []
    for one in report.checks:
        if not (one.is_bad or verbose or one.told in _WORTH_TELLING):
            continue
        style = Style.BAD if one.is_bad else Style.PLAIN
        wrapped = text.wrap(f"{_MARKS[one.is_bad]}: {text.clean(one.sentence)}", screen.width)
        lines += [screen.paint(line, style) for line in wrapped]
    return lines


def markdown(report: CheckReport) -> str:
    """Write a comment for a pull request."""
    bad = [one for one in report.checks if one.is_bad]
    title = f"{len(bad)} of {len(report.checks)} checks failed" if bad else "nothing is worse"
    lines = [
        f"### jobmeter: {title}",
        "",
        f"Run `{report.run_id}` against {_against(report)}.",
        "",
        "| | key | now | before | change | limit |",
        "|---|---|---:|---:|---:|---:|",
        *(_row(one) for one in report.checks),
        "",
        *(f"- {_escaped(one.sentence)}" for one in report.checks if one.is_bad or one.told in _WORTH_TELLING),
        *(f"- {_escaped(note)}" for note in report.notes),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _against(report: CheckReport) -> str:
    return "its history" if report.against == "history" else f"`{report.against}`"


def _row(one: Checked) -> str:
    change = "" if one.change_percent is None else f"{one.change_percent:+.1f} %"
    cells = (
        "❌" if one.is_bad else "✅",
        f"`{one.key}`",
        _amount(one, one.value),
        _amount(one, one.baseline),
        change,
        _escaped(one.limit or ""),
    )
    return f"| {' | '.join(cells)} |"


def _amount(one: Checked, value: float | None) -> str:
    return "" if value is None else units.format_amount(value, one.unit)


def _escaped(words: str) -> str:
    """Keep what runs and jobs are called from being read as a table, a link or HTML."""
    plain = text.clean(words)
    return "".join(f"\\{letter}" if letter in "|<>[]`*_\\" else letter for letter in plain)

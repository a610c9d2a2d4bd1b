"""A report on one screen: the verdict and what it rests on, findings, advice, and what the log complained of."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from jobmeter.cli.render import local_time, page, spans
from jobmeter.cli.render.rows import Row, lay_out
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.model import text, units
from jobmeter.model.measurement import Unit
from jobmeter.model.report import (
    Cause,
    Evidence,
    Finding,
    Followed,
    Health,
    LogError,
    Prediction,
    Recommendation,
    Report,
    Severity,
    Verdict,
)
from jobmeter.model.run import Run

STYLES = {
    Severity.CRITICAL: Style.BAD,
    Severity.WARNING: Style.WARN,
    Severity.INFO: Style.PLAIN,
}
HEALTH_STYLES = {Health.GOOD: Style.GOOD, Health.WARNING: Style.WARN, Health.CRITICAL: Style.BAD}
SURE = 0.95
"""From here on the kernel or the scheduler said so itself: nothing need be added."""
_MOST_EVIDENCE = 5
_QUOTE_CELLS = 300
_LONG_QUOTE = 80
_WARNING = "WARNING"
_SHOWN_PER_DETECTOR = 3
_UNITS = {unit.value: unit for unit in Unit}


def render(run: Run, report: Report, screen: Screen, *, errors: int) -> list[str]:
    """Lay a report out for a person; at most so many errors of the log."""
    parts = [
        list(_verdict(report)),
        list(_findings(report.findings)),
        list(_advice(report.recommendations)),
        list(_followed(report.followed)),
        list(_errors(report.log_errors, errors)),
    ]
    lines = page.heading(run, screen)
    for rows in parts:
        if rows:
            lines += ["", *lay_out(rows, screen)]
    return lines


def _verdict(report: Report) -> Iterator[Row]:
    verdict = report.verdict
    yield Row("verdict", f"{text.clean(verdict.sentence)}{_doubt(verdict)}", style=Style.BOLD)
    yield Row("health", report.health.value, style=HEALTH_STYLES[report.health])
    for label, row in zip(_once("because"), verdict.evidence[:_MOST_EVIDENCE], strict=False):
        yield _evidence(label, row, verdict.sentence)


def _doubt(verdict: Verdict) -> str:
    decided = verdict.confidence >= SURE or verdict.cause is Cause.UNKNOWN
    return "" if decided else f" ({round(100 * verdict.confidence)} % sure)"


def _once(label: str) -> Iterator[str]:
    """Name a group of rows at its first."""
    yield label
    while True:
        yield ""


def _evidence(label: str, one: Evidence, verdict: str) -> Row:
    moment = "" if one.timestamp is None else f"{_clock(one.timestamp)} "
    whose = "" if one.rank is None else f"rank {one.rank}: "
    is_new = one.quote and one.quote not in one.sentence and not _repeats(one.quote, verdict)
    quote = f": {_cut(one.quote)}" if one.quote and is_new else ""
    body = f"{moment}{whose}{text.clean(one.sentence)}{quote}"
    return Row(label, body, source=text.clean(one.source), hang=2)


def _repeats(quote: str, verdict: str) -> bool:
    """Tell whether the verdict just said these words, so many that saying them again hides the rest."""
    begin = " ".join(quote.split())[:_LONG_QUOTE]
    return len(begin) == _LONG_QUOTE and begin in " ".join(verdict.split())


def _cut(words: str) -> str:
    return text.cut(text.clean(" ".join(words.split())), _QUOTE_CELLS)


def _clock(moment: float) -> str:
    return local_time.whole(moment).partition(" ")[2] or local_time.UNKNOWN


def _findings(findings: Sequence[Finding]) -> Iterator[Row]:
    """Show the worst of every detector; how many more there are is said."""
    label = _once("findings")
    for _, same in groupby(findings, key=lambda one: (one.severity, one.detector)):
        told = list(same)
        for finding in told[:_SHOWN_PER_DETECTOR]:
            yield Row(next(label), _finding(finding), style=STYLES[finding.severity], hang=2)
        left = len(told) - _SHOWN_PER_DETECTOR
        if left > 0:
            yield Row(next(label), f"{left} more of {text.clean(told[0].detector)}", style=Style.DIM)


def _finding(finding: Finding) -> str:
    when = "" if finding.begin is None else f"{_clock(finding.begin)} "
    sentence = text.clean(finding.sentence)
    rank = "" if finding.rank is None else f"rank {finding.rank}"
    whose = f"{rank}: " if rank and not sentence.startswith(f"{rank} ") else ""
    return f"{finding.severity.value}: {when}{whose}{sentence}"


def _advice(advised: Sequence[Recommendation]) -> Iterator[Row]:
    for number, advice in enumerate(advised, 1):
        title = f"{number}. {advice.severity.value}: {text.clean(advice.title)}"
        yield Row("advice" if number == 1 else "", title, style=STYLES[advice.severity], hang=3)
        yield Row("", f"{text.clean(advice.action)}{_place(advice)}", hang=3, indent=3)
        yield Row("", text.clean(advice.impact), hang=3, indent=3)
        for one in advice.predictions:
            yield Row("", _prediction(one), style=Style.DIM, hang=3, indent=3)


def _place(advice: Recommendation) -> str:
    if advice.config_path is None:
        return ""
    current = "" if advice.current_value is None else f"{advice.current_value} -> "
    wanted = "" if advice.recommended_value is None else f": {current}{advice.recommended_value}"
    return text.clean(f" ({advice.config_path}{wanted})")


def _prediction(one: Prediction) -> str:
    before, after, low, high = (
        _number(value, one.unit) for value in (one.before, one.after, one.low, one.high)
    )
    name = text.clean(one.quantity.removesuffix("_bytes").replace("_", " "))
    return f"{name}: {before} -> {after} (nine times of ten {low} to {high})"


def _number(value: float, unit: str) -> str:
    known = _UNITS.get(unit)
    return (
        f"{units.format_metric(value)} {text.clean(unit)}"
        if known is None
        else units.format_value(value, known)
    )


def _followed(followed: Sequence[Followed]) -> Iterator[Row]:
    """Say what earlier advice promised and what came of it."""
    label = _once("followed")
    for one in followed:
        error = one.error_percent
        off = "" if error is None else f", {abs(error):.1f} % off"
        name = text.clean(one.predicted.quantity.removesuffix("_bytes").replace("_", " "))
        predicted, actual = (
            _number(value, one.predicted.unit) for value in (one.predicted.after, one.actual)
        )
        change = text.clean(f"{one.rule} ({one.config_path}: {one.value}) after {one.run_id}")
        words = f"{change}: {name} predicted {predicted}, came to {actual}{off}"
        yield Row(next(label), words, style=Style.GOOD if one.is_kept else Style.WARN, hang=2)


def _errors(errors: Sequence[LogError], most: int) -> Iterator[Row]:
    label = _once("log")
    for error in sorted(errors, key=lambda error: error.level == _WARNING)[:most]:
        yield Row(
            next(label), _error(error), style=Style.BAD if error.level != _WARNING else Style.WARN, hang=2
        )
    if len(errors) > most:
        yield Row(next(label), f"{len(errors) - most} more: see --errors or --json", style=Style.DIM)


def _error(error: LogError) -> str:
    moment = "" if error.timestamp is None else f"{_clock(error.timestamp)} "
    # the last line of a traceback begins with the name of what was raised
    message = error.message.removeprefix(f"{error.type}:")
    return f"{moment}{text.clean(error.type)}{_circumstances(error)}: {_cut(message)}"


def _circumstances(error: LogError) -> str:
    times = f", {error.count} times" if error.count > 1 else ""
    ranks = f", rank {spans.written(error.ranks)}" if error.ranks else ""
    held = error.memory_at_time_bytes
    return f"{times}{ranks}" + ("" if held is None else f", at {units.format_bytes(held)} of memory")

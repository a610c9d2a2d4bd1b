"""The parts of a report's page: what happened, what to change, what stood out, what the log said, how it is known."""

import json
from collections.abc import Callable, Iterable, Sequence

from jobmeter.exporters import html_text
from jobmeter.exporters.html_text import line, prose
from jobmeter.model import endings, moments, text, units
from jobmeter.model.measurement import Unit
from jobmeter.model.report import Evidence, Finding, LogError, Prediction, Recommendation, Report, Severity
from jobmeter.model.run import Headline, Run, Status
from jobmeter.model.view import Process

MOST_EVIDENCE = 8
MOST_FINDINGS, MOST_ERRORS, MOST_PROCESSES = 60, 40, 20
LONGEST_COMMAND, LONGEST_MESSAGE, LONGEST_TRACEBACK, LONGEST_CONFIG = 160, 600, 8_000, 30_000
_ARROW = "\N{RIGHTWARDS ARROW}"
_UNITS = {unit.value: unit for unit in Unit}


def summary(run: Run, report: Report, *, output_searched: bool) -> str:
    """Say how the run stands, what it needed and how it ended; errors are counted where they were looked for."""
    verdict = report.verdict
    figures = [
        ("peak memory", peak_memory(run)),
        ("duration", "" if run.wall_seconds is None else units.format_seconds(run.wall_seconds)),
        ("ended", _ending(run)),
        ("CPU", _headline(run, "cpu_seconds", units.format_seconds)),
        ("GPU", _headline(run, "gpu_util_percent", units.format_percent)),
        ("GPU memory", _headline(run, "gpu_memory_peak_bytes", units.format_bytes)),
        ("last step", "" if run.steps is None else f"{run.steps.last_step:,}"),
        ("errors in the log", _count_errors(report.log_errors, output_searched=output_searched)),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{_unbroken(value)}</dd></div>" for name, value in figures if value
    )
    sure = (
        "" if verdict.confidence >= 0.95 else f' <span class="muted">({verdict.confidence:.0%} sure)</span>'
    )
    return (
        f'<div class="card"><div class="verdict">{_badge(report.health.value)}'
        f"<p>{prose(verdict.sentence)}{sure}</p></div>{_evidence(verdict.evidence)}"
        f'<dl class="figures">{cells}</dl></div>'
    )


def _count_errors(errors: Sequence[LogError], *, output_searched: bool) -> str:
    count = sum(error.level != "WARNING" for error in errors)
    return f"{count:,}" if count or output_searched else ""


def _unbroken(value: str) -> str:
    """Let a figure break before what stands in brackets or after a comma, nowhere else."""
    for joint in (" (", ", "):
        before, found, after = value.partition(joint)
        if found:
            return f"<span>{line(before)}{joint.rstrip(' (')}</span> <span>{joint.lstrip(', ')}{line(after)}</span>"
    return f"<span>{line(value)}</span>"


def peak_memory(run: Run) -> str:
    """Write the peak against what was allowed: `119 GiB / 120 GiB (99 %)`."""
    peak, limit = run.headline.get("memory_peak_bytes"), run.limits.memory_bytes
    if peak is None:
        return ""
    if not limit:
        return units.format_bytes(peak.value)
    share = units.format_percent(100 * peak.value / limit)
    return f"{units.format_bytes(peak.value)} / {units.format_bytes(limit)} ({share})"


def _ending(run: Run) -> str:
    code = f", exit code {run.exit_code}" if run.exit_code is not None else ""
    unknown = run.status is Status.LOST and run.provenance.origin != "jobmeter"
    return "not known" if unknown else f"{run.status.value} {endings.cause(run)}".rstrip() + code


def _headline(run: Run, name: str, write: Callable[[float], str]) -> str:
    found: Headline | None = run.headline.get(name)
    return "" if found is None else write(found.value)


def _badge(word: str) -> str:
    return f'<span class="badge {word}">{word.capitalize()}</span>'


def _evidence(evidence: Sequence[Evidence]) -> str:
    rows = []
    for one in evidence[:MOST_EVIDENCE]:
        when = "" if one.timestamp is None else f"{_clock(one.timestamp)} "
        whose = "" if one.rank is None else f"rank {one.rank}: "
        quote = f"<code class=quote>{html_text.cut(one.quote, LONGEST_MESSAGE)}</code>" if one.quote else ""
        source = f' <span class="muted">{line(one.source)}</span>'
        rows.append(f"<li>{when}{whose}{prose(one.sentence)}{source}{quote}</li>")
    return f'<ul class="evidence">{"".join(rows)}</ul>' if rows else ""


def _clock(moment: float) -> str:
    known = moments.iso_time(moment)
    return "" if known is None else known[11:19]


def recommendations(advised: Sequence[Recommendation]) -> str:
    """Say what to change, where, and what it will do."""
    if not advised:
        return ""
    return f"<section><h2>Recommendations</h2>{''.join(map(_advice, advised))}</section>"


def _advice(advice: Recommendation) -> str:
    change = ""
    if advice.config_path is not None:
        values = f": {_value(advice.current_value)} {_ARROW} <b>{_value(advice.recommended_value)}</b>"
        known = advice.recommended_value is not None
        change = f'<p class="change mono">{line(advice.config_path)}{values if known else ""}</p>'
    predicted = "".join(f'<p class="muted">{_prediction(one)}</p>' for one in advice.predictions)
    return (
        f'<article class="card advice"><h3>{_badge(advice.severity.value)}{prose(advice.title)}</h3>'
        f"<p>{prose(advice.action)}</p>{change}<p>{prose(advice.impact)}</p>{predicted}{_evidence(advice.evidence)}</article>"
    )


def _value(value: object) -> str:
    return (
        "not set"
        if value is None
        else line(json.dumps(value) if isinstance(value, bool | dict | list) else str(value))
    )


def _prediction(one: Prediction) -> str:
    before, after, low, high = (
        _number(value, one.unit) for value in (one.before, one.after, one.low, one.high)
    )
    name = line(one.quantity.removesuffix("_bytes").replace("_", " "))
    return f"{name}: {before} {_ARROW} {after}, nine times of ten {low} to {high}"


def _number(value: float, unit: str) -> str:
    known = _UNITS.get(unit)
    return line(f"{units.format_metric(value)} {unit}" if known is None else units.format_value(value, known))


def findings(found: Sequence[Finding], run: Run) -> str:
    """List what stood out, worst first."""
    rows = []
    for one in found[:MOST_FINDINGS]:
        when = _span(one.begin, one.end, run)
        whose = "" if one.rank is None else f"rank {one.rank}: "
        about = " ".join(filter(None, (when, one.key, one.instance)))
        rows.append(
            f"<li>{_badge(one.severity.value)}<div>{whose}{prose(one.sentence)}"
            f'<div class="muted">{line(one.detector.replace("_", " "))} {line(about)}</div></div></li>'
        )
    more = len(found) - MOST_FINDINGS
    left = f'<p class="note">{more} more are in <code>jobmeter analyze --json</code>.</p>' if more > 0 else ""
    return f'<section><h2>Findings</h2><ul class="rows">{"".join(rows)}</ul>{left}</section>' if rows else ""


def _span(begin: float | None, end: float | None, run: Run) -> str:
    """Say when, counted from the start where that is known, as the charts do."""
    if begin is None:
        return ""
    words = [_since(begin, run), *([_since(end, run)] if end is not None and end > begin else [])]
    return " to ".join(words)


def _since(moment: float, run: Run) -> str:
    if run.started_at is None or moment < run.started_at:
        return _clock(moment)
    return units.format_seconds(moment - run.started_at)


def log_errors(errors: Sequence[LogError], run: Run) -> str:
    """List what the job's own output complained of; tracebacks are folded."""
    rows = "".join(_error(error, run) for error in errors[:MOST_ERRORS])
    more = len(errors) - MOST_ERRORS
    left = f'<p class="note">{more} more are in <code>jobmeter analyze --json</code>.</p>' if more > 0 else ""
    return f'<section><h2>Log errors</h2><ul class="rows">{rows}</ul>{left}</section>' if rows else ""


def _error(error: LogError, run: Run) -> str:
    held = error.memory_at_time_bytes
    facts = [
        "" if error.timestamp is None else f"after {_since(error.timestamp, run)}",
        f"{error.count:,} times" if error.count > 1 else "",
        f"ranks {', '.join(map(str, error.ranks))}" if error.ranks else "",
        "" if held is None else f"at {units.format_bytes(held)} of memory",
        error.stream or "",
    ]
    said = ", ".join(filter(None, facts))
    folded = ""
    if error.traceback:
        body = html_text.cut(error.traceback, LONGEST_TRACEBACK)
        folded = f"<details><summary>Traceback</summary><pre>{body}</pre></details>"
    # the last line of a traceback begins with the name of what was raised
    message = error.message.removeprefix(f"{error.type}:").lstrip()
    level = Severity.WARNING if error.level == "WARNING" else Severity.CRITICAL
    return (
        f"<li>{_badge(level.value).replace(level.value.capitalize(), line(error.level.capitalize()))}"
        f"<div><b>{line(error.type)}</b> {html_text.cut(message, LONGEST_MESSAGE)}"
        f'<div class="muted">{line(said)}</div>{folded}</div></li>'
    )


def processes(seen: Iterable[Process]) -> str:
    """List the processes that used most, as far as sampling saw them; a column nobody filled is left out."""
    listed = sorted(
        seen, key=lambda one: (-(one.cpu_seconds or 0.0), -(one.peak_rss_bytes or 0), one.instance)
    )
    shown = listed[:MOST_PROCESSES]
    columns = {title: made for title, write in _COLUMNS.items() if any(made := [write(one) for one in shown])}
    if not shown:
        return ""
    head = "".join(f'<th class="number">{title}</th>' for title in columns)
    rows = "".join(
        f"<tr>{_process(one)}{''.join(_cell(made[place]) for made in columns.values())}</tr>"
        for place, one in enumerate(shown)
    )
    more = len(listed) - len(shown)
    left = f'<p class="note">and {more:,} more</p>' if more > 0 else ""
    table = f'<div class="scroll"><table><tr><th>process</th>{head}</tr>{rows}</table></div>'
    return f"<section><h2>Processes</h2>{table}{left}</section>"


_COLUMNS: dict[str, Callable[[Process], str]] = {
    "CPU": lambda one: "" if one.cpu_seconds is None else units.format_seconds(one.cpu_seconds),
    "peak memory": lambda one: _size(one.peak_rss_bytes),
    "read": lambda one: _size(one.read_bytes),
    "written": lambda one: _size(one.write_bytes),
}


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else units.format_bytes(size_bytes)


def _cell(words: str) -> str:
    return f'<td class="number">{line(words)}</td>'


def _process(one: Process) -> str:
    rank = "" if one.rank is None else f"rank {one.rank}"
    who = " ".join(filter(None, (one.role, rank, f"pid {one.pid}")))
    command = line(text.cut(one.command or "?", LONGEST_COMMAND))
    return f'<td class="command"><code>{command}</code><div class="muted">{line(who)}</div></td>'


def config(run: Run) -> str:
    """Fold the settings of the job away."""
    found = run.context.get("config")
    if not found:
        return ""
    body = html_text.cut(json.dumps(found, indent=2, ensure_ascii=False, default=str), LONGEST_CONFIG)
    folded = f"<details><summary>Settings of the job</summary><pre>{body}</pre></details>"
    return f"<section><h2>Config</h2>{folded}</section>"


def provenance(run: Run) -> str:
    """Say where the numbers come from and what is not known."""
    git = run.context.get("git")
    commit = f"{git.get('commit', '')} {git.get('branch', '')}" if isinstance(git, dict) else ""
    facts = {
        "command": text.command_line(run.command),
        "directory": run.cwd,
        "host": run.host,
        "user": run.user,
        "git": commit.strip(),
        "tags": ", ".join(f"{name}={value}" for name, value in run.tags.items()),
        "notes": " · ".join(run.notes),
        "measured by": run.provenance.origin,
        "measured": ", ".join(run.provenance.selected),
        **{f"not measured: {source}": reason for source, reason in run.provenance.missing.items()},
        **{f"inexact: {key}": reason for key, reason in run.provenance.inexact.items()},
        **{f"dropped: {what}": f"{count:,}" for what, count in run.provenance.dropped.items() if count},
    }
    rows = "".join(
        f"<tr><th>{line(name)}</th><td>{line(value)}</td></tr>" for name, value in facts.items() if value
    )
    table = f'<div class="scroll"><table>{rows}</table></div>'
    folded = f"<details><summary>Where the numbers come from</summary>{table}</details>"
    return f"<section><h2>Provenance</h2>{folded}</section>"

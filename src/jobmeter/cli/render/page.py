"""One run on one screen: what it was, how it ended, what it used, who used it, what is not known."""

from collections.abc import Iterator

from jobmeter.cli.render import local_time, statuses
from jobmeter.cli.render.event_rows import event_rows
from jobmeter.cli.render.role_rows import role_rows
from jobmeter.cli.render.rows import Row, lay_out
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.step_rows import step_rows
from jobmeter.cli.render.usage_rows import usage_rows
from jobmeter.model import text, units
from jobmeter.model.report import Cause, Report
from jobmeter.model.run import LIVE, Run
from jobmeter.model.view import RunView


def render(view: RunView, screen: Screen, now: float, report: Report | None = None) -> list[str]:
    """Lay a run out for a person; its report, where there is one, says in a line why it ended."""
    return [*heading(view.run, screen), "", *lay_out(_rows(view, now, report), screen)]


def heading(run: Run, screen: Screen) -> list[str]:
    """Say which run it is."""
    lines = [screen.paint(line, Style.BOLD) for line in _title(run, screen.width)]
    return [*lines, *(screen.paint(line, Style.DIM) for line in _identity(run, screen.width))]


def _title(run: Run, width: int) -> list[str]:
    command = text.cut(text.command_line(run.command), 2000)
    named = ": ".join(part for part in (text.clean(run.name or ""), command) if part)
    lines = text.wrap(named or "(no command recorded)", width)
    return lines if len(lines) <= 3 else [*lines[:2], text.cut(f"{lines[2]}{text.ELLIPSIS}", width)]


def _identity(run: Run, width: int) -> list[str]:
    who = f"{run.user}@{run.host}" if run.user and run.host else run.user or run.host
    # a log that nobody recorded goes by its own name, which stands above
    known = (run.run_id if run.run_id != run.name else None, run.project, who, run.cwd)
    line = "  ".join(text.clean(part) for part in known if part)
    return text.wrap(line, width) if line else []


def _rows(view: RunView, now: float, report: Report | None) -> Iterator[Row]:
    run = view.run
    yield Row("status", statuses.sentence(run), style=statuses.STYLES[run.status])
    if report is not None and report.verdict.cause is not Cause.COMPLETED:
        yield Row("why", text.clean(report.verdict.sentence), source=f"jobmeter analyze {run.run_id}")
    yield from _times(run, now)
    yield from step_rows(run, view.siblings)
    yield from _job(view)
    yield from usage_rows(run)
    yield from role_rows(view.processes)
    yield from event_rows(view.events, run)
    yield from _people(run)
    yield from _unknown(run)


def _job(view: RunView) -> Iterator[Row]:
    """Point to the job that the run is a part of."""
    run = view.run
    if len(run.ranks) > 1 or view.siblings:
        others = f"{len(view.siblings) + 1} runs; " if view.siblings else ""
        yield Row("job", text.clean(f"{others}`jobmeter ranks {run.run_id}` compares its ranks"))


def _times(run: Run, now: float) -> Iterator[Row]:
    if run.started_at is None:
        if run.wall_seconds is not None:
            yield Row("time", units.format_seconds(run.wall_seconds))
        return
    started = local_time.whole(run.started_at)
    if run.wall_seconds is not None:
        ended = "" if run.ended_at is None else f" to {_later(started, local_time.whole(run.ended_at))}"
        yield Row("time", f"{units.format_seconds(run.wall_seconds)}, {started}{ended}")
    elif run.status in LIVE:
        yield Row("time", f"{units.format_seconds(max(0.0, now - run.started_at))} so far, since {started}")
    else:
        yield Row("time", f"since {started}")


def _later(first: str, second: str) -> str:
    """Leave out the date a second moment shares with the first."""
    date, _, clock = second.partition(" ")
    return clock if clock and first.startswith(date) else second


def _people(run: Run) -> Iterator[Row]:
    if run.tags:
        yield Row("tags", "  ".join(text.clean(f"{key}={value}") for key, value in run.tags.items()))
    if run.message:
        yield Row("message", text.clean(run.message))
    for index, note in enumerate(run.notes):
        yield Row("notes" if index == 0 else "", text.clean(note))
    commit, branch = _nested(run, "git", "commit"), _nested(run, "git", "branch")
    if commit is not None:
        yield Row("git", text.clean(f"{commit[:12]} {branch or ''}").rstrip())
    for output in run.outputs:
        if output.mode == "inherited":
            yield Row(text.clean(output.stream), text.clean(output.path))


def _nested(run: Run, part: str, key: str) -> str | None:
    found = run.context.get(part)
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else None


def _broken_sources(run: Run) -> Iterator[Row]:
    """Name the sources that failed for a time or for good."""
    sources = run.context.get("sources")
    for name, facts in sources.items() if isinstance(sources, dict) else ():
        if isinstance(facts, dict) and facts.get("error"):
            state = "works again" if facts.get("state") == "closed" else text.clean(str(facts.get("state")))
            yield Row(
                "failed", f"{text.clean(name)}: {text.clean(str(facts['error']))} ({state})", style=Style.WARN
            )


def _unknown(run: Run) -> Iterator[Row]:
    """Say what was not measured and why, what is inexact, what was lost and who was left behind."""
    found = run.provenance
    if found.origin != "jobmeter":
        yield Row("origin", f"measured by {text.clean(found.origin)}, imported")
    for index, (source, reason) in enumerate(found.missing.items()):
        yield Row("missing" if index == 0 else "", f"{text.clean(source)}: {text.clean(reason)}")
    yield from _broken_sources(run)
    for index, (key, reason) in enumerate(found.inexact.items()):
        yield Row(
            "inexact" if index == 0 else "", f"{text.clean(key)}: {text.clean(reason)}", style=Style.WARN
        )
    dropped = [f"{count} of {text.clean(what)}" for what, count in found.dropped.items() if count]
    if dropped:
        yield Row("dropped", ", ".join(dropped), style=Style.WARN)
    left = run.context.get("processes_left")
    if isinstance(left, list) and left:
        names = [
            text.clean(f"{item.get('command', '?')} ({item.get('pid', '?')})")
            for item in left
            if isinstance(item, dict)
        ]
        yield Row("left", f"still running when the command ended: {', '.join(names)}", style=Style.WARN)

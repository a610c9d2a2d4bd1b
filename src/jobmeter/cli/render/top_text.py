"""What `jobmeter top` says, as rows of a table and lines of a page: for a terminal that moves, and for one snapshot."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from jobmeter.cli.render import sparks
from jobmeter.cli.render.screen import Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import text, units
from jobmeter.model.board import Alert, Board, Close, Line, LiveJob, LiveRun, Progress

_BAR, _WIDE_BAR, _SPARK, _WIDE_SPARK = 6, 12, 8, 16
_WIDE = 120
_WORTH_SAYING, _WARNING, _CRITICAL = 0.5, 0.85, 0.95
"""Shares of the memory limit."""
_CHART_ROWS, _LOW_CHART_ROWS = 4, 2
_TALL = 36
_STATUS = {"running": Style.LIVE, "queued": Style.DIM, "paused": Style.WARN, "completed": Style.GOOD}
_SEVERITY = {"critical": Style.BAD, "warning": Style.WARN}
COLUMNS = (
    Column(title="RUN", flexible=10),
    Column(title="STATUS", optional=5),
    Column(title="HOST", flexible=6, optional=6),
    Column(title="TIME", right=True),
    Column(title="PROGRESS", optional=1),
    Column(title="LEFT", right=True),
    Column(title="MEMORY", right=True),
    Column(title="", optional=3),
    Column(title="CORES", right=True),
    Column(title="", optional=4),
    Column(title="LOSS", right=True),
    Column(title="", optional=2),
)
EMPTY = "nothing runs now: jobmeter run -- make -j4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """For whom it is drawn, and when."""

    width: int
    """Cells of a line; 0 is no limit."""
    now: float
    ramp: str = sparks.BLOCKS

    @property
    def is_wide(self) -> bool:
        """Say whether there is room."""
        return not self.width or self.width >= _WIDE


def summary(board: Board, place: str) -> str:
    """Say how much runs where."""
    hosts = board.living.hosts
    where = f" on {len(hosts)} hosts" if len(hosts) > 1 else ""
    counts = Counter(run.status for job in board.living.jobs for run in job.runs)
    told = [f"{counts.pop('running', 0)} running"] + [
        f"{count} {status}" for status, count in sorted(counts.items())
    ]
    more = board.living.runs - sum(len(job.runs) for job in board.living.jobs)
    told += [f"{more} more"] if more > 0 else []
    return text.clean(f"{', '.join(told)}{where} · {place}")


def rows(board: Board, look: Look) -> list[tuple[str, list[Cell]]]:
    """Lay out every run that goes on: its id, and its cells."""
    return [
        (run.run_id, _row(job, run, board.lines.get(run.run_id, {}), look))
        for job in board.living.jobs
        for run in job.runs
    ]


def _row(job: LiveJob, run: LiveRun, lines: Mapping[str, Line], look: Look) -> list[Cell]:
    return [
        Cell(name(run), Style.BOLD),
        Cell(text.clean(run.status), _STATUS.get(run.status, Style.PLAIN)),
        Cell(text.clean(run.host or "")),
        Cell(span(_passed(run, look.now))),
        _progress(job.progress, look),
        Cell("" if job.progress is None else span(job.progress.seconds_left)),
        *_measured(lines.get("memory"), look, lambda value: _memory(value, run.limits.memory_bytes)),
        *_measured(lines.get("cpu"), look, lambda value: Cell(_cores(value))),
        *_measured(lines.get("loss"), look, lambda value: Cell(units.format_metric(value)), floor=None),
    ]


def name(run: LiveRun) -> str:
    """Say what a run is called."""
    return text.clean(run.name or text.command_line(run.command) or run.run_id)


def span(seconds: float | None) -> str:
    """Write a span in few letters: `4:07`, `1:02:33`, `3 d 04 h`."""
    if seconds is None:
        return ""
    whole = int(seconds)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole // 3600 % 24:02} h"
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def _passed(run: LiveRun, now: float) -> float | None:
    if run.wall_seconds is not None:
        return run.wall_seconds
    return None if run.started_at is None else max(0.0, now - run.started_at.timestamp())


def _progress(progress: Progress | None, look: Look) -> Cell:
    if progress is None or progress.percent is None:
        return Cell("")
    drawn = sparks.bar(progress.percent, _WIDE_BAR if look.is_wide else _BAR, ramp=look.ramp)
    late = progress.seconds_left is None and progress.usual_seconds is not None
    return Cell(f"{drawn} {progress.percent:3.0f} %", Style.WARN if late else Style.PLAIN)


def _measured(
    line: Line | None, look: Look, write: Callable[[float], Cell], *, floor: float | None = 0.0
) -> tuple[Cell, Cell]:
    """Write the newest value, and draw how it came there."""
    now = None if line is None else line.now
    if line is None or now is None:
        return Cell(""), Cell("")
    drawn = sparks.spark(line.values, _WIDE_SPARK if look.is_wide else _SPARK, floor=floor, ramp=look.ramp)
    return write(now), Cell(drawn, Style.DIM)


def _memory(held_bytes: float, limit_bytes: float | None) -> Cell:
    words = units.format_bytes(held_bytes)
    share = held_bytes / limit_bytes if limit_bytes else 0.0
    if share < _WORTH_SAYING:
        return Cell(words)
    style = Style.BAD if share >= _CRITICAL else Style.WARN if share >= _WARNING else Style.PLAIN
    return Cell(f"{words} {100 * share:.0f} %", style)


def alerts(board: Board) -> list[Cell]:
    """Say what fires, and which ranks are behind."""
    names = {run.run_id: name(run) for job in board.living.jobs for run in job.runs}
    found = [Cell(_alert(one, names), _SEVERITY.get(one.severity, Style.PLAIN)) for one in board.alerts]
    for job in board.living.jobs:
        if job.stragglers:
            ranks = ", ".join(map(str, job.stragglers))
            found.append(Cell(f"{names[job.runs[0].run_id]}: behind the others: rank {ranks}", Style.WARN))
    return found


def _alert(one: Alert, names: Mapping[str, str]) -> str:
    whose = names.get(one.run_id, "" if one.run_id.startswith("@") else one.run_id)
    return text.clean(": ".join(part for part in (whose, one.rule, one.sentence) if part))


def close_up(close: Close, progress: Progress | None, look: Look, height: int) -> list[Cell]:
    """Lay one run out on a page: what it is, its lines, and the end of its output."""
    lines = [Cell(name(close.run), Style.BOLD), Cell(_facts(close.run, progress, look.now), Style.DIM)]
    if close.run.verdict is not None:
        lines.append(Cell(text.clean(close.run.verdict.sentence), Style.WARN))
    tall = _CHART_ROWS if height >= _TALL else _LOW_CHART_ROWS
    for title, line in close.lines.items():
        lines += [Cell(""), *_chart(title, line, close.run, look, tall)]
    lines.append(Cell(""))
    room = max(3, height - len(lines) - 1)
    lines.append(Cell(text.clean(close.silence or "output"), Style.DIM))
    lines += [Cell(text.clean(one)) for one in close.output[-room:]]
    return [Cell(text.cut(line.text, look.width), line.style) for line in lines]


def _facts(run: LiveRun, progress: Progress | None, now: float) -> str:
    steps = None if run.steps is None else run.steps.last_step
    parts = [
        run.status,
        span(_passed(run, now)),
        run.host or "",
        run.project or "",
        "" if steps is None else f"step {steps:,}" + _of(progress),
        "" if progress is None or progress.seconds_left is None else f"{span(progress.seconds_left)} left",
        run.run_id,
    ]
    return text.clean(" · ".join(part for part in parts if part))


def _of(progress: Progress | None) -> str:
    return "" if progress is None or progress.of is None else f" of {progress.of:,}"


def _chart(title: str, line: Line, run: LiveRun, look: Look, height: int) -> Iterator[Cell]:
    now = line.now
    if now is None:
        return
    write = _WRITERS.get(line.unit, units.format_metric)
    # what is drawn are means or peaks of stretches: the newest value may lie beside them
    known = [value for value in (*line.values, now) if value is not None and isfinite(value)]
    limit = run.limits.memory_bytes if title == "memory" else None
    told = f"{write(now)} now" + (f", {write(min(known))} to {write(max(known))}" if known else "")
    told += f", of {write(limit)}" if limit else ""
    called = "cores" if line.unit == "cores" else title
    yield Cell(text.clean(f"{called:<6}  {told}  {line.key}"))
    floor = None if title == "loss" else 0.0
    for row in sparks.rows(line.values, look.width, height, floor=floor, ramp=look.ramp):
        yield Cell(row, Style.LIVE)


def _cores(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


_WRITERS: dict[str, Callable[[float], str]] = {
    "": units.format_metric,
    "bytes": units.format_bytes,
    "cores": _cores,
}

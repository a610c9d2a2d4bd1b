"""A job on one screen: how many ranks there are, what they make together, and one line for each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jobmeter.cli.render import spans, step_rows, table
from jobmeter.cli.render.rows import Row, lay_out
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import metrics, text, units
from jobmeter.model.job import JobView, RankView
from jobmeter.model.run import LIVE, Status

LITTLE = 0.02
"""What is less uneven than this is even."""
MUCH = 0.1
"""From here on an imbalance is worth a colour."""
FAR_BEHIND = 2
"""Ranks are a step apart all the time."""
_UNITS = {metrics.SAMPLES_PER_SECOND: "samples/s", metrics.TOKENS_PER_SECOND: "tokens/s"}


def render(view: JobView, screen: Screen) -> list[str]:
    """Lay a job out for a person."""
    title = screen.paint(f"job {text.clean(view.job_id)}", Style.BOLD)
    return [title, "", *lay_out(_rows(view), screen), "", *_table(view, screen)]


def _rows(view: JobView) -> Iterator[Row]:
    yield _seen(view)
    yield from _runs(view)
    if view.step_imbalance is not None:
        slowest = max(view.ranks, key=lambda one: one.step_seconds or 0.0)
        yield _uneven("pace", f"rank {slowest.rank} is the slowest", view.step_imbalance)
    if view.memory_imbalance is not None:
        largest = max(view.ranks, key=lambda one: one.memory_peak_bytes or 0)
        yield _uneven("memory", f"rank {largest.rank} is the largest", view.memory_imbalance)
    if view.loss is not None:
        yield Row("loss", f"{step_rows.course(metrics.LOSS, view.loss)}, rank {view.ranks[0].rank}")
    for quantity, added in view.throughput.items():
        told = "" if added.ranks == len(view.ranks) else f", told by {added.ranks} ranks"
        yield Row("together", f"{units.format_metric(float(f'{added.value:.4g}'))} {_UNITS[quantity]}{told}")


def _seen(view: JobView) -> Row:
    seen = tuple(one.rank for one in view.ranks)
    if view.missing:
        body = f"{spans.written(seen)} of {view.world_size}; never seen: {spans.written(view.missing)}"
        return Row("ranks", body, style=Style.WARN)
    whole = view.world_size == len(seen) and len(seen) > 1
    return Row("ranks", f"all {view.world_size}" if whole else spans.written(seen))


def _runs(view: JobView) -> Iterator[Row]:
    hosts = sorted({run.host for run in view.runs if run.host})
    if len(view.runs) > 1:
        where = f"on {len(hosts)} hosts" if len(hosts) > 1 else f"on {', '.join(hosts)}" if hosts else ""
        yield Row("runs", text.clean(f"{len(view.runs)} {where}".rstrip()))
    for later, earlier in view.resumed.items():
        yield Row("resumed", text.clean(f"{later} goes on from {earlier}"))


def _uneven(label: str, which: str, share: float) -> Row:
    if share < LITTLE:
        return Row(label, "even")
    body = f"{which}: {units.format_percent(100 * share)} over the mean"
    return Row(label, body, style=Style.WARN if share >= MUCH else Style.PLAIN)


@dataclass(frozen=True, slots=True)
class _Field:
    """A column and how a rank fills it; one that no rank fills is left out."""

    column: Column
    write: Callable[[RankView], str]


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _fields(view: JobView) -> list[_Field]:
    several_hosts = len({one.host for one in view.ranks}) > 1
    several_runs = len({one.run_id for one in view.ranks}) > 1
    found = [
        _field("STEP", lambda one: _optional(one.last_step, units.format_count)),
        _field("BEHIND", lambda one: _optional(one.behind or None, units.format_count)),
        _field("TIME/STEP", lambda one: _optional(one.step_seconds, units.format_seconds), optional=1),
        _field("RELATIVE", lambda one: _optional(one.relative, lambda value: f"{value:.2f}x")),
        _field("MEMORY", lambda one: _optional(one.memory_peak_bytes, units.format_bytes)),
        _field("GPU", lambda one: _optional(one.gpu_util_percent, units.format_percent)),
        _field("GPU MEM", lambda one: _optional(one.gpu_memory_peak_bytes, units.format_bytes), optional=3),
        _field("CPU", lambda one: _optional(one.cpu_seconds, units.format_seconds), optional=4),
        _field("PID", lambda one: _optional(one.pid, lambda pid: f"{pid:.0f}"), optional=5),
        _field("NOTE", lambda one: ", ".join(notes(one)), right=False),
    ]
    if several_hosts:
        found.append(_field("HOST", lambda one: text.clean(one.host or ""), right=False, optional=2))
    if several_runs:
        found.append(_field("RUN", lambda one: text.clean(one.run_id), right=False, optional=6))
    return [one for one in found if any(one.write(rank) for rank in view.ranks)]


def _field(title: str, write: Callable[[RankView], str], *, right: bool = True, optional: int = 0) -> _Field:
    return _Field(Column(title=title, right=right, optional=optional), write)


def notes(one: RankView) -> list[str]:
    """Say in words what is wrong with a rank; nothing where all is well."""
    found = ["straggler"] if one.is_straggler else []
    if one.behind is not None and one.behind >= FAR_BEHIND:
        found.append("behind")
    if one.status not in LIVE and one.status is not Status.COMPLETED:
        found.append(one.status.value)
    return found


def _table(view: JobView, screen: Screen) -> list[str]:
    found = _fields(view)
    head = [Column(title="RANK", right=True), *(one.column for one in found)]
    ordered = sorted(view.ranks, key=lambda one: (not notes(one), one.rank))
    return table.render(head, [_cells(one, found) for one in ordered], screen)


def _cells(one: RankView, found: Sequence[_Field]) -> list[Cell]:
    style = Style.WARN if notes(one) else Style.PLAIN
    return [Cell(str(one.rank), style), *(Cell(field.write(one), style) for field in found)]

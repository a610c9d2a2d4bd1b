"""A campaign on one screen: a line for each region, and below it what failed last."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jobmeter.cli.render import table
from jobmeter.cli.render.rows import Row, lay_out
from jobmeter.cli.render.screen import Screen, Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import text, units
from jobmeter.service.campaign_show import Region

_LITTLE_PERCENT = 5
_SHORT_SECONDS, _LONG_SECONDS = 119.5, 5970
_MUCH_USD = 9.995
_POOR_PERCENT = 80


def render(regions: Sequence[Region], screen: Screen, title: str) -> list[str]:
    """Lay a campaign out for a person."""
    found = [one for one in _fields() if any(one.write(region) for region in regions)]
    head = [Column(title="REGION", flexible=10), *(one.column for one in found)]
    rows = [_cells(region, found) for region in regions]
    notes = lay_out(_notes(regions), screen)
    return [
        screen.paint(title, Style.BOLD),
        "",
        *table.render(head, rows, screen),
        *(["", *notes] if notes else []),
    ]


@dataclass(frozen=True, slots=True)
class _Field:
    """A column and how a region fills it; one that no region fills is left out."""

    column: Column
    write: Callable[[Region], str]


def _fields() -> list[_Field]:
    return [
        _field("BUILDS", lambda one: units.format_count(one.builds)),
        _field("OK", lambda one: _optional(one.success_rate, units.format_percent)),
        _field("STREAK", _streak),
        _field("QUEUE", lambda one: _optional(one.queue_seconds, _span), optional=2),
        _field("WORK", lambda one: _optional(one.working_seconds, _span)),
        _field("SPIKES", lambda one: _optional(one.spikes, units.format_count), optional=3),
        _field("SCORE", lambda one: _optional(one.consistency, lambda score: f"{score:.2f}"), optional=4),
        _field("COST", lambda one: _optional(one.cost_usd, _cost), optional=1),
        _field("TREND", lambda one: _optional(one.trend_percent, trend), optional=5),
    ]


def _field(title: str, write: Callable[[Region], str], *, optional: int = 0) -> _Field:
    return _Field(Column(title=title, right=True, optional=optional), write)


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _span(seconds: float) -> str:
    """Write a span in six letters: `45 s`, `10 min`, `1.5 h`."""
    if seconds < _SHORT_SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < _LONG_SECONDS else f"{seconds / 3600:.1f} h"


def _cost(usd: float) -> str:
    return f"${usd:,.2f}" if usd < _MUCH_USD else f"${usd:,.0f}"


def _streak(region: Region) -> str:
    if region.streak == 0:
        return ""
    return f"{abs(region.streak)} {'won' if region.streak > 0 else 'lost'}"


def trend(percent: float) -> str:
    """Say by how much longer the latest builds work than those before."""
    return "even" if abs(percent) < _LITTLE_PERCENT else f"{percent:+.0f} %"


def _cells(region: Region, found: Sequence[_Field]) -> list[Cell]:
    poor = region.success_rate is not None and region.success_rate < _POOR_PERCENT
    style = Style.WARN if poor or region.streak < 0 else Style.PLAIN
    return [Cell(text.clean(region.name), style), *(Cell(field.write(region), style) for field in found)]


def _notes(regions: Sequence[Region]) -> Iterator[Row]:
    waiting = [f"{one.pending} in {text.clean(one.name)}" for one in regions if one.pending]
    if waiting:
        yield Row("open", ", ".join(waiting))
    for one in regions:
        if one.last_error is not None:
            yield Row(text.clean(one.name), text.clean(one.last_error), style=Style.DIM)

"""The panels of a training: its loss, its learning rate, its throughput, over the same time as all else.

One rank is drawn strong, the others pale behind it. A source whose steps have no times can be drawn over steps
only. What is not finite is a gap, and the moment it began is marked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite

from jobmeter.model import metrics, units
from jobmeter.model.panel import Line, Mark, Panel, Peak, Quantity, Role
from jobmeter.model.steps import StepSeries
from jobmeter.service import plot_peaks, plot_series
from jobmeter.service.plot_source import Metric, Source, Told

AIMS = (metrics.LOSS, metrics.EVAL_LOSS, metrics.ACCURACY, metrics.REWARD)
"""What a training is about, the first of these that was logged."""
PACES = (
    metrics.TOKENS_PER_SECOND,
    metrics.SAMPLES_PER_SECOND,
    metrics.STEPS_PER_SECOND,
    metrics.STEP_SECONDS,
)
ORDER = (*AIMS, *PACES, metrics.LR)
RISING = frozenset((metrics.ACCURACY, metrics.REWARD, "eval_accuracy", "eval_reward"))
WITHOUT_TIMES = "the steps have no times, so they cannot be drawn beside what was measured"
RATE = "learning_rate"
"""The name of the panel of the rate of learning."""
FAR_FROM_ZERO = 0.4
"""Values that stay above this share of the largest are drawn on an axis that does not begin at 0."""
MARGIN = 0.08
PEER_BUCKETS = 250
"""Stretches into which the steps of other ranks are folded, each to its mean: their noise must not hide the first."""
DERIVED_FROM = "sdk"
"""Whose times are those of the steps themselves: lines of a log arrive when a buffer is full."""


def all_panels(source: Source) -> list[Panel]:
    """Draw what the training was about, how fast it went and by which rate it learnt."""
    by_quantity: dict[str, list[Metric]] = {}
    for metric in source.told.metrics:
        by_quantity.setdefault(metric.quantity, []).append(metric)
    found = [_aim(source, by_quantity), _pace(source, by_quantity), _rate(source, by_quantity)]
    return [made for made in found if made is not None]


def wanted(names: set[str]) -> dict[str, str]:
    """Choose which metrics of a source are drawn without being asked for: quantity to name."""
    found = {quantity: metrics.pick(sorted(names), quantity) for quantity in ORDER}
    chosen = {quantity: name for quantity, name in found.items() if name is not None}
    if not chosen and names:
        # nothing is known by its name: the first is better than none
        chosen[metrics.LOSS] = min(names)
    return chosen


def own_panel(source: Source, key: str) -> Panel | None:
    """Draw one metric by the name it was asked for."""
    found = [metric for metric in source.told.metrics if metric.quantity == key]
    lines = _lines(source, found)
    if not lines:
        return None
    made = Panel(name=f"metric-{key}", title=key, quantity=_unit(metrics.canonical(key)), lines=lines, top=0)
    return _fitted(source, replace(made, peers=_peers(lines)))


def moments(told: Told) -> list[float]:
    """List when steps were logged: the first and the last of each rank."""
    stamps = [metric.series.timestamps or () for metric in told.metrics]
    known = [[moment for moment in one if moment is not None] for one in stamps]
    return [moment for one in known if one for moment in (min(one), max(one))]


def reach(told: Told) -> tuple[int, int]:
    """Find the first and the last step."""
    ends = [
        (metric.series.steps[0], metric.series.steps[-1]) for metric in told.metrics if metric.series.steps
    ]
    return min(first for first, _ in ends), max(last for _, last in ends)


def broken(source: Source) -> Iterator[Mark]:
    """Mark where the loss of the first rank stopped being a number."""
    for metric in source.told.metrics[:1]:
        for place, value in enumerate(metric.series.values):
            seconds = None if isfinite(value) else _place(metric.series, place, source.axis)
            if seconds is not None:
                label = f"{metric.series.metric} {value}"
                yield Mark(seconds=seconds, label=label, type="not_finite", severe=True)
                return


def _aim(source: Source, known: dict[str, list[Metric]]) -> Panel | None:
    name = next((quantity for quantity in AIMS if quantity in known), None)
    if name is None:
        return None
    beside = known.get(metrics.EVAL_LOSS, [])[:1] if name == metrics.LOSS else []
    lines = tuple(_with_best(line) for line in _lines(source, known[name], beside))
    if not lines:
        return None
    logged = lines[0].key
    title = name if metrics.canonical(logged) == name or metrics.is_loss(logged) else logged
    made = Panel(name="loss", title=title, quantity=Quantity.METRIC, lines=lines, top=0, peers=_peers(lines))
    return _fitted(source, replace(made, peaks=_best(lines[0], rising=name in RISING)))


def _pace(source: Source, known: dict[str, list[Metric]]) -> Panel | None:
    name = next((quantity for quantity in PACES if quantity in known), None)
    lines = _derived(source) if name is None else _lines(source, known[name])
    if not lines:
        return None
    unit = _unit(name or metrics.STEPS_PER_SECOND)
    title = "time per step" if unit is Quantity.SECONDS else "throughput"
    made = Panel(name="throughput", title=title, quantity=unit, lines=lines, top=0, peers=_peers(lines))
    return plot_peaks.topped(made)


def _rate(source: Source, known: dict[str, list[Metric]]) -> Panel | None:
    lines = _lines(source, known.get(metrics.LR, [])[:1])
    if not lines:
        return None
    made = Panel(name=RATE, title="learning rate", quantity=Quantity.METRIC, lines=lines, top=0)
    return plot_peaks.topped(made)


def _unit(quantity: str) -> Quantity:
    if quantity in (metrics.STEP_SECONDS, metrics.DATA_SECONDS):
        return Quantity.SECONDS
    if quantity == metrics.MEMORY:
        return Quantity.BYTES
    return Quantity.PLAIN_PER_SECOND if quantity in PACES else Quantity.METRIC


def _lines(source: Source, ranks: Sequence[Metric], beside: Sequence[Metric] = ()) -> tuple[Line, ...]:
    """Draw the first rank strong, what stands beside it, and the other ranks pale."""
    if not ranks:
        return ()
    roles = [Role.MAIN, *[Role.OTHER] * len(beside), *[Role.PEER] * (len(ranks) - 1)]
    found = zip([*ranks[:1], *beside, *ranks[1:]], roles, strict=True)
    drawn = [_line(source, metric, role, several=len(ranks) > 1) for metric, role in found]
    return tuple(line for line in drawn if line.times) if drawn[0].times else ()


def _line(source: Source, metric: Metric, role: Role, *, several: bool) -> Line:
    series, axis = metric.series, source.axis
    if role is Role.PEER:
        axis = replace(axis, buckets=min(axis.buckets, PEER_BUCKETS))
    line = plot_series.make_line(
        _points(source, metric),
        axis,
        step=False,
        label=f"rank {series.rank}" if several or series.rank else "",
        key=series.metric,
        role=role,
    )
    if role is Role.PEER:
        line = replace(line, low=None, high=None)
    about = f"what the training logged, told by {series.source}"
    return replace(line, instance=str(series.rank), source=series.source, about=about)


def _points(source: Source, metric: Metric) -> plot_series.Points:
    """Place a metric on the axis, in base units; on a logarithmic one there is nothing at or below 0."""
    series, axis = metric.series, source.axis
    least = (
        0.0 if source.logarithmic and _unit(metrics.canonical(metric.quantity)) is Quantity.METRIC else None
    )
    placed: list[tuple[float, float | None]] = []
    for place, raw in enumerate(series.values):
        seconds = _place(series, place, axis)
        if seconds is None:
            continue
        value = metrics.in_base_units(series.metric, raw)
        drawn = isfinite(value) and abs(value) < plot_series.LARGEST and (least is None or value > least)
        placed.append((seconds, float(value) if drawn else None))
    placed.sort(key=lambda point: point[0])
    return [seconds for seconds, _ in placed], [value for _, value in placed]


def _place(series: StepSeries, place: int, axis: plot_series.Axis) -> float | None:
    if axis.counts_steps:
        return series.steps[place] - axis.start
    moment = series.timestamps[place] if series.timestamps else None
    return None if moment is None else moment - axis.start


def _peers(lines: Sequence[Line]) -> str:
    ranks = [int(line.instance) for line in lines if line.role is Role.PEER]
    if not ranks:
        return ""
    together = ranks == list(range(ranks[0], ranks[-1] + 1))
    return f"ranks {ranks[0]}-{ranks[-1]}" if together and len(ranks) > 1 else f"{len(ranks)} other ranks"


def _derived(source: Source) -> tuple[Line, ...]:
    """Tell the pace from the times of the steps, where nothing that was logged tells it."""
    for metric in source.told.metrics[:1]:
        series = metric.series
        if series.source != DERIVED_FROM or source.axis.counts_steps or len(series.steps) < 3:
            return ()
        marks = [(_place(series, place, source.axis), step) for place, step in enumerate(series.steps)]
        times: list[float] = []
        values: list[float | None] = []
        for (before, first), (after, last) in pairwise(marks):
            if before is None or after is None or after <= before:
                continue
            times += [before, after] if not times else [after]
            values += [None] if not values else []
            values.append((last - first) / (after - before))
        line = plot_series.make_line(
            (times, values), source.axis, step=True, label="", key="steps", role=Role.MAIN
        )
        return (replace(line, source=f"by the times of {series.source}"),) if values else ()
    return ()


def _best(line: Line, *, rising: bool) -> tuple[Peak, ...]:
    """Mark the best value; that is what a training is judged by."""
    values = (line.high if rising else line.low) or line.values
    known = [(value, seconds) for value, seconds in zip(values, line.times, strict=True) if value is not None]
    if not known:
        return ()
    value, seconds = max(known) if rising else min(known)
    return (Peak(value=value, seconds=seconds, label="best", key=line.key),)


def _with_best(line: Line) -> Line:
    """Say the best loss of an evaluation beside its name; that of the training has a mark."""
    values = [value for value in line.low or line.values if value is not None]
    if line.role is not Role.OTHER or not values:
        return line
    return replace(line, figure=f"best {units.format_metric(min(values))}")


def _fitted(source: Source, made: Panel) -> Panel:
    """Choose both ends of the axis of a metric."""
    high = max(plot_peaks.heights(made), default=1.0)
    low = min(plot_peaks.depths(made), default=0.0)
    if source.logarithmic and made.quantity is Quantity.METRIC and low > 0:
        return replace(made, logarithmic=True, bottom=low, top=high if high > low else 2 * low)
    room = MARGIN * (high - low)
    if low < 0:
        return replace(made, bottom=low - room, top=max(high, 0.0) or -0.1 * low)
    if low > FAR_FROM_ZERO * high and high > low:
        return replace(made, bottom=low - room, top=high)
    return replace(made, top=high or 1.0)

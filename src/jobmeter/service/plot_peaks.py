"""What stands out in a panel: its peaks, also those no sample saw, its limits, and where its axis ends."""

from collections.abc import Iterable
from dataclasses import replace

from jobmeter.model import panel
from jobmeter.model.panel import Line, Panel, Peak, Role
from jobmeter.service import plot_series
from jobmeter.service.plot_source import Source

LIMIT_IN_SIGHT = 2.5
"""A limit up to this many times the largest value is drawn; one further up would flatten the lines."""
BETWEEN_SAMPLES = 1.005


def finish(made: Panel) -> Panel:
    """Mark the peak of the main line and choose where the axis ends."""
    peaks = (*_sampled_peaks(made), *made.peaks)
    largest = max([*heights(made), *(peak.value for peak in peaks)], default=0.0)
    in_sight = [limit.value for limit in made.limits if limit.value <= LIMIT_IN_SIGHT * largest]
    return replace(made, peaks=peaks, top=max([largest, *in_sight]) or 1.0)


def topped(made: Panel) -> Panel:
    """Choose where the axis ends without marking a peak: the largest of what always varies says little."""
    return replace(made, top=max(heights(made), default=0.0) or 1.0)


def led_by_largest(lines: list[Line]) -> tuple[Line, ...]:
    """Make the line that rises highest the main one where none is of record; their order stays."""
    peaks = [plot_series.peak_of(line.times, line.high or line.values) for line in lines]
    heights = [peak[0] if peak else 0.0 for peak in peaks]
    largest = heights.index(max(heights))
    return tuple(replace(line, role=Role.MAIN) if n == largest else line for n, line in enumerate(lines))


def limit(source: Source, name: str) -> tuple[panel.Limit, ...]:
    """Draw what the job was allowed, with who said so."""
    value = source.view.run.limits.memory_bytes if name == "memory_bytes" else source.view.run.limits.cpus
    if value is None:
        return ()
    known = source.view.run.context.get("limits")
    origin = known.get(name.replace("_bytes", "") + "_source") if isinstance(known, dict) else None
    return (panel.Limit(label="limit", value=float(value), source=origin if isinstance(origin, str) else ""),)


def peak_between_samples(source: Source, made: Panel) -> tuple[Peak, ...]:
    """Mark a peak the kernel kept although no sample saw it."""
    headline = source.view.run.headline.get("memory_peak_bytes")
    sampled = max((peak.value for peak in _sampled_peaks(made)), default=0.0)
    if headline is None or headline.value <= BETWEEN_SAMPLES * sampled:
        return ()
    key = headline.keys[0] if headline.keys else ""
    return (
        Peak(
            value=headline.value,
            seconds=_unseen_rise(source),
            label="between samples",
            key=key,
            sampled=False,
        ),
    )


def heights(made: Panel) -> Iterable[float]:
    """Yield how high the lines of a panel reach; layers of a stack reach as high as their sum."""
    layers = [line for line in made.lines if line.role is Role.STACKED]
    for line in made.lines:
        if line.role is not Role.STACKED:
            yield from (value for value in line.high or line.values if value is not None)
    for values in zip(*(line.values for line in layers), strict=True):
        yield sum(value for value in values if value is not None)


def depths(made: Panel) -> Iterable[float]:
    """Yield how low the lines of a panel reach."""
    for line in made.lines:
        yield from (value for value in line.low or line.values if value is not None)


def _sampled_peaks(made: Panel) -> Iterable[Peak]:
    """Mark the largest value of the main line; a stack's total is the sum of its layers, not a peak."""
    if any(line.role is Role.STACKED for line in made.lines):
        return
    for line in made.lines:
        found = plot_series.peak_of(line.times, line.high or line.values)
        if line.role is Role.MAIN and found is not None and found[0] > 0:
            label = "peak" if line is made.lines[0] else f"{line.label} peak"
            yield Peak(value=found[0], seconds=found[1], label=label, key=line.key)


def _unseen_rise(source: Source) -> float | None:
    """Find when the kernel's high-water mark rose furthest above what samples saw around that moment."""
    mark, current = source.total("cgroup_mem_peak"), source.total("cgroup_mem_current")
    if mark is None or current is None:
        return None
    sampled = dict(zip(current.times, current.values, strict=True))
    before, height = 0.0, 0.0
    best: tuple[float, float] | None = None
    for moment, value in zip(mark.times, mark.values, strict=True):
        now = sampled.get(moment)
        if now is None:
            continue
        excess = value - max(before, now)
        if value > height and excess > 0 and (best is None or excess > best[0]):
            best = excess, moment
        before, height = now, max(height, value)
    return best[1] - source.axis.start if best else None

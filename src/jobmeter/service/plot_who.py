"""Who used it: the processes of a run folded by command into stacked layers.

Sampling sees only processes that live long enough to be sampled, and shared pages count in each of
them: a stack explains a total, it does not measure one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from jobmeter.model import panel
from jobmeter.model.run import Run
from jobmeter.model.view import Process, RunView, Series
from jobmeter.service import plot_series

LAYERS = 6
OTHER = "other"
REST = "rest"
"""The instance under which the recorder sums the processes it did not list one by one."""

INTERPRETERS = frozenset(
    ("bash", "dash", "java", "julia", "node", "perl", "python", "Rscript", "ruby", "sh", "zsh")
)


def command_name(command: str) -> str:
    """Shorten a command line to what people call it: `python train.py`, `cc1plus`."""
    words = command.split()
    if not words:
        return "?"
    name = _basename(words[0])
    if name.rstrip("0123456789.") not in INTERPRETERS:
        return name
    for index, word in enumerate(words[1:], 1):
        if word == "-c":
            return name
        if word == "-m":
            return " ".join((name, *words[index : index + 2]))
        if not word.startswith("-"):
            return f"{name} {_basename(word)}"
    return name


def cpu_layers(view: RunView, key: str, axis: plot_series.Axis) -> tuple[panel.Line, ...]:
    """Stack the cores each command used, from the CPU time of its processes."""
    owned = _of_key(view, key)
    edges = _edges([*owned.values()], axis)
    layers: dict[str, list[float]] = {}
    names = _names(view)
    for instance, series in owned.items():
        layer = layers.setdefault(names.get(instance, OTHER), [0.0] * len(edges))
        for begin, end, rate in plot_series.spans(series, axis):
            # half a span of slack: clocks of one report differ by microseconds
            first = bisect_right(edges, begin + 0.5 * min(end - begin, 0.01))
            for index in range(first, bisect_right(edges, end)):
                layer[index] += rate
    return _lines(layers, edges, key, axis, step=True)


def memory_layers(view: RunView, key: str, axis: plot_series.Axis) -> tuple[panel.Line, ...]:
    """Stack the resident memory of each command; a value holds until it moves or the process ends."""
    owned = _of_key(view, key)
    edges = sorted({moment - axis.start for series in owned.values() for moment in series.times})
    last_seen = {p.instance: p.last_seen - axis.start for p in view.processes if p.last_seen is not None}
    names = _names(view)
    layers: dict[str, list[float]] = {}
    for instance, series in owned.items():
        layer = layers.setdefault(names.get(instance, OTHER), [0.0] * len(edges))
        ends = edges[-1] if instance == REST else last_seen.get(instance, series.times[-1] - axis.start)
        _hold(series, layer, edges, max(ends, series.times[-1] - axis.start), axis)
    return _lines(layers, edges, key, axis, step=False)


def shares(run: Run, total_cpu_seconds: float | None) -> str:
    """Say in one line who used the CPU, and what sampling did not see of it."""
    known: dict[str, float] = {}
    for share in run.by_command:
        name = command_name(share.command)
        known[name] = known.get(name, 0.0) + (share.cpu_seconds or 0.0)
    seen = sum(known.values())
    total = max(total_cpu_seconds or 0.0, seen)
    if seen <= 0:
        return ""
    largest = sorted(known.items(), key=lambda pair: -pair[1])[:LAYERS]
    words = [f"{name} {_percent(seconds / total)}" for name, seconds in largest if seconds > 0]
    unlisted = seen - sum(seconds for _, seconds in largest)
    if unlisted > 0:
        words.append(f"other {_percent(unlisted / total)}")
    if total_cpu_seconds is not None and total - seen > 0.005 * total:
        words.append(f"not seen by sampling {_percent((total - seen) / total)}")
    return " · ".join(words)


def mean_over(edges: Sequence[float], line: plot_series.Points) -> plot_series.Points:
    """Average a rate over the stretches between edges, so that it can stand beside a coarser stack."""
    times, values = line
    sums, covered = [0.0] * len(edges), [0.0] * len(edges)
    for before, after, value in zip(times, times[1:], values[1:], strict=False):
        if value is None:
            continue
        for index in range(bisect_right(edges, before), len(edges)):
            begin = max(before, edges[index - 1] if index else 0.0)
            overlap = min(after, edges[index]) - begin
            if overlap <= 0:
                break
            sums[index] += value * overlap
            covered[index] += overlap
    means = [total / seconds if seconds > 0 else None for total, seconds in zip(sums, covered, strict=True)]
    return list(edges), means


def _percent(share: float) -> str:
    return "<1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _basename(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2] or word


def _of_key(view: RunView, key: str) -> dict[str, Series]:
    return {
        instance: s for (name, instance), s in view.series.items() if name == key and instance and s.times
    }


def _names(view: RunView) -> Mapping[str, str]:
    return {p.instance: _name(p) for p in view.processes if p.instance != REST}


def _name(process: Process) -> str:
    return command_name(process.command) if process.command else f"pid {process.pid}"


def _edges(owned: Sequence[Series], axis: plot_series.Axis) -> list[float]:
    """List where the stretches of a stack end; the first edge is where the first stretch begins."""
    stretches = [stretch for series in owned for stretch in plot_series.spans(series, axis)]
    ends = {end for _, end, _ in stretches}
    begins = {begin for begin, _, _ in stretches}
    # a beginning inside an earlier stretch would cut it in two: only those where nothing has ended count
    return sorted(ends | {min(begins)}) if begins else []


def _hold(
    series: Series, layer: list[float], edges: list[float], ends: float, axis: plot_series.Axis
) -> None:
    moments = [moment - axis.start for moment in series.times]
    for index in range(bisect_left(edges, moments[0]), bisect_right(edges, ends)):
        layer[index] += series.values[bisect_right(moments, edges[index]) - 1]


def _lines(
    layers: dict[str, list[float]], edges: list[float], key: str, axis: plot_series.Axis, *, step: bool
) -> tuple[panel.Line, ...]:
    largest = sorted((name for name in layers if name != OTHER), key=lambda name: -sum(layers[name]))
    merged = {name: layers[name] for name in largest[:LAYERS]}
    remaining = [layers[name] for name in [*largest[LAYERS:], OTHER] if name in layers]
    if remaining:
        merged[OTHER] = [sum(values) for values in zip(*remaining, strict=True)]
    return tuple(
        plot_series.make_line(
            (edges, [None if step and index == 0 else value for index, value in enumerate(values)]),
            axis,
            step=step,
            label=name,
            key=key,
            role=panel.Role.STACKED,
        )
        for name, values in merged.items()
        if any(values)
    )

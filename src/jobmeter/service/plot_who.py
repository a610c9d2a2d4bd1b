"""Who used it: the processes of a run folded by command into stacked layers.

Sampling sees only processes that live long enough to be sampled, and shared pages count in each of
them: a stack explains a total, it does not measure one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from jobmeter.aggregation.windows import REST
from jobmeter.model import panel
from jobmeter.model.run import Run
from jobmeter.model.view import Process, RunView, Series
from jobmeter.service import plot_series

LAYERS = 6
SMALLEST_SHARE = 0.01
"""A command below this share of the whole is not worth a colour: it is part of `other`."""
OTHER = "other"
NOTICEABLE = 0.005
SAME_REPORT = 0.05
"""Seconds within which two moments belong to one report."""

Held = tuple[str, float, float, float]
"""What a command held: its name, from, to, how much."""

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
    names = _names(view)
    held: list[Held] = []
    for instance, series in _of_key(view, key).items():
        name = names.get(instance, OTHER)
        held += [(name, begin, end, rate) for begin, end, rate in plot_series.spans(series, axis)]
    return _stack(held, key, axis)


def memory_layers(view: RunView, key: str, axis: plot_series.Axis) -> tuple[panel.Line, ...]:
    """Stack the resident memory of each command; a value holds until it moves or the process ends."""
    names = _names(view)
    owned = _of_key(view, key)
    reports = _reports(view, axis)
    last_seen = {p.instance: p.last_seen - axis.start for p in view.processes if p.last_seen is not None}
    held: list[Held] = []
    for instance, series in owned.items():
        ends = reports[-1] if instance == REST else last_seen.get(instance, 0.0)
        name = names.get(instance, OTHER)
        held += [(name, *piece) for piece in _resident(series, reports, ends, axis)]
    return _stack(held, key, axis)


def _resident(
    series: Series, reports: list[float], ends: float, axis: plot_series.Axis
) -> list[tuple[float, float, float]]:
    """Lay out the sizes of a process: what did not move was not written again, and holds."""
    pieces: list[tuple[float, float, float]] = []
    for moment, value in zip(series.times, series.values, strict=True):
        end = moment - axis.start
        begin = _report_before(reports, end)
        if pieces and begin > pieces[-1][1]:
            pieces.append((pieces[-1][1], begin, pieces[-1][2]))
        pieces.append((begin, end, value))
    if ends > pieces[-1][1]:
        pieces.append((pieces[-1][1], ends, pieces[-1][2]))
    return pieces


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
    if unlisted > NOTICEABLE * total:
        words.append(f"other {_percent(unlisted / total)}")
    if total_cpu_seconds is not None and total - seen > NOTICEABLE * total:
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


def _reports(view: RunView, axis: plot_series.Axis) -> list[float]:
    """List when processes were reported: that is how finely their lives are known."""
    moments = {moment for (_, instance), s in view.series.items() if instance for moment in s.times}
    moments |= {p.last_seen for p in view.processes if p.last_seen is not None}
    return sorted(moment - axis.start for moment in moments)


def _report_before(reports: list[float], moment: float) -> float:
    index = bisect_left(reports, moment - SAME_REPORT)
    return reports[index - 1] if index else 0.0


def _stack(held: list[Held], key: str, axis: plot_series.Axis) -> tuple[panel.Line, ...]:
    """Add up what each command held between the edges at which anything changed."""
    if not held:
        return ()
    edges = sorted({end for _, _, end, _ in held} | {min(begin for _, begin, _, _ in held)})
    layers: dict[str, list[float]] = {}
    for name, begin, end, value in held:
        if name not in layers:
            layers[name] = [0.0] * len(edges)
        layer = layers[name]
        first = bisect_right(edges, begin)
        # clocks of one report differ a little: a stretch counts where at least half of it is covered
        if 0 < first < len(edges) and begin > (edges[first - 1] + edges[first]) / 2:
            first += 1
        for index in range(first, bisect_right(edges, end)):
            layer[index] += value
    return _lines(layers, edges, key, axis)


def _lines(
    layers: dict[str, list[float]], edges: list[float], key: str, axis: plot_series.Axis
) -> tuple[panel.Line, ...]:
    sums = {name: sum(values) for name, values in layers.items()}
    least = SMALLEST_SHARE * sum(sums.values())
    ranked = sorted(
        (name for name in layers if name != OTHER and sums[name] >= least), key=lambda n: -sums[n]
    )
    merged = {name: layers[name] for name in ranked[:LAYERS]}
    remaining = [values for name, values in layers.items() if name not in merged]
    if remaining:
        merged[OTHER] = [sum(values) for values in zip(*remaining, strict=True)]
    return tuple(
        plot_series.make_line(
            (edges, [None, *values[1:]]), axis, step=True, label=name, key=key, role=panel.Role.STACKED
        )
        for name, values in merged.items()
        if any(values)
    )

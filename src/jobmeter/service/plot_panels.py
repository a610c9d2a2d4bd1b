"""The panels of a run: which recorded key answers which question, by which method.

One question may have been measured in several ways. The key of record is drawn as the main line, other
methods keep their own line and name; nothing is merged. A panel that cannot be drawn says why.
"""

from dataclasses import replace

from jobmeter.model import units
from jobmeter.model.measurement import Kind, Measurement, Scope, Unit
from jobmeter.model.panel import Line, Panel, Quantity, Role
from jobmeter.model.run import Run
from jobmeter.model.view import RunView, Series
from jobmeter.service import plot_gpu, plot_peaks, plot_series, plot_who
from jobmeter.service.plot_source import Source

CPU_TOOLS = ("cgroup", "wait", "proc", "psutil", "ps")
CPU_QUANTITIES = ("cputime", "cputime_total", "pdcpu_total", "pdcpu", "pcpu_total", "pcpu")
MEMORY_TOOLS = ("cgroup", "proc", "psutil", "ps")
MEMORY_WORDS = {
    "mem_unreclaimable": "unreclaimable",
    "pss_total": "PSS",
    "rss_total": "sum of RSS",
    "mem_current": "with page cache",
}
OUTER_MEMORY = "cgroup_outer_mem_unreclaimable"
PROCESS_COUNTS = ("count", "pids", "processes", "processes_total")
THREAD_COUNTS = ("threads", "threads_total")


Answer = Panel | str
"""A panel, or the reason why there is none."""


def all_panels(source: Source) -> dict[str, Answer]:
    """Answer every question a plot asks, in the order of reading."""
    return {
        "CPU": cpu(source),
        "memory": memory(source),
        "IO": io(source),
        "processes": processes(source),
        "pressure": pressure(source),
        "CPU by command": cpu_by_command(source),
        "memory by command": memory_by_command(source),
    }


def keys_of(run: Run) -> frozenset[str]:
    """Name every key the panels may draw, so that no other need be read."""
    measured = set(run.definitions)
    ladder = {f"{tool}_{quantity}" for tool in CPU_TOOLS for quantity in CPU_QUANTITIES}
    sizes = {f"{tool}_{quantity}" for tool in MEMORY_TOOLS for quantity in MEMORY_WORDS}
    record = {key for number in run.headline.values() for key in number.keys}
    chosen = ladder | sizes | record | {OUTER_MEMORY, "cgroup_mem_peak"}
    for m in run.definitions.values():
        quantity = m.key.partition("_")[2]
        counted = quantity in (*PROCESS_COUNTS, *THREAD_COUNTS)
        used = m.scope is Scope.PROCESS and quantity in ("cputime", "rss")
        if counted or used or _is_pressure(m) or any(_is_io(m, word) for word in ("read", "write")):
            chosen.add(m.key)
    return frozenset((chosen & measured) | plot_gpu.keys_of(run))


def cpu(source: Source) -> Answer:
    """Cores used: the CPU time of record as a rate."""
    series = _cpu_series(source)
    if series is None:
        return "no CPU time of the job was measured"
    key = series.key
    line = source.line(series, _cpu_label(key), Role.MAIN, scale=1.0 if source.is_counter(key) else 0.01)
    limits = plot_peaks.limit(source, "cpus")
    why_inexact = source.view.run.provenance.inexact.get(key, "")
    made = Panel(name="cpu", title="CPU", quantity=Quantity.CORES, lines=(line,), top=0, limits=limits)
    return plot_peaks.finish(replace(made, note=f"{key} is inexact: {why_inexact}" if why_inexact else ""))


def memory(source: Source) -> Answer:
    """Memory by every method measured, the one of record first, the page cache faintly."""
    found = [
        (series, words)
        for quantity, words in MEMORY_WORDS.items()
        for tool in MEMORY_TOOLS
        if (series := source.total(f"{tool}_{quantity}")) is not None
    ]
    if not found:
        return "no memory of the whole job was measured"
    lines = [source.line(series, words, Role.OTHER) for series, words in found]
    lines = [replace(line, role=Role.FAINT) if line.key.endswith("mem_current") else line for line in lines]
    lines[0] = replace(lines[0], role=Role.MAIN)
    made = Panel(
        name="memory",
        title="memory",
        quantity=Quantity.BYTES,
        lines=tuple(lines),
        top=0,
        limits=plot_peaks.limit(source, "memory_bytes"),
    )
    return plot_peaks.finish(
        _beside_enclosing(source, replace(made, peaks=plot_peaks.peak_between_samples(source, made)))
    )


def io(source: Source) -> Answer:
    """Bytes read and written per second, both by the same tool."""
    lines = [line for word in ("read", "write") if (line := _io_line(source, word)) is not None]
    if not lines:
        return "no IO of the job was measured"
    if not any(value for line in lines for value in line.values):
        return f"0 bytes throughout ({', '.join(line.key for line in lines)})"
    led = plot_peaks.led_by_largest(lines)
    return plot_peaks.finish(
        Panel(name="io", title="IO", quantity=Quantity.BYTES_PER_SECOND, lines=led, top=0)
    )


def processes(source: Source) -> Answer:
    """How many processes and threads lived; counted from the process list where nothing else did."""
    definitions = source.view.run.definitions.values()
    lines: list[Line] = []
    for words, label in ((PROCESS_COUNTS, "alive"), (THREAD_COUNTS, "threads")):
        keys = [m.key for m in definitions if m.key.partition("_")[2] in words and m.scope is Scope.JOB]
        series = [s for key in sorted(keys, key=_tool_rank) if (s := source.total(key)) is not None]
        lines += [source.line(s, label, Role.OTHER) for s in series[:1]]
    if not lines:
        lines = [line for line in [_counted(source)] if line is not None]
    if not lines:
        return "no processes were counted"
    lines[0] = replace(lines[0], role=Role.MAIN)
    return plot_peaks.finish(
        Panel(name="processes", title="processes", quantity=Quantity.COUNT, lines=tuple(lines), top=0)
    )


def pressure(source: Source) -> Answer:
    """Share of time in which something waited for CPU, memory or IO."""
    found = [
        (m, series)
        for m in source.view.run.definitions.values()
        if _is_pressure(m) and (series := source.total(m.key)) is not None
    ]
    if not found:
        return source.view.run.provenance.missing.get("psi", "not measured")
    job = [pair for pair in found if pair[0].scope is Scope.JOB] or found
    lines = [source.line(s, _pressure_label(m), Role.OTHER, _to_percent(m)) for m, s in job]
    stalled = [line for line in lines if any(line.values)]
    if not stalled:
        return f"0 throughout ({', '.join(line.key for line in lines)})"
    led = plot_peaks.led_by_largest(stalled)
    title = "pressure" if job[0][0].scope is Scope.JOB else "pressure on the machine"
    return plot_peaks.finish(Panel(name="pressure", title=title, quantity=Quantity.PERCENT, lines=led, top=0))


def cpu_by_command(source: Source) -> Answer:
    """Stack the cores of each command under the total of record; the gap is what sampling missed."""
    key = _process_key(source.view, "cputime", Kind.COUNTER)
    layers = plot_who.cpu_layers(source.view, key, source.axis) if key else ()
    if not layers:
        return "no CPU time of single processes was measured"
    series = _cpu_series(source)
    lines = list(layers)
    if series is not None and source.is_counter(series.key):
        points = plot_who.mean_over(layers[0].times, source.points(series))
        lines.append(
            plot_series.make_line(points, source.axis, step=True, label="all", key=series.key, role=Role.MAIN)
        )
    note = cpu_shares(source.view.run)
    made = Panel(
        name="cpu_by_command", title="CPU by command", quantity=Quantity.CORES, lines=tuple(lines), top=0
    )
    return plot_peaks.finish(replace(made, note=note))


def cpu_shares(run: Run) -> str:
    """Say who used the CPU, of the time of record."""
    headline = run.headline.get("cpu_seconds")
    return plot_who.shares(run, headline.value if headline else None)


def memory_by_command(source: Source) -> Answer:
    """Stack the resident memory of each command; shared pages count in each."""
    key = _process_key(source.view, "rss", Kind.GAUGE)
    layers = plot_who.memory_layers(source.view, key, source.axis) if key else ()
    if not layers or len(layers[0].times) < 3:
        return "no memory of single processes was measured twice"
    made = Panel(
        name="memory_by_command", title="memory by command", quantity=Quantity.BYTES, lines=layers, top=0
    )
    return plot_peaks.finish(
        replace(made, note="largest resident size in each report; shared pages count in each process")
    )


def _cpu_series(source: Source) -> Series | None:
    headline = source.view.run.headline.get("cpu_seconds")
    ladder = [f"{tool}_{quantity}" for tool in CPU_TOOLS for quantity in CPU_QUANTITIES]
    keys = [*(headline.keys if headline else ()), *ladder]
    return next((series for key in keys if (series := source.total(key)) is not None), None)


def _cpu_label(key: str) -> str:
    """Say what the key stands for: not every way of measuring sees all the job used."""
    if "_outer_" in key:
        return "used by the enclosing cgroup"
    if key.endswith(("pcpu", "pcpu_total")):
        return "lifetime average, not a rate"
    return "seen by sampling" if key.endswith("_total") else "used"


def _beside_enclosing(source: Source, made: Panel) -> Panel:
    """Add the cgroup around the job faintly; where it would dwarf the job, say its size instead."""
    series = source.total(OUTER_MEMORY)
    if series is None:
        return made
    job = max((value for value in plot_peaks.heights(made)), default=0.0)
    outer = max(series.values)
    if outer <= plot_peaks.LIMIT_IN_SIGHT * job:
        return replace(made, lines=(*made.lines, source.line(series, "enclosing cgroup", Role.FAINT)))
    size = units.format_bytes(outer)
    return replace(made, note=f"the enclosing cgroup held up to {size} ({OUTER_MEMORY}), above this axis")


def _io_line(source: Source, word: str) -> Line | None:
    headline = source.view.run.headline.get(f"io_{word}_bytes")
    counters = sorted(
        (m for m in source.view.run.definitions.values() if _is_io(m, word)),
        key=lambda m: (_tool_rank(m.key), len(m.key)),
    )
    keys = [*(headline.keys if headline else ()), *(m.key for m in counters)]
    series = next(
        (s for key in keys if source.is_counter(key) and (s := source.total(key)) is not None), None
    )
    if series is None:
        return None
    label = f"{word} by the enclosing cgroup" if "_outer_" in series.key else word
    return source.line(series, label, Role.OTHER)


def _is_io(m: Measurement, word: str) -> bool:
    return (
        m.kind is Kind.COUNTER and m.unit is Unit.BYTES and m.scope is Scope.JOB and word in m.key.split("_")
    )


def _tool_rank(key: str) -> int:
    order = ("wait", "proc", "cgroup", "psutil", "ps")
    tool = key.partition("_")[0]
    return order.index(tool) if tool in order and "_outer_" not in key else len(order)


def _counted(source: Source) -> Line | None:
    """Count the processes of each report; only gauges that are written every time can be counted."""
    key = _process_key(source.view, "rss", Kind.GAUGE)
    if key is None or source.view.run.provenance.origin == "jobmeter":
        return None
    counts: dict[float, int] = {}
    for (name, instance), series in source.view.series.items():
        if name == key and instance:
            for moment in series.times:
                counts[moment] = counts.get(moment, 0) + 1
    moments = sorted(counts)
    series = Series(
        key=key, instance="", times=tuple(moments), values=tuple(float(counts[moment]) for moment in moments)
    )
    return source.line(series, "seen", Role.MAIN)


def _process_key(view: RunView, quantity: str, kind: Kind) -> str | None:
    """Choose the per-process key with the most points, else one that was recorded for brief lives only."""
    keys = [m.key for m in view.run.definitions.values() if m.scope is Scope.PROCESS and m.kind is kind]
    points = {key: 0 for key in keys if key.partition("_")[2] == quantity}
    for (key, instance), series in view.series.items():
        if instance and key in points:
            points[key] += len(series.times)
    return max(points, key=lambda key: points[key], default=None)


def _is_pressure(m: Measurement) -> bool:
    return m.tool == "psi" or "pressure" in m.key


def _pressure_label(m: Measurement) -> str:
    words = [word for word in m.key.split("_") if word not in ("psi", "cgroup", "pressure", "total")]
    return " ".join(words) or m.key


def _to_percent(m: Measurement) -> float:
    return 1.0 if m.unit is Unit.PERCENT else 100.0

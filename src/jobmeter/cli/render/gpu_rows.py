"""What a run used of its GPUs, as rows: how busy they were, what was held on them, which they are, what they drew."""

from collections.abc import Iterator

from jobmeter.cli.render.numbers import number, source
from jobmeter.cli.render.rows import Row
from jobmeter.model import text, units
from jobmeter.model.measurement import GPU_TOOLS
from jobmeter.model.run import Headline, Run

BOARD_TOOLS = tuple(tool for tool in GPU_TOOLS if tool != "tegra")
"""Those that tell of a GPU's own board: what tegrastats calls temperature and power is of zones and rails."""
_HELD = {
    "proc_mem_total": "held by the job's processes",
    "mem_used_total": "in use on its GPUs",
    "mem_used": "in use",
}
"""What the peak of memory is, by the key it came from."""


def gpu_rows(run: Run) -> Iterator[Row]:
    """Say what the GPUs did; a run that measured none has no row."""
    found = [*_busy(run), *_memory(run), *_devices(run), *_board(run)]
    for place, row in enumerate(found):
        yield Row("GPU" if place == 0 else "", row.body, row.source)


def _busy(run: Run) -> Iterator[Row]:
    util = run.headline.get("gpu_util_percent")
    if util is not None:
        yield Row("", f"{number(util, units.format_percent)} busy", source(util))


def _memory(run: Run) -> Iterator[Row]:
    held = run.headline.get("gpu_memory_peak_bytes")
    if held is None:
        return
    body = f"{number(held, units.format_bytes)} peak"
    quantity = held.keys[0].partition("_peak_")[2] if held.keys else ""
    total = _figure(run, _tool(held), "peak_mem_total")
    if _count(run, _tool(held)) == 1 and quantity != "proc_mem_total" and total:
        body += f" of {units.format_bytes(total)} ({units.format_percent(100 * held.value / total)})"
    elif quantity in _HELD:
        body += f" {_HELD[quantity]}"
    yield Row("", body, source(held))


def _tool(headline: Headline) -> str:
    return headline.keys[0].partition("_")[0] if headline.keys else ""


def _figure(run: Run, tool: str, name: str) -> float | None:
    value = run.summary.get(f"{tool}_{name}")
    return value if isinstance(value, int | float) else None


def _count(run: Run, tool: str) -> float | None:
    return _figure(run, tool, "peak_count")


def _devices(run: Run) -> Iterator[Row]:
    """Name the GPUs and the most that was in use on one of them, which is what must fit."""
    for tool in BOARD_TOOLS:
        name, count = run.summary.get(f"{tool}_name"), _count(run, tool)
        if name is None and count is None:
            continue
        used, total = (_figure(run, tool, what) for what in ("peak_mem_used", "peak_mem_total"))
        parts = [_named(name, count)]
        if used is not None and total and not _said(run, tool, count):
            share = units.format_percent(100 * used / total)
            most = "" if count == 1 else "fullest "
            parts.append(f"{most}{units.format_bytes(used)} of {units.format_bytes(total)} in use ({share})")
        if any(parts):
            yield Row("", ", ".join(filter(None, parts)))
        return


def _named(name: object, count: float | None) -> str:
    if name is None:
        return f"{units.format_count(count)} GPUs" if count is not None and count > 1 else ""
    model = text.clean(str(name))
    return model if count in (None, 1) else f"{units.format_count(count or 0)} x {model}"


def _said(run: Run, tool: str, count: float | None) -> bool:
    """Tell whether the row of memory said it already: of one GPU there is nothing fullest."""
    held = run.headline.get("gpu_memory_peak_bytes")
    return (
        count == 1
        and held is not None
        and held.keys[:1] in ((f"{tool}_peak_mem_used",), (f"{tool}_peak_mem_used_total",))
    )


def _board(run: Run) -> Iterator[Row]:
    """Say what one board drew and how warm the warmest became."""
    for tool in BOARD_TOOLS:
        power, heat = f"{tool}_mean_power", f"{tool}_peak_temp"
        watts, celsius = run.summary.get(power), run.summary.get(heat)
        parts: dict[str, str] = {}
        if isinstance(watts, int | float):
            each = " each" if (_count(run, tool) or 1) > 1 else ""
            parts[power] = f"{watts:,.0f} W{each} on average"
        if isinstance(celsius, int | float):
            parts[heat] = f"up to {celsius:.0f} °C"
        if parts:
            yield Row("", ", ".join(parts.values()), ", ".join(parts))
            return

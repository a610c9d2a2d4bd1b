"""What a run used, as rows: CPU, memory against its limit, IO, who used it, and what sampling did not see."""

from collections.abc import Callable, Iterator

from jobmeter.cli.render.gpu_rows import gpu_rows
from jobmeter.cli.render.numbers import number, source
from jobmeter.cli.render.rows import Row
from jobmeter.model import text, units
from jobmeter.model.run import CommandShare, Headline, Run
from jobmeter.service import energy

MOST_COMMANDS = 6


def usage_rows(run: Run) -> Iterator[Row]:
    """Say what the run used; what was not measured has no row."""
    yield from _cpu(run)
    yield from _memory(run)
    yield from _io(run)
    yield from gpu_rows(run)
    yield from _energy(run)
    yield from _who(run)


def _cpu(run: Run) -> Iterator[Row]:
    cpu = run.headline.get("cpu_seconds")
    if cpu is None:
        return
    body = number(cpu, units.format_seconds)
    cores = units.mean_cores(cpu.value, run.wall_seconds)
    if cores is not None:
        body += f" = {units.format_cores(cores)} cores"
        if run.limits.cpus:
            share = units.format_percent(100 * cores / run.limits.cpus)
            body += f" of {units.format_cores(run.limits.cpus)}, {share}"
    yield Row("CPU", body, source(cpu))
    yield from _bounds(cpu, units.format_seconds)


def _bounds(headline: Headline, write: Callable[[float], str]) -> Iterator[Row]:
    low, high = write(headline.low), write(headline.high)
    if low != high:
        yield Row("", f"between {low} and {high}")


def _memory(run: Run) -> Iterator[Row]:
    peak = run.headline.get("memory_peak_bytes")
    if peak is None:
        return
    body = f"{number(peak, units.format_bytes)} peak"
    limit_bytes = run.limits.memory_bytes
    if limit_bytes:
        share = units.format_percent(100 * peak.value / limit_bytes)
        body += f", {share} of {_whose_limit(run)} {units.format_bytes(limit_bytes)}"
    yield Row("memory", body, source(peak, " - "))
    yield from _bounds(peak, units.format_bytes)
    charged = run.summary.get("cgroup_mem_peak")
    if isinstance(charged, int | float) and units.format_bytes(charged) != units.format_bytes(peak.value):
        yield Row("", f"{units.format_bytes(charged)} charged, page cache included", "cgroup_mem_peak")


def _whose_limit(run: Run) -> str:
    """Name what sets the limit: without one of its own a job may have all the machine has."""
    known = run.context.get("limits")
    source = known.get("memory_source") if isinstance(known, dict) else None
    return {"host": "the machine's", None: "the limit of"}.get(
        source, f"the {text.clean(str(source))} limit of"
    )


def _io(run: Run) -> Iterator[Row]:
    words = (("io_read_bytes", "read"), ("io_write_bytes", "written"))
    found = [(run.headline[name], word) for name, word in words if name in run.headline]
    if not found:
        return
    body = ", ".join(f"{number(headline, units.format_bytes)} {word}" for headline, word in found)
    yield Row("IO", body, ", ".join(source(headline) for headline, _ in found))


def _energy(run: Run) -> Iterator[Row]:
    found = run.headline.get("energy_joules")
    if found is None:
        return
    body = energy.sentence(run)
    yield Row("energy", body if found.exact else f"~{body}", source(found, " + "))


def _who(run: Run) -> Iterator[Row]:
    """Name the commands that used the CPU; the rest that no sample saw is a row, not silence."""
    cpu = run.headline.get("cpu_seconds")
    seen = sum(share.cpu_seconds for share in run.by_command if share.cpu_seconds is not None)
    # sampled and counted CPU time differ by microseconds, which must not become more than all of it
    whole = max(cpu.value, seen) if cpu is not None else 0.0
    ordered = sorted(run.by_command, key=lambda share: share.cpu_seconds or 0.0, reverse=True)
    names = [text.cut(text.clean(share.command), 24) for share in ordered[:MOST_COMMANDS]]
    widest = max((text.width(name) for name in names), default=0)
    for index, (share, name) in enumerate(zip(ordered, names, strict=False)):
        padding = " " * (widest - text.width(name))
        yield Row("who" if index == 0 else "", f"{name}{padding}  {_share(share, whole)}")
    if len(ordered) > MOST_COMMANDS:
        yield Row("", f"and {len(ordered) - MOST_COMMANDS} more, see --json")
    unseen = whole - seen
    if run.by_command and unseen > max(0.01, 0.005 * whole):
        share_text = units.format_percent(100 * unseen / whole)
        yield Row("", f"{units.format_seconds(unseen)} of CPU ({share_text}) not seen by sampling")


def _share(share: CommandShare, whole_seconds: float) -> str:
    parts = []
    if share.cpu_seconds is not None:
        if whole_seconds > 0:
            parts.append(f"{units.format_percent(100 * share.cpu_seconds / whole_seconds):>6} of CPU")
        parts.append(units.format_seconds(share.cpu_seconds))
    if share.processes is not None:
        parts.append(f"{units.format_count(share.processes)} process{'es' if share.processes != 1 else ''}")
    if share.peak_rss_bytes is not None:
        parts.append(f"largest {units.format_bytes(share.peak_rss_bytes)}")
    return ", ".join(parts)

"""Any run as the samples of a build: `ts cpu mem_used_gb mem_total_gb io_read_mb io_write_mb`.

A build's sampler looks at the whole host, so the host's series are taken where the run has them; else the job's own,
and `scope` says which. What misleads: on a host shared with others, their use is in the host's numbers.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jobmeter.model.view import RunView, Series

GIBI, MEBI = 1 << 30, 1 << 20
SPACING_SECONDS = 60.0
_FEWEST_SAMPLES = 20
"""A run too short for so many minutes is sampled more often, but never more often than once a second."""
_SHORTEST_SECONDS = 1.0
_NEAR = 0.1
"""A last sample so near to the one before, in spacings, takes its place."""

HOST, JOB = "host", "job"
_JOB_CPU = (
    "cgroup_cputime",
    "wait_cputime",
    "proc_cputime_total",
    "psutil_cputime_total",
    "ps_cputime_total",
)
_JOB_MEMORY = (
    *("cgroup_mem_unreclaimable", "proc_pss_total", "proc_rss_total"),
    *("psutil_pss_total", "psutil_rss_total", "ps_rss_total"),
)
_JOB_READ, _JOB_WRITE = ("wait_read_bytes", "cgroup_io_read"), ("wait_write_bytes", "cgroup_io_write")
KEYS = (
    *("buildstats_cpu", "buildstats_mem_used", "buildstats_mem_total"),
    *("buildstats_io_read", "buildstats_io_write"),
    *("host_cputime", "host_mem_available", "host_read_bytes", "host_write_bytes"),
    *(*_JOB_CPU, *_JOB_MEMORY, *_JOB_READ, *_JOB_WRITE),
)
"""All that is looked at: whoever gathers a view for this needs no other series."""

Sample = dict[str, object]
Between = Callable[[float, float], float | None]
"""Gives what a field was between two moments, the second included; None where nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The samples of a run, and whether they are the host's or the job's."""

    scope: str
    samples: list[Sample]


def samples_of(view: RunView) -> Samples:
    """Sample a run as a build's sampler would have: once a minute, and at its first and last window."""
    cpu = _first(view, ("buildstats_cpu",))
    if cpu is not None or _first(view, ("buildstats_mem_used",)) is not None:
        fields = _as_told(view)
        return Samples(scope=HOST, samples=_rows(_every_time(view, KEYS[:5]), fields))
    scope = JOB if _first(view, ("host_cputime", "host_mem_available")) is None else HOST
    fields = _of_the_host(view) if scope == HOST else _of_the_job(view)
    moments = _every_time(view, [key for key in KEYS if (key.startswith("host_")) == (scope == HOST)])
    return Samples(scope=scope, samples=_rows(_ticks(moments), fields))


def _first(view: RunView, keys: Iterable[str]) -> Series | None:
    found = (view.series.get((key, "")) for key in keys)
    return next((series for series in found if series is not None and series.times), None)


def _every_time(view: RunView, keys: Iterable[str]) -> list[float]:
    known = (view.series.get((key, "")) for key in keys)
    return sorted({moment for series in known if series is not None for moment in series.times})


def _ticks(moments: Sequence[float]) -> list[float]:
    """Choose the moments of samples among those that were measured: about evenly spaced, the first and the last."""
    if not moments:
        return []
    first, last = moments[0], moments[-1]
    spacing = min(SPACING_SECONDS, max(_SHORTEST_SECONDS, (last - first) / _FEWEST_SAMPLES))
    chosen = [first]
    for moment in moments:
        # on a grid from the first on, so that late looks do not add up
        if moment > chosen[-1] and moment >= first + spacing * (1 + (chosen[-1] - first) // spacing):
            chosen.append(moment)
    if last - chosen[-1] < spacing * _NEAR and len(chosen) > 1:
        chosen.pop()
    return chosen if chosen[-1] == last else [*chosen, last]


def _rows(moments: Sequence[float], fields: dict[str, Between]) -> list[Sample]:
    found: list[Sample] = []
    before = -math.inf
    for moment in moments:
        values = {name: between(before, moment) for name, between in fields.items()}
        stamp = datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
        found.append({"ts": stamp} | {name: value for name, value in values.items() if value is not None})
        before = moment
    return found


def _as_told(view: RunView) -> dict[str, Between]:
    """Give back the samples of an imported build; its counters begin at 0."""
    return {
        "cpu": _gauge(_first(view, ("buildstats_cpu",)), 1, 1),
        "mem_used_gb": _gauge(_first(view, ("buildstats_mem_used",)), GIBI, 2),
        "mem_total_gb": _gauge(_first(view, ("buildstats_mem_total",)), GIBI, 2),
        "io_read_mb": _growth(_first(view, ("buildstats_io_read",))),
        "io_write_mb": _growth(_first(view, ("buildstats_io_write",))),
    }


def _of_the_host(view: RunView) -> dict[str, Between]:
    total = _host_fact(view, "memory_bytes")
    return {
        "cpu": _rate(_first(view, ("host_cputime",)), _host_fact(view, "cpus")),
        "mem_used_gb": _used(_first(view, ("host_mem_available",)), total),
        "mem_total_gb": _constant(total),
        "io_read_mb": _growth(_first(view, ("host_read_bytes",))),
        "io_write_mb": _growth(_first(view, ("host_write_bytes",))),
    }


def _of_the_job(view: RunView) -> dict[str, Between]:
    cpus = _host_fact(view, "cpus") or view.run.limits.cpus
    return {
        "cpu": _rate(_first(view, _JOB_CPU), cpus),
        "mem_used_gb": _gauge(_first(view, _JOB_MEMORY), GIBI, 2),
        "mem_total_gb": _constant(_host_fact(view, "memory_bytes")),
        "io_read_mb": _growth(_first(view, _JOB_READ)),
        "io_write_mb": _growth(_first(view, _JOB_WRITE)),
    }


def _host_fact(view: RunView, name: str) -> float | None:
    host = view.run.context.get("host")
    value = host.get(name) if isinstance(host, dict) else None
    return value if isinstance(value, int | float) and value > 0 else None


def _tidy(value: float, digits: int) -> float | None:
    if not math.isfinite(value):
        return None
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def _unknown(_before: float, _moment: float) -> None:
    return None


def _constant(size_bytes: float | None) -> Between:
    return _unknown if size_bytes is None else lambda _before, _moment: _tidy(size_bytes / GIBI, 2)


def _last(series: Series, before: float, moment: float) -> float | None:
    """Give the newest value after one moment and up to another."""
    place = bisect_right(series.times, moment)
    return series.values[place - 1] if place and series.times[place - 1] > before else None


def _gauge(series: Series | None, factor: float, digits: int) -> Between:
    if series is None:
        return _unknown

    def between(before: float, moment: float) -> float | None:
        value = _last(series, before, moment)
        return None if value is None else _tidy(value / factor, digits)

    return between


def _used(available: Series | None, total_bytes: float | None) -> Between:
    if available is None or total_bytes is None:
        return _unknown

    def between(before: float, moment: float) -> float | None:
        left = _last(available, before, moment)
        return None if left is None else _tidy(max(total_bytes - left, 0) / GIBI, 2)

    return between


def _rate(seconds: Series | None, cpus: float | None) -> Between:
    """Give the percent of the host that was busy: the CPU time between two samples over what there was."""
    if seconds is None or seconds.spans is None or cpus is None:
        return _unknown
    spans = seconds.spans

    def between(before: float, moment: float) -> float | None:
        begin, end = bisect_right(seconds.times, before), bisect_right(seconds.times, moment)
        covered = math.fsum(spans[begin:end])
        if covered <= 0:
            return None
        return _tidy(min(100 * math.fsum(seconds.values[begin:end]) / (covered * cpus), 100), 1)

    return between


def _growth(counted: Series | None) -> Between:
    """Give what a counter came to since the run began, in MB of 2^20."""
    if counted is None:
        return _unknown
    sums = [0.0]
    for value in counted.values:
        sums.append(sums[-1] + (value if math.isfinite(value) else 0.0))
    return lambda _before, moment: _tidy(sums[bisect_right(counted.times, moment)] / MEBI, 0)

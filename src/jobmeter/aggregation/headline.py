"""The numbers of record, each with its bounds and the keys it came from.

CPU time goes down a ladder of truth: the job's own cgroup, the telescoping sum, the enclosing cgroup,
sampled processes. Memory means what the job needs, not what the kernel cached for it. GPU figures are samples.
"""

from jobmeter.aggregation import energy
from jobmeter.model.measurement import GPU_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Summary = Mapping[str, int | float | str]
    Figures = dict[str, object]


def headlines(summary: "Summary", inexact: "Mapping[str, str]") -> "dict[str, Figures]":
    """Derive every headline that the summary supports."""
    found = {
        "cpu_seconds": cpu_seconds(summary, inexact),
        "memory_peak_bytes": memory_peak(summary, inexact),
        "io_read_bytes": _first(summary, inexact, _READ_KEYS),
        "io_write_bytes": _first(summary, inexact, _WRITE_KEYS),
        "gpu_util_percent": gpu_util(summary),
        "gpu_memory_peak_bytes": gpu_memory_peak(summary),
        "energy_joules": energy_joules(summary, inexact),
    }
    return {name: figures for name, figures in found.items() if figures is not None}


_READ_KEYS = (
    "wait_read_bytes",
    "cgroup_io_read",
    "slurm_disk_read",
    "nextflow_read_bytes",
    "docker_blk_read",
)
_WRITE_KEYS = (
    "wait_write_bytes",
    "cgroup_io_write",
    "slurm_disk_write",
    "nextflow_write_bytes",
    "docker_blk_write",
)


def cpu_seconds(summary: "Summary", inexact: "Mapping[str, str]") -> "Figures | None":
    """Choose the CPU time of record."""
    known = {key: value for key in _CPU_LADDER if (value := _number(summary, key)) is not None}
    trusted = [key for key in known if key not in inexact and key in _EXACT_CPU]
    if trusted:
        value = known[trusted[0]]
        return _figures(value, value, value, [trusted[0]], exact=True)
    if not known:
        return None
    # nothing exact: every rung is a lower bound, except the perf clock, which may be high by what the host stole
    best = max(known, key=lambda key: known[key])
    lower = [value for key, value in known.items() if key != "wait_task_clock"]
    return _figures(known[best], max(lower, default=0.0), max(known.values()), [best], exact=False)


_CPU_LADDER = (
    "cgroup_cputime",
    "wait_cputime",
    "wait_task_clock",
    "cgroup_outer_cputime",
    "proc_cputime_total",
    "psutil_cputime_total",
    "ps_cputime_total",
    # what schedulers and other tools account for, in imported runs
    "slurm_cputime",
    "seff_cputime",
    "pbs_cputime",
    "sge_cputime",
    "lsf_cputime",
    "condor_cputime",
    "nextflow_cputime",
    "docker_cputime",
    "time_cputime",
)
_EXACT_CPU = ("cgroup_cputime", "wait_cputime")


def memory_peak(summary: "Summary", inexact: "Mapping[str, str]") -> "Figures | None":
    """Bound what the job needed at its largest.

    Low is the largest amount of unreclaimable memory seen, or of any single process; high is the own
    cgroup's charged peak, else the sum of the largest sizes of processes that lived at the same time.
    """
    charged = _number(summary, "cgroup_mem_peak")
    if charged is not None:
        return _charged_peak(summary, charged)
    low, low_keys = _largest(summary, _LOW_KEYS)
    high, high_keys = _largest(summary, _HIGH_KEYS)
    if not low and not high:
        return None
    value = low or high
    # the largest process alone says nothing of how many like it lived at once
    summed = high_keys[:1] != ["wait_maxrss"]
    exact = summed and not inexact and low == high
    return _figures(value, low, max(high, value), low_keys or high_keys, exact=exact)


def _charged_peak(summary: "Summary", charged: float) -> "Figures":
    """Bound it by the own cgroup: what was charged, less what of it was only cached.

    A page is charged to whoever touched it first: a process may hold libraries, a mapped file or shared memory
    that another cgroup pays for. Where one process held more than the whole job was charged, its size is what
    the job would be charged where it runs alone: the charge is no upper bound then.
    """
    held = _number(summary, "cgroup_peak_mem_unreclaimable") or 0.0
    largest = _number(summary, "wait_maxrss") or 0.0
    cache = _number(summary, "cgroup_peak_mem_file") or 0.0
    if held >= charged:
        # read one after the other: it grew in between
        return _bounded(held, held, max(held, largest), ["cgroup_peak_mem_unreclaimable"])
    if largest >= charged:
        return _bounded(charged, max(held, charged - cache), largest, ["cgroup_mem_peak"])
    low, low_keys = _largest(summary, ("cgroup_peak_mem_unreclaimable", "wait_maxrss"))
    if low >= charged - cache:
        return _bounded(low, low, charged, low_keys)
    keys = ["cgroup_mem_peak", "cgroup_peak_mem_file"] if cache else ["cgroup_mem_peak"]
    return _bounded(charged - cache, low, charged, keys)


def _bounded(value: float, low: float, high: float, keys: list[str]) -> "Figures":
    """Call exact what is bounded to 2 %: readings of one moment are not quite of one moment."""
    return _figures(value, low, high, keys, exact=low >= high * 0.98)


_LOW_KEYS = (
    "cgroup_peak_mem_unreclaimable",
    "proc_peak_pss_total",
    "psutil_peak_pss_total",
    "wait_maxrss",
    "ps_peak_rss",
    # what schedulers and other tools saw, in imported runs: sampled, or of the largest task only
    "slurm_maxrss",
    "seff_memory",
    "pbs_mem",
    "sge_maxrss",
    "lsf_maxrss",
    "lsf_max_mem",
    "condor_rss",
    "nextflow_peak_rss",
    "docker_peak_mem_used",
    "time_maxrss",
)
_HIGH_KEYS = (
    "proc_hwm_bound",
    "proc_peak_hwm_total",
    "proc_peak_rss_total",
    "psutil_peak_rss_total",
    "ps_peak_rss_total",
    "wait_maxrss",
    "wait_maxrss_floor",
    "docker_peak_mem_usage",
)


def gpu_util(summary: "Summary") -> "Figures | None":
    """Give the mean over samples and over the job's GPUs."""
    for tool in GPU_TOOLS:
        key = f"{tool}_mean_util"
        value = _number(summary, key)
        if value is not None:
            return _figures(value, value, value, [key], exact=False)
    return None


def gpu_memory_peak(summary: "Summary") -> "Figures | None":
    """Give the most the job's processes held on all its GPUs at once, else the most that was in use there."""
    for tool in GPU_TOOLS:
        # what one device held says nothing of all of them: only where no sum is known it stands for it
        known = _peaks(summary, tool, ("proc_mem_total", "mem_used_total"))
        known = known or _peaks(summary, tool, ("mem_used",))
        if known:
            best = next(iter(known))
            return _figures(known[best], min(known.values()), max(known.values()), [best], exact=False)
    return None


def _peaks(summary: "Summary", tool: str, names: tuple[str, ...]) -> dict[str, float]:
    keys = (f"{tool}_peak_{name}" for name in names)
    return {key: value for key in keys if (value := _number(summary, key)) is not None}


def energy_joules(summary: "Summary", inexact: "Mapping[str, str]") -> "Figures | None":
    """Add up what GPUs used and the job's share of what processors used; bounded by none and by all of the latter."""
    parts = energy.parts(summary)
    if not parts:
        return None
    measured = sum(part.joules for part in parts if part.method == energy.COUNTED)
    value = sum(part.joules for part in parts)
    shared = any(part.method == energy.SHARED for part in parts)
    low = sum(part.joules for part in parts if part.method != energy.SHARED)
    high = low + (energy.processors(summary) or 0.0) if shared else value
    keys = [part.key for part in parts]
    exact = measured == value and not any(key in inexact for key in keys)
    return _figures(value, min(low, value), max(high, value), keys, exact=exact)


def _largest(summary: "Summary", keys: tuple[str, ...]) -> tuple[float, list[str]]:
    known = {key: value for key in keys if (value := _number(summary, key)) is not None}
    if not known:
        return 0.0, []
    best = max(known, key=lambda key: known[key])
    return known[best], [best]


def _first(summary: "Summary", inexact: "Mapping[str, str]", keys: tuple[str, ...]) -> "Figures | None":
    for key in keys:
        value = _number(summary, key)
        if value is not None:
            exact = key.startswith("wait_") and key not in inexact
            return _figures(value, value, value, [key], exact=exact)
    return None


def _number(summary: "Summary", key: str) -> float | None:
    value = summary.get(key)
    return value if isinstance(value, int | float) else None


def _figures(value: float, low: float, high: float, keys: list[str], *, exact: bool) -> "Figures":
    return {"value": value, "low": low, "high": high, "keys": keys, "exact": exact}

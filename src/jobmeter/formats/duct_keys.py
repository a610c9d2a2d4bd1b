"""What con-duct's numbers mean, as definitions that travel with the imported run.

con-duct's `pcpu` is what `ps` calls %CPU: CPU time divided by age since birth. It is not an interval rate,
so it keeps a key of its own (`ps_pcpu`) that jobmeter itself never records.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit

FIELDS = ("rss", "vsz", "pmem", "pcpu")
"""The four quantities that con-duct adds up over processes."""

TOTALS = {
    "rss": "Resident memory of all processes of the session added up by con-duct; shared pages count again",
    "vsz": "Virtual memory of all processes of the session added up by con-duct; not memory in use",
    "pmem": "ps %MEM of all processes of the session added up by con-duct; percent of the host's memory",
    "pcpu": "ps %CPU of all processes of the session added up by con-duct: lifetime averages, no rates",
}

_UNITS = {"rss": Unit.BYTES, "vsz": Unit.BYTES, "pmem": Unit.PERCENT, "pcpu": Unit.PERCENT}

_PROCESS = {
    "vsz": "Virtual memory of one process as recorded by con-duct from ps",
    "pmem": "ps %MEM of one process, percent of the host's memory in steps of 0.1",
    "pcpu": "ps %CPU of one process: lifetime average as recorded by con-duct, CPU time over age",
}


def _gauge(key: str, unit: Unit, scope: Scope, about: str, *, job_total: bool = False) -> Measurement:
    reduce = (Reduce.MAX, Reduce.MEAN) if job_total else (Reduce.MAX,)
    summary = (Stat.PEAK, Stat.MEAN) if job_total else ()
    return Measurement(key, Kind.GAUGE, unit, scope, reduce, summary, about)


CLASSIC: tuple[Measurement, ...] = (
    Measurement(
        "ps_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS, (Reduce.MAX,), (Stat.PEAK,),
        "Resident memory of one process as recorded by con-duct from ps; a reused pid is one process",
    ),
    *(_gauge(f"ps_{word}", _UNITS[word], Scope.PROCESS, _PROCESS[word]) for word in _PROCESS),
    *(_gauge(f"ps_{word}_total", _UNITS[word], Scope.JOB, TOTALS[word], job_total=True) for word in FIELDS),
    Measurement(
        "ps_etime", Kind.GAUGE, Unit.SECONDS, Scope.PROCESS, (Reduce.LAST,), (),
        "Age of the process when con-duct last saw it, whole seconds",
    ),
    Measurement(
        "ps_stat", Kind.CATEGORICAL, Unit.NONE, Scope.PROCESS, (Reduce.TALLY,), (),
        "States of the process as ps prints them, with the number of samples that saw each",
    ),
    Measurement(
        "ps_cmd", Kind.LABEL, Unit.NONE, Scope.PROCESS, (Reduce.LAST,), (),
        "Command line of the process as con-duct first saw it, cut to the width of ps",
    ),
)  # fmt: skip

DRAFT: tuple[Measurement, ...] = (
    _gauge("ps_pdcpu", Unit.PERCENT, Scope.PROCESS, "Percent of one core between two samples, from ps"),
    Measurement(
        "ps_cputime_total", Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,),
        "CPU seconds by ps as con-duct's draft schema added them up: whole seconds, ended processes lost",
    ),
    _gauge("psutil_pss", Unit.BYTES, Scope.PROCESS, "Proportional share of resident memory of one process"),
    Measurement(
        "psutil_pss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK,),
        "Proportional share of resident memory added up over processes: shared pages count once",
    ),
    _gauge("psutil_pdcpu", Unit.PERCENT, Scope.PROCESS, "Percent of one core between two samples, by psutil"),
    Measurement(
        "cgroup_mem_peak", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.LAST,), (),
        "Charged memory peak, page cache included, of the cgroup that con-duct itself ran in",
    ),
)  # fmt: skip

PROTOTYPE: tuple[Measurement, ...] = (
    Measurement(
        "wait_cputime", Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,),
        "User and system CPU seconds of the job and the children it waited for, by GNU time",
    ),
    Measurement(
        "wait_maxrss", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (),
        "Largest resident memory of any one process of the job that was waited for, by GNU time",
    ),
)  # fmt: skip

DEFINITIONS: dict[str, Measurement] = {m.key: m for m in (*CLASSIC, *DRAFT, *PROTOTYPE)}

PEAK_AND_MEAN: dict[str, str] = {
    f"{word}_{field}": DEFINITIONS[f"ps_{field}_total"].stat_key(stat)
    for field in FIELDS
    for word, stat in (("peak", "peak"), ("average", "mean"))
}
"""`execution_summary` key of schemas up to 0.2.3 to ours: `average_rss` to `ps_mean_rss_total`."""

DRAFT_SUMMARY: dict[str, str] = {
    "peak_ps_rss_total": "ps_peak_rss_total",
    "ps_peak_rss_total": "ps_peak_rss_total",
    "ave_ps_rss_total": "ps_mean_rss_total",
    "ps_cpu_seconds": "ps_cputime_total",
    "peak_cgroup_rss_peak": "cgroup_mem_peak",
    "cgroup_mem_peak": "cgroup_mem_peak",
    "peak_psutil_pss_total": "psutil_peak_pss_total",
    "psutil_peak_pss_total": "psutil_peak_pss_total",
}
"""The same for the 0.3.0 draft, whose names put the statistic first and called charged memory rss."""

DRAFT_WINDOW: dict[str, str] = {
    "ps_rss": "ps_rss",
    "ps_rss_total": "ps_rss_total",
    "ps_pdcpu": "ps_pdcpu",
    "ps_cpu_seconds": "ps_cputime_total",
    "ps_cmd": "ps_cmd",
    "psutil_pss": "psutil_pss",
    "psutil_pss_total": "psutil_pss_total",
    "psutil_pdcpu": "psutil_pdcpu",
    "cgroup_rss_peak": "cgroup_mem_peak",
    "cgroup_mem_peak": "cgroup_mem_peak",
}
"""`measurements` key of a draft line to ours."""

DRAFT_CORES = frozenset(("ps_pdcpu", "psutil_pdcpu"))
"""The draft wrote these in cores; ours are percent of one core."""

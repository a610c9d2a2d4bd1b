"""Numbers explained by the definitions that travelled with the run."""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Run, Status
from jobmeter.service import explain

RSS = Measurement(
    "proc_rss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK,), "sum of resident sizes"
)
CPU = Measurement(
    "wait_cputime", Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), "CPU time"
)
PEAK = Measurement(
    "cgroup_mem_peak", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.LAST,), (), "charged high-water mark"
)
RUN = Run(
    run_id="r",
    job_id="r",
    status=Status.COMPLETED,
    command=("x",),
    summary={"wait_cputime": 90.0, "proc_peak_rss_total": 2048, "cgroup_mem_peak": 1024, "old_peak_thing": 5},
    definitions={m.key: m for m in (RSS, CPU, PEAK)},
)


def test_every_number_has_its_unit_and_meaning() -> None:
    assert [(one.key, one.text, one.meaning) for one in explain.explain(RUN)] == [
        ("cgroup_mem_peak", "1 KiB", "charged high-water mark"),
        ("old_peak_thing", "5", ""),
        ("proc_peak_rss_total", "2 KiB", "sum of resident sizes; largest over the run"),
        ("wait_cputime", "1 min 30 s", "CPU time; total over the run"),
    ]

"""The run's summary: one value per statistic, each written out by hand."""

from jobmeter.aggregation.summary import Summary
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit

EVERY_STAT = (Stat.PEAK, Stat.MEAN, Stat.LOW, Stat.LAST, Stat.TOTAL)
RSS = Measurement("proc_rss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), EVERY_STAT, "rss")
PEAK = Measurement("cgroup_mem_peak", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (), "charged peak")
CPU = Measurement(
    "wait_cputime", Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), "cpu"
)
NET = Measurement("host_net", Kind.COUNTER, Unit.BYTES, Scope.HOST, (Reduce.DELTA,), (Stat.TOTAL,), "net")
NAME = Measurement("host_name", Kind.LABEL, Unit.NONE, Scope.HOST, (Reduce.LAST,), (), "name")
ONE = Measurement("proc_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS, (Reduce.MAX,), (Stat.PEAK,), "rss")
ALL = {m.key: m for m in (RSS, PEAK, CPU, NET, NAME, ONE)}


def make_summary() -> Summary:
    return Summary(ALL, lambda definition: definition.scope is Scope.JOB)


def test_nothing_read_is_nothing_said() -> None:
    assert make_summary().values() == {}


def test_every_statistic_of_a_gauge_stands_after_its_tool() -> None:
    summary = make_summary()
    for rss in (300, 100, 600, 400):
        summary.add([("proc_rss_total", "", rss)])
    assert summary.values() == {
        "proc_last_rss_total": 400,
        "proc_low_rss_total": 100,
        "proc_mean_rss_total": 350,
        "proc_peak_rss_total": 600,
        "proc_total_rss_total": 1400,
    }


def test_a_gauge_whose_source_keeps_the_statistic_stands_under_its_own_key() -> None:
    summary = make_summary()
    summary.add([("cgroup_mem_peak", "", 700)])
    summary.add([("cgroup_mem_peak", "", 734)])
    assert summary.values() == {"cgroup_mem_peak": 734}


def test_the_jobs_counter_counts_from_zero_and_the_hosts_from_the_first_look() -> None:
    summary = make_summary()
    summary.add([("wait_cputime", "", 1.5), ("host_net", "", 5000)])
    assert summary.values() == {"host_net": 0, "wait_cputime": 1.5}
    summary.add([("wait_cputime", "", 2.25), ("host_net", "", 5700)])
    assert summary.values() == {"host_net": 700, "wait_cputime": 2.25}


def test_a_total_never_falls() -> None:
    summary = make_summary()
    summary.add([("wait_cputime", "", 2.0)])
    summary.add([("wait_cputime", "", 1.9)])
    assert summary.values() == {"wait_cputime": 2}
    summary.add([("wait_cputime", "", 2.1)])
    assert summary.values() == {"wait_cputime": 2.1}


def test_a_label_is_kept_as_it_is() -> None:
    summary = make_summary()
    summary.add([("host_name", "", "node7")])
    assert summary.values() == {"host_name": "node7"}


def test_single_processes_and_devices_are_not_summed_up() -> None:
    summary = make_summary()
    summary.add([("proc_rss", "7@1", 900), ("proc_rss_total", "gpu0", 900)])
    assert summary.values() == {}


def test_the_newest_and_the_largest_reading_can_be_asked_for() -> None:
    summary = make_summary()
    assert summary.latest("proc_rss_total") is None
    assert summary.largest("proc_rss_total") is None
    summary.add([("proc_rss_total", "", 300), ("wait_cputime", "", 1.5)])
    summary.add([("proc_rss_total", "", 200), ("wait_cputime", "", 2.5)])
    assert summary.latest("proc_rss_total") == 200
    assert summary.largest("proc_rss_total") == 300
    assert summary.latest("wait_cputime") == 2.5


def test_numbers_are_written_without_noise() -> None:
    summary = make_summary()
    summary.add([("wait_cputime", "", 0.1 + 0.2), ("proc_rss_total", "", 1), ("proc_rss_total", "", 2)])
    assert {key: repr(value) for key, value in summary.values().items()} == {
        "proc_last_rss_total": "2",
        "proc_low_rss_total": "1",
        "proc_mean_rss_total": "1.5",
        "proc_peak_rss_total": "2",
        "proc_total_rss_total": "3",
        "wait_cputime": "0.3",
    }


UTIL = Measurement(
    "nvml_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE, (Reduce.MEAN,), (Stat.MEAN, Stat.PEAK), "busy"
)
ENERGY = Measurement(
    "nvml_energy", Kind.COUNTER, Unit.JOULES, Scope.DEVICE, (Reduce.DELTA,), (Stat.TOTAL,), "energy"
)
MODEL = Measurement("nvml_name", Kind.LABEL, Unit.NONE, Scope.DEVICE, (Reduce.LAST,), (), "model")
WHY = Measurement("nvml_throttle", Kind.CATEGORICAL, Unit.NONE, Scope.DEVICE, (Reduce.TALLY,), (), "why")
DEVICES = {m.key: m for m in (UTIL, ENERGY, MODEL, WHY)}


def test_devices_are_taken_together() -> None:
    summary = Summary(DEVICES, lambda _: False)
    summary.add([("nvml_util", "a", 90), ("nvml_util", "b", 30)])
    summary.add([("nvml_name", "a", "H200"), ("nvml_name", "b", "H200")])
    summary.add([("nvml_util", "a", 80), ("nvml_util", "b", 40), ("nvml_throttle", "a", "idle")])
    assert summary.values() == {"nvml_mean_util": 60, "nvml_peak_util": 90, "nvml_name": "H200"}


def test_each_devices_counter_counts_from_its_own_first_look() -> None:
    summary = Summary(DEVICES, lambda _: False)
    assert summary.latest("nvml_energy") is None
    summary.add([("nvml_energy", "a", 1000.0)])
    summary.add([("nvml_energy", "a", 1100.0), ("nvml_energy", "b", 7000.0)])
    summary.add([("nvml_energy", "a", 1150.0), ("nvml_energy", "b", 7030.0)])
    assert summary.values() == {"nvml_energy": 180}
    assert summary.latest("nvml_energy") == 180

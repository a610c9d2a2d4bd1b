"""Names, labels and the page that Prometheus scrapes, read back with prometheus-client's own parsers."""

import json
import math
import re
from importlib import import_module

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from jobmeter import collectors, formats
from jobmeter.exporters import (
    grafana,
    metric_families,
    metric_names,
    prometheus,
    prometheus_rules,
    run_metrics,
)
from jobmeter.exporters.metric_names import Type
from jobmeter.fleet import keys as fleet_keys
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
from jobmeter.model.run import Headline, Limits, Run, Status

LEGAL = {
    Kind.GAUGE: Reduce.MAX,
    Kind.COUNTER: Reduce.DELTA,
    Kind.LABEL: Reduce.LAST,
    Kind.CATEGORICAL: Reduce.TALLY,
}


def measurement(key: str, kind: Kind, unit: Unit = Unit.NONE, scope: Scope = Scope.JOB) -> Measurement:
    return Measurement(key, kind, unit, scope, (LEGAL[kind],), (), f"about {key}")


def run_of(*definitions: Measurement, **changes: object) -> Run:
    known: dict[str, object] = {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "train-7",
        "status": Status.RUNNING,
        "command": ("/usr/bin/python3", "train.py"),
        "host": "node7",
        "project": "app",
        "definitions": {one.key: one for one in definitions},
    }
    return Run(**(known | changes))  # type: ignore[arg-type]  # a builder of tests


RSS = measurement("proc_rss_total", Kind.GAUGE, Unit.BYTES)
CPU = measurement("cgroup_cputime", Kind.COUNTER, Unit.SECONDS)
UTIL = measurement("nvml_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE)
THROTTLE = measurement("nvml_throttle", Kind.CATEGORICAL, Unit.NONE, Scope.DEVICE)
GPU_NAME = measurement("nvml_name", Kind.LABEL, Unit.NONE, Scope.DEVICE)
GPU_INDEX = measurement("nvml_index", Kind.LABEL, Unit.NONE, Scope.DEVICE)


def page_of(*readings: run_metrics.RunReadings, **limits: int) -> prometheus.Page:
    page = prometheus.Page(**limits)
    for one in readings:
        page.add_run(one)
    page.add(page.counts())
    return page


def values(page: prometheus.Page) -> dict[tuple[str, str], float]:
    """Read the page as Prometheus would: name and the labels that are no run's, value."""
    found = {}
    text = prometheus.render(page, openmetrics=False).decode()
    for family in parse_text(text):
        for sample in family.samples:
            rest = {
                k: v for k, v in sample.labels.items() if k not in ("run_id", "job_id", "project", "host")
            }
            found[sample.name, ",".join(f"{k}={v}" for k, v in sorted(rest.items()))] = sample.value
    return found


@pytest.mark.parametrize(
    ("definition", "name"),
    [
        (RSS, "jobmeter_proc_sum_rss_bytes"),
        (CPU, "jobmeter_cgroup_cputime_seconds_total"),
        (
            measurement("proc_cputime_total", Kind.COUNTER, Unit.SECONDS),
            "jobmeter_proc_sum_cputime_seconds_total",
        ),
        (measurement("wait_read_bytes", Kind.COUNTER, Unit.BYTES), "jobmeter_wait_read_bytes_total"),
        (measurement("cgroup_oom_kill", Kind.COUNTER, Unit.COUNT), "jobmeter_cgroup_oom_kill_total"),
        (UTIL, "jobmeter_nvml_util_percent"),
        (
            measurement("nvml_pcie_rx", Kind.GAUGE, Unit.BYTES_PER_SECOND),
            "jobmeter_nvml_pcie_rx_bytes_per_second",
        ),
        (THROTTLE, "jobmeter_nvml_throttle"),
        (measurement("proc_count", Kind.GAUGE, Unit.COUNT), "jobmeter_proc_processes"),
        (measurement("nvml_count", Kind.GAUGE, Unit.COUNT), "jobmeter_nvml_devices"),
        (GPU_NAME, "jobmeter_nvml_device_info"),
        (measurement("host_load", Kind.GAUGE, Unit.COUNT, Scope.HOST), "jobmeter_host_load"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_name_is_the_key_its_unit_and_total_for_counters(definition: Measurement, name: str) -> None:
    family = metric_names.family_of(definition)
    assert family is not None
    assert family.sample_name == name


@pytest.mark.parametrize(
    "key", ["", "x", "Proc_rss", "proc_rss{a}", "proc-rss", "proc_é", "_", "p_" + "x" * 200]
)
def test_a_key_that_is_none_has_no_family(key: str) -> None:
    assert metric_names.family_of(measurement(key, Kind.GAUGE)) is None


def test_series_of_single_processes_are_not_exported() -> None:
    assert metric_names.family_of(measurement("proc_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS)) is None


def test_no_two_measurements_share_a_name() -> None:
    known = {d.key: d for path in collectors.ALL.values() for d in import_module(path).MEASUREMENTS}
    known |= {one.key: one for one in fleet_keys.MEASUREMENTS}
    for path in formats.ALL.values():
        module = import_module(path)
        known |= {one.key: one for one in getattr(module, "MEASUREMENTS", ())}
    assert len(known) > 150
    assert metric_names.clashes(known.values()) == []


def test_the_dashboard_and_the_rules_use_names_that_exist() -> None:
    known = {d.key: d for path in collectors.ALL.values() for d in import_module(path).MEASUREMENTS}
    families = [metric_names.family_of(one) for one in known.values()]
    exist = {family.sample_name for family in families if family is not None}
    exist |= {family.sample_name for family in (*metric_families.OF_RUNS, *metric_families.OF_THE_SERVER)}
    text = json.dumps(grafana.dashboard()) + prometheus_rules.render()
    used = set(re.findall(r"jobmeter_[a-z0-9_]+", text))
    assert len(used) > 40
    assert used - exist == set()


def test_only_a_loss_is_drawn_below_zero() -> None:
    panels = json.loads(json.dumps(grafana.dashboard()))["panels"]
    below = [
        one["title"] for one in panels if "fieldConfig" in one and "min" not in one["fieldConfig"]["defaults"]
    ]
    assert below == ["Loss"]


def test_a_page_holds_gauges_totals_states_devices_and_steps() -> None:
    run = run_of(
        *(RSS, CPU, UTIL, THROTTLE, GPU_NAME, GPU_INDEX),
        name="tuning",
        user="ann",
        started_at=1794736201.0,
        limits=Limits(memory_bytes=2**30, cpus=2.0),
        headline={"cpu_seconds": Headline(value=12.5, low=12.5, high=12.5, keys=("k",), exact=True)},
    )
    page = page_of(
        run_metrics.RunReadings(
            run=run,
            values={
                ("proc_rss_total", ""): 4096,
                ("cgroup_cputime", ""): 12.25,
                ("nvml_util", "GPU-aa"): 97.5,
            },
            states={("nvml_throttle", "GPU-aa"): {"none": 9, "power": 1}},
            devices={"GPU-aa": {"nvml_name": "H200", "nvml_index": "3"}},
            steps=[
                run_metrics.RankSteps(rank=1, last_step=70, count=7, told_at=5.5, metrics={"train/loss": 0.5})
            ],
            measured_at=1794736260.0,
        )
    )
    assert values(page) == {
        ("jobmeter_run_info", "name=tuning,origin=jobmeter,program=python3,user=ann"): 1,
        ("jobmeter_run_state", "state=running"): 1,
        ("jobmeter_run_start_time_seconds", ""): 1794736201,
        ("jobmeter_run_last_sample_time_seconds", ""): 1794736260,
        ("jobmeter_run_memory_limit_bytes", ""): 2**30,
        ("jobmeter_run_cpu_limit_cores", ""): 2,
        ("jobmeter_run_cpu_seconds", ""): 12.5,
        ("jobmeter_proc_sum_rss_bytes", ""): 4096,
        ("jobmeter_cgroup_cputime_seconds_total", ""): 12.25,
        ("jobmeter_nvml_util_percent", "gpu=3"): 97.5,
        ("jobmeter_nvml_throttle", "gpu=3,state=none"): 9,
        ("jobmeter_nvml_throttle", "gpu=3,state=power"): 1,
        ("jobmeter_nvml_device_info", "gpu=3,name=H200,uuid=GPU-aa"): 1,
        ("jobmeter_step", "rank=1"): 70,
        ("jobmeter_step_rows_total", "rank=1"): 7,
        ("jobmeter_step_time_seconds", "rank=1"): 5.5,
        ("jobmeter_step_value", "metric=train/loss,rank=1"): 0.5,
        ("jobmeter_export_series", ""): 17,
        ("jobmeter_export_series_left_out", ""): 0,
        ("jobmeter_export_runs_left_out", ""): 0,
    }


def test_every_series_says_which_run_job_project_and_host_it_is_of() -> None:
    page = page_of(run_metrics.RunReadings(run=run_of(RSS), values={("proc_rss_total", ""): 1}))
    families = {f.name: f for f in parse_text(prometheus.render(page, openmetrics=False).decode())}
    assert families["jobmeter_proc_sum_rss_bytes"].samples[0].labels == {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "train-7",
        "project": "app",
        "host": "node7",
    }


def test_openmetrics_is_read_by_its_own_strict_parser() -> None:
    run = run_of(RSS, CPU, name='quote " slash \\ line\nend \ud800 é')
    page = page_of(
        run_metrics.RunReadings(
            run=run, values={("proc_rss_total", ""): math.nan, ("cgroup_cputime", ""): 0.1 + 0.2}
        )
    )
    text = prometheus.render(page, openmetrics=True).decode()
    found = {family.name: family for family in parse_openmetrics(text)}
    assert found["jobmeter_cgroup_cputime_seconds"].type == "counter"
    assert found["jobmeter_cgroup_cputime_seconds"].samples[0].value == 0.30000000000000004
    assert math.isnan(found["jobmeter_proc_sum_rss_bytes"].samples[0].value)
    assert found["jobmeter_run"].samples[0].labels["name"] == 'quote " slash \\ line\\nend \\ud800 é'


def test_gpus_with_the_same_number_on_two_hosts_keep_their_names() -> None:
    readings = run_metrics.RunReadings(
        run=run_of(UTIL, GPU_INDEX),
        values={("nvml_util", "GPU-aa"): 1, ("nvml_util", "GPU-bb"): 2},
        devices={"GPU-aa": {"nvml_index": "0"}, "GPU-bb": {"nvml_index": "0"}},
    )
    found = values(page_of(readings))
    assert found["jobmeter_nvml_util_percent", "gpu=GPU-aa"] == 1
    assert found["jobmeter_nvml_util_percent", "gpu=GPU-bb"] == 2


def test_what_does_not_fit_is_counted_not_shown() -> None:
    many = run_metrics.RunReadings(
        run=run_of(UTIL), values={("nvml_util", f"GPU-{number}"): number for number in range(50)}
    )
    other = run_metrics.RunReadings(run=run_of(run_id="20261115T095002Z-7f3a9c"))
    found = values(page_of(many, other, max_series=20))
    assert found["jobmeter_export_series", ""] == 20
    assert found["jobmeter_export_series_left_out", ""] == 34
    assert found["jobmeter_export_runs_left_out", ""] == 1


def test_one_run_cannot_take_the_room_of_all() -> None:
    loud = run_metrics.RunReadings(
        run=run_of(),
        steps=[run_metrics.RankSteps(rank=0, last_step=1, count=1, metrics={f"m{n}": n for n in range(100)})],
    )
    quiet = run_metrics.RunReadings(run=run_of(CPU, run_id="other-1"), values={("cgroup_cputime", ""): 3.0})
    page = page_of(loud, quiet, max_series_of_run=10)
    assert values(page)["jobmeter_cgroup_cputime_seconds_total", ""] == 3.0
    assert page.series_left_out == 94


def test_a_key_that_another_run_knows_as_another_kind_is_left_out() -> None:
    old = run_of(measurement("host_load", Kind.COUNTER, Unit.COUNT), run_id="old-1")
    new = run_of(measurement("host_load", Kind.GAUGE, Unit.COUNT))
    page = page_of(
        run_metrics.RunReadings(run=new, values={("host_load", ""): 1.5}),
        run_metrics.RunReadings(run=old, values={("host_load", ""): 7}),
    )
    assert values(page)["jobmeter_host_load", ""] == 1.5
    assert page.series_left_out == 1


def test_a_key_cannot_pass_for_a_family_of_our_own() -> None:
    forged = run_of(measurement("run_exit_code", Kind.GAUGE))
    assert metric_names.family_of(forged.definitions["run_exit_code"]) is not None
    page = page_of(run_metrics.RunReadings(run=forged, values={("run_exit_code", ""): 1}))
    assert ("jobmeter_run_exit_code", "") not in values(page)


def test_types_tell_what_their_names_end_in() -> None:
    assert {kind: metric_names.SUFFIXES[kind] for kind in Type} == {
        Type.GAUGE: "",
        Type.COUNTER: "_total",
        Type.INFO: "_info",
    }

"""GPUs in a plot: each device a line of its own, against what it has, by the most trusted tool."""

from dataclasses import replace

import pytest
from tests.support import views
from tests.support.views import GIB, define, gauge

from jobmeter.model.measurement import Kind, Scope, Unit
from jobmeter.model.panel import Limit, Panel, Role
from jobmeter.model.run import Provenance
from jobmeter.model.steps import StepSeries
from jobmeter.model.view import RunView, Series
from jobmeter.service import plotting
from jobmeter.service.plot_source import Metric, Told

UTIL = define("nvml_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE)
USED = define("nvml_mem_used", Kind.GAUGE, Unit.BYTES, Scope.DEVICE)
TOTAL = define("nvml_mem_total", Kind.GAUGE, Unit.BYTES, Scope.DEVICE)
OWN = define("nvml_proc_mem_total", Kind.GAUGE, Unit.BYTES)
POWER = define("nvml_power", Kind.GAUGE, Unit.WATTS, Scope.DEVICE)
POWER_LIMIT = define("nvml_power_limit", Kind.GAUGE, Unit.WATTS, Scope.DEVICE)
ALL = (UTIL, USED, TOTAL, OWN, POWER, POWER_LIMIT)


def device(name: str, used: float = 12.0) -> list[Series]:
    return [
        gauge("nvml_util", [(1, 90.0), (2, 100.0)], name),
        gauge("nvml_mem_used", [(1, 1.0 * GIB), (2, used * GIB)], name),
        gauge("nvml_mem_total", [(1, 140.0 * GIB), (2, 140.0 * GIB)], name),
        gauge("nvml_power", [(1, 120.0), (2, 646.0)], name),
        gauge("nvml_power_limit", [(1, 700.0), (2, 700.0)], name),
    ]


def series(name: str) -> StepSeries:
    times = (views.STARTED + 1, views.STARTED + 2)
    return StepSeries(metric=name, source="sdk", rank=0, steps=(1, 2), values=(2.0, 1.0), timestamps=times)


def panels(view: RunView, told: Told | None = None) -> dict[str, Panel]:
    return {made.name: made for made in plotting.describe(view, told=told or Told()).panels}


def test_a_run_without_a_gpu_has_no_panel_of_it_and_no_word_about_it() -> None:
    chart = plotting.describe(views.build_run())
    assert [made.name for made in chart.panels] == ["cpu", "memory", "io", "processes"]
    assert not any("GPU" in note for note in chart.notes)


def test_one_gpu_is_the_main_line_of_every_panel() -> None:
    found = panels(views.view(device("0"), ALL))
    assert list(found) == ["gpu", "gpu_memory", "gpu_power"]
    assert [(line.label, line.key, line.role) for line in found["gpu"].lines] == [
        ("GPU 0", "nvml_util", Role.MAIN)
    ]
    assert found["gpu"].lines[0].figure == "mean 95 %"
    assert found["gpu"].peaks == ()


def test_gpus_stand_between_the_loss_and_the_rate_of_learning() -> None:
    told = Told(metrics=tuple(Metric(name, series(name)) for name in ("loss", "tokens_per_second", "lr")))
    found = panels(views.view(device("0"), ALL), told)
    assert list(found) == ["loss", "throughput", "gpu", "gpu_memory", "gpu_power", "learning_rate"]


def test_the_axis_of_utilisation_is_always_the_whole() -> None:
    idle = [gauge("nvml_util", [(1, 1.0), (2, 3.0)], "0")]
    assert panels(views.view(idle, ALL))["gpu"].top == 100.0


def test_gpu_memory_stands_under_all_that_the_gpu_has() -> None:
    made = panels(views.view(device("0"), ALL))["gpu_memory"]
    assert made.limits == (Limit(label="all of a GPU", value=140.0 * GIB),)
    assert made.top == 140.0 * GIB
    assert [(peak.value, peak.seconds) for peak in made.peaks] == [(12.0 * GIB, 2.0)]


def test_what_the_job_s_processes_hold_stands_beside_a_single_gpu() -> None:
    own = gauge("nvml_proc_mem_total", [(1, 0.5 * GIB), (2, 11.0 * GIB)])
    made = panels(views.view([*device("0"), own], ALL))["gpu_memory"]
    assert [line.label for line in made.lines] == ["GPU 0", "of the job's processes"]
    several = panels(views.view([*device("0"), *device("1"), own], ALL))["gpu_memory"]
    assert [line.label for line in several.lines] == ["GPU 0", "GPU 1"]


def test_the_fullest_of_several_gpus_leads_and_is_named_at_its_peak() -> None:
    made = panels(views.view([*device("0"), *device("1", used=70.0)], ALL))["gpu_memory"]
    assert [line.role for line in made.lines] == [Role.OTHER, Role.MAIN]
    assert [(peak.label, peak.value) for peak in made.peaks] == [("GPU 1 peak", 70.0 * GIB)]


def test_a_power_limit_is_drawn() -> None:
    made = panels(views.view(device("0"), ALL))["gpu_power"]
    assert (made.limits[0].value, made.top) == (700.0, 700.0)


def test_gpus_are_called_by_their_number_and_ordered_as_people_count() -> None:
    names = {f"GPU-aaaa{n}": str(n) for n in (10, 2)}
    series = [one for name in names for one in device(name)]
    made = panels(views.view(series, ALL), Told(devices=names))["gpu"]
    assert [line.label for line in made.lines] == ["GPU 2", "GPU 10"]


def test_a_gpu_without_a_number_is_called_by_its_name_cut_short() -> None:
    series = device("GPU-11111111-2222-3333-4444-555555555555")
    assert panels(views.view(series, ALL))["gpu"].lines[0].label == "GPU-11111111-222…"


def test_more_gpus_than_colours_are_pale_behind_the_first() -> None:
    series = [one for n in range(16) for one in device(str(n))]
    made = panels(views.view(series, ALL))["gpu"]
    assert [line.role for line in made.lines] == [Role.MAIN, *[Role.PEER] * 15]
    assert made.peers == "15 other GPUs"


@pytest.mark.parametrize("tool", ["nvsmi", "rocm", "dcgm", "apple"])
def test_other_tools_are_drawn_where_nvml_did_not_measure(tool: str) -> None:
    util = define(f"{tool}_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE)
    made = panels(views.view([gauge(util.key, [(1, 5.0), (2, 7.0)], "0")], (util,)))
    assert made["gpu"].lines[0].key == util.key


def test_one_gpu_by_two_tools_is_drawn_once() -> None:
    other = define("nvsmi_util", Kind.GAUGE, Unit.PERCENT, Scope.DEVICE)
    series = [*device("GPU-1"), gauge("nvsmi_util", [(1, 5.0), (2, 7.0)], "0")]
    assert [line.key for line in panels(views.view(series, (*ALL, other)))["gpu"].lines] == ["nvml_util"]


def test_a_gpu_that_was_not_read_for_long_has_a_gap() -> None:
    points = [(float(n), 90.0) for n in (*range(1, 20), *range(60, 80))]
    view = views.view([gauge("nvml_util", points, "0")], ALL, wall_seconds=80.0)
    assert None in panels(view)["gpu"].lines[0].values


def test_the_log_of_a_monitor_says_once_what_it_did_not_measure() -> None:
    view = views.view(device("0"), ALL, provenance=Provenance(origin="nvidia_smi_csv"))
    assert plotting.describe(view).notes == (
        "not measured by nvidia_smi_csv: CPU, memory, IO, processes, pressure, CPU by command, memory by command",
    )


def test_any_key_of_a_device_can_be_asked_for() -> None:
    told = Told(devices={"GPU-a": "1", "GPU-b": "0"})
    view = views.view([*device("GPU-a"), *device("GPU-b")], ALL)
    chart = plotting.describe(view, keys=("nvml_util",), told=told)
    assert [line.label for line in chart.panels[0].lines] == ["GPU 0", "GPU 1"]


def test_eight_gpus_asked_for_are_all_shown() -> None:
    view = views.view([one for n in range(8) for one in device(str(n))], ALL)
    chart = plotting.describe(view, keys=("nvml_util",))
    assert len(chart.panels[0].lines) == 8
    assert chart.notes == ()


def test_a_number_that_is_not_finite_is_no_limit() -> None:
    odd = [replace(one, values=(float("nan"), float("inf"))) for one in device("0") if "total" in one.key]
    series = [*[one for one in device("0") if "total" not in one.key], *odd]
    assert panels(views.view(series, ALL))["gpu_memory"].limits == ()

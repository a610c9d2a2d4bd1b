"""GPUs that wait, that are busy, hot, shared or full."""

from dataclasses import replace

import numpy as np
import pytest

from jobmeter.analysis import gpus
from jobmeter.analysis.detectors import (
    gpu_bound,
    gpu_memory_near_limit,
    gpu_neighbour,
    gpu_starved,
    gpu_throttled,
)
from jobmeter.model import roles
from jobmeter.model.report import Finding, LogError, Severity
from jobmeter.model.run import Headline, Limits
from jobmeter.model.steps import Steps
from jobmeter.model.view import Process, RunView, Series
from support import curves, views

GIB = curves.GIB
UUID = "GPU-3fa9c1d2-0000"


def gpu(quantity: str, values: curves.Values, instance: str = UUID) -> Series:
    return curves.gauge(f"nvml_{quantity}", values, instance=instance)


def process(number: int, role: str | None, cpu_seconds: float | None, last: float = 100.0) -> Process:
    return replace(
        views.process(f"{number}@1", "python train.py", last=last), role=role, cpu_seconds=cpu_seconds
    )


def one(found: object) -> Finding:
    [finding] = list(found)  # type: ignore[call-overload]  # detectors give iterables
    assert isinstance(finding, Finding)
    return finding


def cpu_headline(seconds: float) -> dict[str, Headline]:
    return {
        "cpu_seconds": Headline(
            value=seconds, low=seconds, high=seconds, keys=("cgroup_cputime",), exact=True
        )
    }


# devices


def test_devices_are_named_as_people_know_them() -> None:
    view = curves.run(
        gpu("util", [1.0]), gpu("mem_used", [1.0], "0"), curves.gauge("nvsmi_util", [1.0], instance="9")
    )
    assert [device.label for device in gpus.devices(view)] == ["GPU 0", "GPU-3fa9c1d2"]
    assert gpus.devices(curves.run()) == []


# gpu_bound


def test_a_gpu_that_is_always_busy_is_what_limits_the_job() -> None:
    found = one(gpu_bound.detect(curves.run(gpu("util", [0.0] * 50 + [97.0] * 60 + [0.0] * 5))))
    assert found.severity is Severity.INFO
    assert found.figures == {"gpu_util_percent": 97.0, "gpu_count": 1}
    assert found.sentence.startswith("the GPU was busy 97 % of the time it worked")


@pytest.mark.parametrize(
    "view",
    [
        curves.run(gpu("util", [97.0] * 20)),
        curves.run(gpu("util", [50.0] * 60)),
        curves.run(gpu("util", [0.0] * 60)),
        curves.run(gpu("mem_used", [1.0] * 60)),
        curves.run(),
    ],
    ids=["short", "half", "idle", "not measured", "none"],
)
def test_no_gpu_is_what_limits_these(view: RunView) -> None:
    assert list(gpu_bound.detect(view)) == []


# gpu_starved

LOW = gpu("util", [30.0] * 60)
STEPS = curves.training(np.arange(1, 61), loss=np.ones(60))


def waiting(data: float, step: float | None = 1.0) -> Steps:
    told = {"data_time": np.full(60, data)} | ({} if step is None else {"step_time": np.full(60, step)})
    return curves.training(np.arange(1, 61), **told)


def test_a_gpu_whose_training_says_that_it_waits_is_starved() -> None:
    found = one(gpu_starved.detect(curves.run(LOW, steps=waiting(0.6))))
    assert found.severity is Severity.WARNING
    assert found.figures == {"gpu_util_percent": 30.0, "workers": 0, "data_ratio": 0.6}
    assert found.sentence == (
        "the GPU was busy 30 % of the time it worked and waits for the host: a step waits 60 % of its time for data"
    )


def test_the_time_between_steps_stands_in_for_their_length() -> None:
    assert one(gpu_starved.detect(curves.run(LOW, steps=waiting(0.5, None)))).figures["data_ratio"] == 0.5


def test_a_training_that_does_not_wait_is_not_starved_whatever_its_workers_do() -> None:
    workers = [process(1, roles.WORKER, 99.0)]
    assert list(gpu_starved.detect(curves.run(LOW, steps=waiting(0.01), processes=workers))) == []
    assert list(gpu_starved.detect(curves.run(steps=waiting(0.01), processes=workers))) == []


def test_workers_at_full_load_starve_a_gpu() -> None:
    processes = [process(1, roles.MAIN, 20.0), process(2, roles.WORKER, 97.0), process(3, roles.WORKER, 95.0)]
    found = one(gpu_starved.detect(curves.run(LOW, processes=processes)))
    assert found.figures == {"gpu_util_percent": 30.0, "workers": 2, "worker_cores": 0.96, "main_cores": 0.2}
    assert "2 workers use 0.96 cores each" in found.sentence


def test_a_gpu_that_never_looks_busy_while_steps_go_on_is_starved() -> None:
    idle, workers = gpu("util", np.zeros(100)), [process(2, roles.WORKER, 97.0)]
    headline = {
        "gpu_memory_peak_bytes": Headline(value=1.0, low=1.0, high=1.0, keys=("nvml_proc_mem",), exact=False)
    }
    steps = curves.training(np.arange(1, 61), loss=np.full(60, 1.0))
    found = one(gpu_starved.detect(curves.run(idle, steps=steps, processes=workers, headline=headline)))
    assert found.figures == {"gpu_util_percent": 0.0, "workers": 1, "worker_cores": 0.97}
    assert list(gpu_starved.detect(curves.run(idle, steps=steps, processes=workers))) == []
    elsewhere = curves.run(steps=steps, processes=workers, headline=headline)
    assert list(gpu_starved.detect(elsewhere)) == []
    short = curves.training(np.arange(1, 9), loss=np.full(8, 1.0))
    assert list(gpu_starved.detect(curves.run(idle, steps=short, processes=workers, headline=headline))) == []


def test_the_load_of_a_worker_counts_from_its_start_not_from_when_it_was_first_seen() -> None:
    began = curves.run().run.started_at
    assert began is not None
    main, late = process(1, roles.MAIN, 5.0), process(2, roles.WORKER, 60.0)
    seen = replace(late, instance="2@1001", first_seen=began + 40.0, last_seen=began + 70.0)
    view = curves.run(LOW, processes=[main, seen])
    assert one(gpu_starved.detect(view)).figures["worker_cores"] == 1.0
    nameless = replace(seen, instance="2", cpu_seconds=30.0)
    assert one(gpu_starved.detect(curves.run(LOW, processes=[main, nameless]))).figures["worker_cores"] == 1.0


def test_workers_that_share_too_few_cores_are_at_full_load() -> None:
    processes = [process(number, roles.WORKER, 45.0) for number in range(2, 6)]
    facts = {"limits": Limits(cpus=2.0), "headline": cpu_headline(190.0), "wall_seconds": 100.0}
    found = one(gpu_starved.detect(curves.run(LOW, processes=processes, **facts)))
    assert [evidence.sentence for evidence in found.evidence] == [
        "4 workers use 0.45 cores each",
        "the job uses 1.9 of the 2 cores it may use",
    ]


def test_workers_of_later_epochs_do_not_work_beside_those_of_earlier_ones() -> None:
    began = curves.run().run.started_at
    assert began is not None
    crews = [
        replace(
            process(pid, roles.WORKER, 3.0),
            instance=f"{pid}@{1000 * epoch}",
            first_seen=began + 10 * epoch,
            last_seen=began + 10 * epoch + 10,
        )
        for epoch in range(10)
        for pid in (2 * epoch, 2 * epoch + 1)
    ]
    facts = {"limits": Limits(cpus=4.0)}
    assert list(gpu_starved.detect(curves.run(LOW, processes=crews, **facts))) == []
    busy = [replace(one, cpu_seconds=9.7) for one in crews]
    found = one(gpu_starved.detect(curves.run(LOW, processes=busy, **facts)))
    assert "2 workers use 0.97 cores each" in found.sentence


def test_workers_that_wait_for_their_turn_on_a_full_machine_are_at_full_load() -> None:
    processes = [process(1, roles.MAIN, 5.0), process(2, roles.WORKER, 35.0)]
    waits = curves.rate("cgroup_cpu_pressure", [0.6] * 100)
    found = one(gpu_starved.detect(curves.run(waits, steps=STEPS, processes=processes)))
    assert "1 worker uses 0.35 cores and a task waited for a CPU 60 % of the time" in found.sentence
    assert list(gpu_starved.detect(curves.run(steps=STEPS, processes=processes))) == []
    unknown = curves.gauge("cgroup_cpu_pressure", [0.6] * 100)
    assert list(gpu_starved.detect(curves.run(unknown, steps=STEPS, processes=processes))) == []


def test_a_main_process_without_workers_starves_a_gpu_itself() -> None:
    found = one(gpu_starved.detect(curves.run(LOW, processes=[process(1, roles.MAIN, 99.0)])))
    assert "the main process uses 0.99 cores and has no workers" in found.sentence


def test_a_gpu_that_is_idle_for_no_known_reason_is_silent() -> None:
    assert list(gpu_starved.detect(curves.run(LOW))) == []
    idle = [process(1, roles.MAIN, 10.0), process(2, roles.WORKER, 10.0), process(3, None, 90.0)]
    assert list(gpu_starved.detect(curves.run(LOW, processes=idle))) == []
    assert list(gpu_starved.detect(curves.run(LOW, processes=[process(1, roles.MAIN, 10.0)]))) == []
    unmeasured = [process(1, roles.MAIN, None), process(2, roles.WORKER, 2.0, last=2.0)]
    assert list(gpu_starved.detect(curves.run(LOW, processes=unmeasured))) == []


def test_a_busy_gpu_is_not_starved() -> None:
    busy = curves.run(gpu("util", [80.0] * 60), steps=waiting(0.6))
    assert list(gpu_starved.detect(busy)) == []


def test_without_a_gpu_the_main_process_waits_while_its_workers_work() -> None:
    processes = [process(1, roles.MAIN, 20.0), process(2, roles.WORKER, 97.0)]
    found = one(gpu_starved.detect(curves.run(steps=STEPS, processes=processes)))
    assert found.sentence == (
        "the training waits for its data: 1 worker uses 0.97 cores; the main process uses 0.2 cores meanwhile"
    )
    assert one(gpu_starved.detect(curves.run(steps=waiting(0.4)))).key == "data_time"


def test_without_a_gpu_workers_that_compute_are_no_loaders() -> None:
    pool = [process(1, roles.MAIN, 2.0), process(2, roles.WORKER, 97.0)]
    assert list(gpu_starved.detect(curves.run(processes=pool))) == []
    busy = [process(1, roles.MAIN, 90.0), process(2, roles.WORKER, 97.0)]
    assert list(gpu_starved.detect(curves.run(steps=STEPS, processes=busy))) == []
    assert list(gpu_starved.detect(curves.run(steps=STEPS))) == []


def test_times_that_make_no_sense_say_nothing() -> None:
    assert list(gpu_starved.detect(curves.run(LOW, steps=waiting(-1.0)))) == []
    assert list(gpu_starved.detect(curves.run(LOW, steps=waiting(0.5, 0.0)))) == []
    undated = replace(waiting(0.9, None).tables[0], timestamps=None)
    assert list(gpu_starved.detect(curves.run(LOW, steps=Steps((undated,))))) == []
    few = curves.training(np.arange(1, 10), data_time=np.full(9, 0.9))
    assert list(gpu_starved.detect(curves.run(LOW, steps=few))) == []


# gpu_memory_near_limit


def held(peak: float, total: float = 100.0, **facts: object) -> RunView:
    return curves.run(gpu("mem_used", [10 * GIB, peak * GIB]), gpu("mem_total", [total * GIB]), **facts)


def test_a_gpu_that_is_nearly_full_is_told() -> None:
    found = one(gpu_memory_near_limit.detect(held(96)))
    assert found.severity is Severity.WARNING
    assert found.figures["ratio"] == 0.96
    assert found.sentence.startswith("96 GiB of the 100 GiB of GPU-3fa9c1d2 were in use, 96 %")
    assert one(gpu_memory_near_limit.detect(held(90))).severity is Severity.INFO
    assert list(gpu_memory_near_limit.detect(held(80))) == []


def test_a_full_gpu_is_critical_where_an_allocation_failed() -> None:
    error = LogError(
        level="ERROR", type="OutOfMemoryError", message="CUDA out of memory", signature="cuda_oom"
    )
    view = replace(held(90), log_errors=(error,))
    assert one(gpu_memory_near_limit.detect(view)).severity is Severity.CRITICAL


def test_a_gpu_of_unknown_size_is_silent() -> None:
    assert list(gpu_memory_near_limit.detect(curves.run(gpu("mem_used", [10 * GIB])))) == []
    assert list(gpu_memory_near_limit.detect(curves.run(gpu("util", [10.0])))) == []
    assert list(gpu_memory_near_limit.detect(held(90, total=0.0))) == []
    assert list(gpu_memory_near_limit.detect(held(90, total=5e-324))) == []


# gpu_neighbour


def shared(used: curves.Values, own: curves.Values) -> RunView:
    total, mine = (
        curves.gauge(key, values)
        for key, values in (("nvml_mem_used_total", used), ("nvml_proc_mem_total", own))
    )
    return curves.run(total, mine)


def test_somebody_else_on_the_gpu_is_told() -> None:
    found = one(gpu_neighbour.detect(shared([30.0 * GIB] * 10, [10.0 * GIB] * 10)))
    assert found.severity is Severity.WARNING
    assert found.figures == {"other_bytes": 20 * GIB, "used_bytes": 30 * GIB}
    assert found.sentence == "others held 20 GiB on the job's GPUs, of 30 GiB in use"


def test_a_small_neighbour_is_worth_a_word_and_one_that_left_nothing() -> None:
    assert one(gpu_neighbour.detect(shared([30.0 * GIB] * 10, [28.0 * GIB] * 10))).severity is Severity.INFO
    assert list(gpu_neighbour.detect(shared([10.4 * GIB] * 10, [10.0 * GIB] * 10))) == []
    assert list(gpu_neighbour.detect(shared([30.0 * GIB] * 3 + [10.0 * GIB] * 7, [10.0 * GIB] * 10))) == []


def test_what_the_driver_of_every_gpu_keeps_is_nobody() -> None:
    each = [curves.gauge("nvml_mem_used", [10.6 * GIB] * 10, instance=f"GPU-{place}") for place in range(8)]
    kept, mine = 84.8 * GIB, 80.0 * GIB
    total = curves.gauge("nvml_mem_used_total", [kept] * 10)
    own = curves.gauge("nvml_proc_mem_total", [mine] * 10)
    assert list(gpu_neighbour.detect(curves.run(*each, total, own))) == []
    assert len(list(gpu_neighbour.detect(curves.run(total, own)))) == 1


def test_readings_of_other_times_are_not_compared() -> None:
    late = views.gauge("nvml_proc_mem_total", [(100, GIB), (101, GIB)])
    view = curves.run(curves.gauge("nvml_mem_used_total", [30.0 * GIB] * 10), late)
    assert list(gpu_neighbour.detect(view)) == []


def test_a_failed_allocation_tells_of_others() -> None:
    error = LogError(
        level="ERROR",
        type="OutOfMemoryError",
        message="CUDA out of memory. Process 12 has 5.00 GiB memory in use.\nmore",
        signature="cuda_oom",
        fields={"other_process_bytes": 5 * GIB},
        stream="stderr",
    )
    found = one(gpu_neighbour.detect(replace(curves.run(), log_errors=(error,))))
    assert found.sentence == "other processes held 5 GiB on the GPU when an allocation failed"
    assert found.evidence[0].quote == "CUDA out of memory. Process 12 has 5.00 GiB memory in use."
    silent = replace(error, fields={"other_process_bytes": "?"})
    assert list(gpu_neighbour.detect(replace(curves.run(), log_errors=(silent,)))) == []


# gpu_throttled

BUSY = gpu("util", [95.0] * 60)
SLOWER = gpu("sm_clock", [1.98e9] * 30 + [1.4e9] * 30)


def test_a_gpu_that_is_slowed_by_heat_is_told() -> None:
    found = one(gpu_throttled.detect(curves.run(BUSY, SLOWER, gpu("temp", [70.0] * 30 + [86.0] * 30))))
    assert found.severity is Severity.WARNING
    assert found.figures == {"reason": "thermal", "throttled_ratio": 0.5}
    assert found.sentence == (
        "GPU-3fa9c1d2 was slowed down for 50 % of the time it worked: it reached 86 °C, its clock at 1400 of 1980 MHz"
    )


def test_a_gpu_that_is_slowed_by_its_power_limit_is_told() -> None:
    power = (gpu("power", [500.0] * 30 + [699.0] * 30), gpu("power_limit", [700.0]))
    found = one(gpu_throttled.detect(curves.run(BUSY, SLOWER, *power)))
    assert found.figures["reason"] == "power"
    assert "it drew 100 % of the power it may" in found.sentence


def test_a_very_hot_gpu_needs_no_clock_to_be_told() -> None:
    found = one(gpu_throttled.detect(curves.run(BUSY, gpu("temp", [93.0] * 60))))
    assert found.sentence.endswith("it reached 93 °C")


@pytest.mark.parametrize(
    "series",
    [
        (BUSY,),
        (BUSY, SLOWER),
        (BUSY, SLOWER, gpu("temp", [60.0] * 60)),
        (BUSY, gpu("temp", [86.0] * 60)),
        (BUSY, gpu("sm_clock", [1.9e9] * 60), gpu("power", [699.0] * 60), gpu("power_limit", [700.0])),
        (BUSY, SLOWER, gpu("power", [400.0] * 60), gpu("power_limit", [700.0])),
        (BUSY, gpu("power", [699.0] * 60), gpu("power_limit", [700.0])),
        (BUSY, SLOWER, gpu("power", [699.0] * 60), gpu("power_limit", [0.0])),
        (gpu("util", [95.0] * 10), SLOWER, gpu("temp", [95.0] * 60)),
        (gpu("util", [10.0] * 60), SLOWER, gpu("temp", [95.0] * 60)),
    ],
    ids=[
        "nothing",
        "clock",
        "cool",
        "warm",
        "well used",
        "by itself",
        "no clock",
        "no limit",
        "short",
        "idle",
    ],
)
def test_not_slowed(series: tuple[Series, ...]) -> None:
    assert list(gpu_throttled.detect(curves.run(*series))) == []

"""NVML through the real helper process and a real library with its interface, compiled here: see support/nvml.py."""

import time
from collections.abc import Callable
from pathlib import Path

from jobmeter.collectors import nvml
from jobmeter.model.breaker import Breaker
from jobmeter.probes import nvidiafiles
from support.gpus import GPU, Readings, has, in_state, read_until
from support.nvml import StandIn

OTHER = "GPU-99999999-2222-3333-4444-555555555555"
MIG = "MIG-aaaaaaaa-2222-3333-4444-555555555555"
SECOND_DEVICE = {
    "Count": 2,
    "UUID.1": OTHER,
    "Name.1": "NVIDIA H200",
    "Util.1": 3,
    "MemUsed.1": 1 << 30,
    "MemTotal.1": 140 << 30,
    "Processes.1": "",
}


def test_a_device_of_the_job_is_read_in_base_units(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    pid = started(CUDA_VISIBLE_DEVICES="0")
    gpus.update({"Processes.0": f"{pid}=4294967296"})
    source, _, _ = attach(pid)
    seen: Readings = {}
    read_until(source, lambda found: seen.update(found) or ("nvml_pcie_tx", GPU) in seen)  # type: ignore[func-returns-value]
    of_gpu = {key: value for (key, instance), value in seen.items() if instance == GPU}
    assert of_gpu == {
        "nvml_util": 87,
        "nvml_mem_util": 41,
        "nvml_mem_used": 68719476736,
        "nvml_mem_total": 150323855360,
        "nvml_power": 512.5,
        "nvml_power_limit": 700.0,
        "nvml_energy": 1000.0,
        "nvml_temp": 61,
        "nvml_sm_clock": 1980000000,
        "nvml_mem_clock": 3201000000,
        "nvml_throttle": "sw_power_cap",
        "nvml_pstate": "P0",
        "nvml_pcie_rx": 3000000,
        "nvml_pcie_tx": 2000000,
        "nvml_ecc_corrected": 2,
        "nvml_ecc_uncorrected": 0,
        "nvml_xid": 0,
        "nvml_name": "NVIDIA H200",
        "nvml_index": "0",
    }
    assert seen["nvml_mem_used_total", ""] == 68719476736
    assert seen["nvml_power_total", ""] == 512.5
    assert seen["nvml_count", ""] == 1
    assert seen["nvml_proc_mem_total", ""] == 4294967296
    assert source.doubts() == {}


def test_what_a_device_does_not_support_is_absent_and_not_zero(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({"Util.0": None, "PowerUsage.0": "error 3", "TotalEnergyConsumption.0": "error 3"})
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    found = read_until(source, has(("nvml_mem_used", GPU), ("nvml_pcie_tx", GPU)))
    keys = {key for key, _ in found}
    assert (
        keys
        & {"nvml_util", "nvml_power", "nvml_energy", "nvml_energy_estimate", "nvml_fan", "nvml_power_total"}
        == set()
    )


def test_without_a_counter_energy_is_power_over_time_under_its_own_key(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({"TotalEnergyConsumption.0": "error 3", "PowerUsage.0": 100_000})
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    first = read_until(source, has(("nvml_energy_estimate", GPU)))["nvml_energy_estimate", GPU]
    began = time.monotonic()
    read_until(
        source, lambda found: float(str(found.get(("nvml_energy_estimate", GPU), 0))) > 10 + float(str(first))
    )
    assert (time.monotonic() - began) > 0.05  # 10 J at 100 W take 100 ms, less the step that was on its way


def test_a_device_is_the_jobs_from_the_moment_a_process_of_it_is_there(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    pid = started()
    source, helper, _ = attach(pid)
    assert read_until(source, in_state(helper, "closed")) == {}
    gpus.update({"Processes.0": f"{pid}=1024"})
    assert read_until(source, has(("nvml_util", GPU)))["nvml_proc_mem_total", ""] == 1024


def test_the_other_devices_of_the_machine_are_left_alone(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update(SECOND_DEVICE)
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="1"))
    found = read_until(source, has(("nvml_util", OTHER)))
    assert {instance for _, instance in found} == {OTHER, ""}


def test_all_devices_are_recorded_when_asked_for(gpus: StandIn, attach: Callable, started: Callable) -> None:
    gpus.update(SECOND_DEVICE)
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES=""), gpus_option="all")
    found = read_until(source, has(("nvml_util", GPU), ("nvml_util", OTHER)))
    assert found["nvml_mem_used_total", ""] == 69793218560


def test_an_empty_list_of_devices_means_none(gpus: StandIn, attach: Callable, started: Callable) -> None:
    source, helper, _ = attach(started(CUDA_VISIBLE_DEVICES="-1"))
    read_until(source, in_state(helper, "closed"))
    assert all(source.read() == [] for _ in range(5))


def test_a_mig_instance_knows_its_memory_and_nothing_of_the_whole_gpu(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update(
        {
            "MigMode.0": 1,
            "MaxMigDeviceCount.0": 7,
            "UUID.4": MIG,
            "Name.4": "NVIDIA H200 MIG 1g.18gb",
            "MemUsed.4": 2 << 30,
            "MemTotal.4": 16 << 30,
            "Processes.4": "",
        }
    )
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES=MIG))
    found = read_until(source, has(("nvml_mem_used", MIG)))
    assert {key: value for (key, instance), value in found.items() if instance == MIG} == {
        "nvml_name": "NVIDIA H200 MIG 1g.18gb",
        "nvml_index": "0:0",
        "nvml_mem_used": 2147483648,
        "nvml_mem_total": 17179869184,
    }


def test_a_device_that_fell_off_the_bus_does_not_cost_the_others(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({**SECOND_DEVICE, "Util.0": "error 15", "MemUsed.0": "error 15"})
    source, helper, _ = attach(started(CUDA_VISIBLE_DEVICES="0,1"))
    found = read_until(source, has(("nvml_util", OTHER)))
    assert ("nvml_util", GPU) not in found
    assert ("nvml_mem_used_total", "") not in found
    events = source.tell()
    assert (
        "source_failed",
        {"source": "nvml", "error": "NVML: GPU is lost", "device": "0 NVIDIA H200"},
    ) in events
    assert helper.state is Breaker.CLOSED


def test_a_critical_error_of_the_driver_is_an_event_and_a_count(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    read_until(source, has(("nvml_util", GPU), ("nvml_xid", GPU)))
    gpus.update({"Xid.0": 79})
    assert read_until(source, has(("nvml_xid", GPU)))["nvml_xid", GPU] == 1
    assert ("gpu_error", {"device": "0 NVIDIA H200", "xid": 79}) in source.tell()


def test_errors_that_are_not_heard_any_more_are_absent_and_not_none(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    read_until(source, has(("nvml_util", GPU), ("nvml_xid", GPU)))
    assert "nvml_xid" not in source.doubts()
    gpus.update({"Xid.0": "error 15"})
    read_until(source, lambda _: "nvml_xid" in source.doubts())
    failed = {
        "source": "nvml",
        "error": "critical errors of the driver are not heard any more (NVML error 15)",
        "device": "0 NVIDIA H200",
    }
    assert ("source_failed", failed) in source.tell()
    for _ in range(3):
        assert ("nvml_xid", GPU) not in read_until(source, has(("nvml_util", GPU)))


def test_somebody_else_on_the_device_makes_its_figures_doubtful(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    pid, other = started(CUDA_VISIBLE_DEVICES="0"), started()
    gpus.update({"Processes.0": f"{pid}=1024,{other}=4096"})
    source, _, _ = attach(pid)
    read_until(source, lambda _: "nvml_energy" in source.doubts())
    found = read_until(source, has(("nvml_proc_mem_total", "")))
    assert found["nvml_proc_mem_total", ""] == 1024


def test_pids_of_another_namespace_are_not_taken_for_ours(
    gpus: StandIn, attach: Callable, started: Callable
) -> None:
    gpus.update({"Processes.0": "4194000=1024"})
    source, _, _ = attach(started(CUDA_VISIBLE_DEVICES="0"))
    read_until(source, lambda _: "nvml_proc_mem" in source.doubts())
    assert not [key for key, _, _ in source.read() if key.startswith("nvml_proc")]


def test_no_driver_is_a_reason_and_a_driver_is_looked_for_without_waking_it(
    gpus: StandIn, tmp_path: Path
) -> None:
    from jobmeter.probes.paths import Paths

    assert nvml.missing(Paths(proc=str(tmp_path), dev=str(tmp_path))) == "no NVIDIA GPU"
    assert nvidiafiles.present(gpus.paths)

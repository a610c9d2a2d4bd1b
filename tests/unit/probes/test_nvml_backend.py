"""NVML's answers through nvidia-ml-py, one call at a time, in a process that loads the library compiled here."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from jobmeter.probes import nvml
from support.nvml import H200, StandIn

GPU = "GPU-11111111-2222-3333-4444-555555555555"
ASK = """
import json
from jobmeter.probes.nvml import Backend
backend = Backend()
found = {"devices": backend.devices()}
for uuid, *_ in backend.devices():
    found[uuid] = [backend.fast(uuid), list(backend.slow(uuid)), backend.processes(uuid), backend.processes(uuid)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    return StandIn(tmp_path_factory.mktemp("nvml"))


def ask(library: StandIn, **answers: object) -> "subprocess.CompletedProcess[str]":
    library.clear()
    library.update({**H200, **{name.replace("__", "."): value for name, value in answers.items()}})
    environment = os.environ | library.environment
    return subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=False
    )


def told(library: StandIn, **answers: object) -> dict[str, Any]:
    ran = ask(library, **answers)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_every_call_is_in_base_units(library: StandIn) -> None:
    found = told(library, Processes__0="77=1024,78", ProcessUtil__0="77=40", FanSpeed__0=30)
    fast, slow, _, processes = found[GPU]
    assert found["devices"] == [[GPU, "0", "", "", "NVIDIA H200"]]
    assert fast == {
        "mem_used": 68719476736,
        "mem_total": 150323855360,
        "util": 87,
        "mem_util": 41,
        "temp": 61,
        "power": 512.5,
    }
    assert slow == [
        {"energy": 1000.0},
        {
            "throttle": "sw_power_cap",
            "pstate": "P0",
            "sm_clock": 1980000000,
            "mem_clock": 3201000000,
            "power_limit": 700.0,
            "fan": 30,
        },
        {"ecc_corrected": 2, "ecc_uncorrected": 0},
        {"pcie_rx": 3000000},
        {"pcie_tx": 2000000},
    ]
    # the memory of 78 is not available; the shares of the first look belong to the time before it
    assert processes == {"77": [1024, 40.0], "78": [None, None]}


def test_a_lost_device_does_not_hide_the_others(library: StandIn) -> None:
    found = told(
        library, Count=2, Lost__0=1, UUID__1="GPU-2", Name__1="NVIDIA H200", MemUsed__1=1, MemTotal__1=2
    )
    assert [device[0] for device in found["devices"]] == ["GPU-2"]
    assert found["GPU-2"][0] == {"mem_used": 1, "mem_total": 2}


@pytest.mark.parametrize("answer", ["Name__0", "MigMode__0"])
def test_a_device_that_cannot_say_what_it_is_does_not_hide_the_others(library: StandIn, answer: str) -> None:
    found = told(library, Count=2, UUID__1="GPU-2", MemUsed__1=1, MemTotal__1=2, **{answer: "error 15"})
    assert [device[0] for device in found["devices"]] == ["GPU-2"]


def test_an_error_of_the_driver_is_an_os_error_with_its_words(library: StandIn) -> None:
    ran = ask(library, PowerUsage__0="error 15")
    assert ran.returncode == 1
    assert ran.stderr.endswith("OSError: NVML: GPU is lost\n")


@pytest.mark.parametrize(
    ("mask", "text"),
    [(0, "none"), (1, "idle"), (4, "sw_power_cap"), (0x48, "hw_slowdown+hw_thermal"), (1 << 40, "bit40")],
)
def test_reasons_for_low_clocks_have_names(mask: int, text: str) -> None:
    assert nvml.throttle_text(mask) == text

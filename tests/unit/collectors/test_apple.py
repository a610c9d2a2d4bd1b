"""An Apple GPU by real programs named `ioreg` and `powermetrics` that print recorded captures. Never seen on a Mac."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmeter.collectors import apple
from jobmeter.probes import appletext
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob

KEYS = frozenset(m.key for m in apple.MEASUREMENTS)
IOREG = """+-o AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x1000004f5, registered, matched, active, busy 0 (15 ms), retain 60>
    {
      "IOReportLegend" = ({"IOReportChannels"=((1,2,"Device Utilization %"),(3,4,"In use system memory"))})
      "model" = "Apple M1 Max"
      "gpu-core-count" = 32
      "PerformanceStatistics" = {"In use system memory (driver)"=0,"Alloc system memory"=52967440384,"Tiler Utilization %"=10,"recoveryCount"=0,"Renderer Utilization %"=15,"Device Utilization %"=16,"In use system memory"=2363801600}
    }
"""  # noqa: E501  # as it is printed
POWERMETRICS = """Machine model: Mac15,14
OS version: 25A123x

*** Sampled system activity (Sat Oct 30 20:25:28 2026 -0600) (501.25ms elapsed) ***

**** GPU usage ****

GPU HW active frequency: 1380 MHz
GPU HW active residency:  97.50% (338 MHz:   0% 618 MHz:   0% 1380 MHz:  97%)
GPU SW requested state: (P1 :   0% P2 : 100%)
GPU idle residency:   2.50%
GPU Power: 9462 mW
"""


def program(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.txt").write_text(text)
    path = folder / name
    path.write_text(f"#!/bin/sh\nexec cat {folder}/{name}.txt\n")
    path.chmod(0o755)
    return str(path)


def read_until(source: object, found: Callable[[dict[str, object]], bool]) -> dict[str, object]:
    seen: dict[str, object] = {}
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not found(seen):
        seen.update({key: value for key, _, value in source.read()})  # type: ignore[attr-defined]  # a source
        time.sleep(0.01)
    return seen


def test_ioreg_tells_utilisation_memory_and_model_and_its_legend_nothing() -> None:
    assert appletext.parse_ioreg(IOREG) == {"util": 16, "mem_used": 2363801600, "name": "Apple M1 Max"}
    assert appletext.parse_ioreg('"PerformanceStatistics" = {"Renderer Utilization %"=40}') == {"util": 40}
    assert appletext.parse_ioreg('"PerformanceStatistics" = {"Device Utilization %"=101}') == {}
    assert appletext.parse_ioreg("") == {}


def test_powermetrics_tells_power_in_watts() -> None:
    assert appletext.parse_powermetrics(POWERMETRICS) == {"clock": 1380000000.0, "util": 97.5, "power": 9.462}
    assert (
        appletext.parse_powermetrics("powermetrics must be invoked as the superuser\nGPU Power: x mW\n") == {}
    )


def test_both_tools_become_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ioreg", IOREG)
    program(tmp_path, "powermetrics", POWERMETRICS)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert apple.missing(Paths()) is None
    job = LiveJob()
    source = apple.attach(job, KEYS)  # type: ignore[arg-type]  # dressed as a job
    seen = read_until(source, lambda seen: seen.keys() >= {"apple_power", "apple_mem_used"})
    source.close()
    assert seen["apple_mem_used"] == 2363801600
    assert seen["apple_name"] == "Apple M1 Max"
    assert seen["apple_power"] == 9.462
    assert seen["apple_energy_estimate"] == 0.0
    assert len(job.helpers) == 2


def test_what_cannot_be_read_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ioreg", "no such thing\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    source = apple.attach(LiveJob(), KEYS)  # type: ignore[arg-type]  # dressed as a job
    told: list[object] = []
    read_until(source, lambda _: bool(told.extend(source.tell()) or told))  # type: ignore[attr-defined, func-returns-value]
    assert told == [("source_failed", {"source": "apple", "error": "its answer could not be read"})]
    assert source.standing() == {"state": "open"}  # type: ignore[attr-defined]  # it tells more than numbers
    source.close()


def test_another_system_has_no_such_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert apple.missing(Paths()) == "no ioreg on PATH: not macOS"

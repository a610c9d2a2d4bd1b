"""Energy counters, read from trees laid out as the kernel's."""

import os
from pathlib import Path

import pytest

from jobmeter.collectors import rapl
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob

KEYS = frozenset(m.key for m in rapl.MEASUREMENTS)
TICK_NS = 10_000_000


class Machine:
    """A tree of counters and a machine-wide CPU time, both set by the test."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(proc=str(folder / "proc"), sys=str(folder / "sys"))
        self._zones = folder / "sys" / "class" / "powercap"
        self._zones.mkdir(parents=True)
        (folder / "proc").mkdir()
        self._stat = folder / "proc" / "stat"
        self.busy(0)
        self.job = LiveJob(paths=self.paths)
        self.job.cpu_ns = 0  # type: ignore[attr-defined]  # what the recorder's table knows

    def zone(self, zone: str, name: str, microjoules: int, wraps_at: int = 262_143_328_850) -> None:
        folder = self._zones / zone
        folder.mkdir(exist_ok=True)
        for file, text in (("name", name), ("energy_uj", microjoules), ("max_energy_range_uj", wraps_at)):
            (folder / file).write_text(f"{text}\n")

    def busy(self, ticks: int) -> None:
        self._stat.write_text(f"cpu  {ticks} 0 0 99999 0 0 0 0 0 0\n")

    def attach(self) -> rapl.RaplSource:
        return rapl.RaplSource(self.job, KEYS)  # type: ignore[arg-type]  # dressed as a job


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_without_counters_says_so(machine: Machine) -> None:
    assert (
        rapl.missing(machine.paths)
        == "no energy counters (RAPL): a virtual machine, or not built into the kernel"
    )
    assert machine.attach().read() == []


def test_counters_only_root_may_read_are_a_reason(machine: Machine, tmp_path: Path) -> None:
    machine.zone("intel-rapl:0", "package-0", 5)
    assert rapl.missing(machine.paths) is None
    (tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj").unlink()
    folder = f"{machine.paths.sys}/class/powercap/intel-rapl:0"
    assert rapl.missing(machine.paths) == f"only root may read {folder}/energy_uj (since Linux 5.10)"


def test_packages_and_memory_count_from_the_first_look(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", 5_000_000)
    machine.zone("intel-rapl:0:0", "core", 1_000_000)
    machine.zone("intel-rapl:0:1", "dram", 9_000_000)
    machine.zone("intel-rapl:1", "package-1", 77_000_000)
    machine.zone("intel-rapl:2", "psys", 999_000_000)
    machine.zone("intel-rapl-mmio:0", "package-0", 5_000_000)
    source = machine.attach()
    machine.zone("intel-rapl:0", "package-0", 35_000_000)
    machine.zone("intel-rapl:0:1", "dram", 9_250_000)
    machine.zone("intel-rapl:1", "package-1", 77_000_001)
    assert [reading for reading in source.read() if reading[0] != "rapl_energy_share"] == [
        ("rapl_package", "package-0", 30.0),
        ("rapl_dram", "dram-0", 0.25),
        ("rapl_package", "package-1", 0.000001),
    ]
    source.close()


def test_a_counter_that_wraps_goes_on(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", 99_000_000, wraps_at=100_000_000)
    source = machine.attach()
    machine.zone("intel-rapl:0", "package-0", 4_000_000, wraps_at=100_000_000)
    assert ("rapl_package", "package-0", 5.0) in source.read()
    machine.zone("intel-rapl:0", "package-0", 7_000_000, wraps_at=100_000_000)
    assert ("rapl_package", "package-0", 8.0) in source.read()


def test_one_counter_under_two_names_counts_once(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", 500_000_000)
    machine.zone("intel-rapl:1", "package-1", 500_100_000)
    machine.zone("intel-rapl:0:0", "dram", 500_000_000)
    source = machine.attach()
    assert source.standing() == {"counters": ["package-0", "dram-0"]}


def test_the_jobs_part_is_its_share_of_cpu_time_and_called_an_estimate(machine: Machine) -> None:
    machine.zone("intel-rapl:0", "package-0", 0)
    source = machine.attach()
    machine.zone("intel-rapl:0", "package-0", 40_000_000)
    machine.busy(100)
    machine.job.cpu_ns = 25 * TICK_NS  # type: ignore[attr-defined]  # a quarter of the machine's
    assert ("rapl_energy_share", "", 10.0) in source.read()
    machine.zone("intel-rapl:0", "package-0", 50_000_000)
    machine.busy(110)
    assert ("rapl_energy_share", "", 10.0) in source.read()  # it did nothing: others used the rest
    machine.zone("intel-rapl:0", "package-0", 60_000_000)
    machine.job.cpu_ns = 30 * TICK_NS  # type: ignore[attr-defined]  # more than the machine's ticks tell
    assert ("rapl_energy_share", "", 20.0) in source.read()
    assert list(source.doubts()) == ["rapl_energy_share"]


def test_a_counter_that_vanishes_is_absent_and_not_zero(machine: Machine, tmp_path: Path) -> None:
    machine.zone("intel-rapl:0", "package-0", 0)
    source = machine.attach()
    os.unlink(tmp_path / "sys/class/powercap/intel-rapl:0/energy_uj")
    assert source.read() == []

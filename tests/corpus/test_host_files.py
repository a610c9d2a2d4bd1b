"""Real files of other machines: the right numbers, written out."""

from itertools import pairwise

import pytest

from jobmeter.collectors import host, psi
from jobmeter.probes import diskstats, kernelstat, loadavg, meminfo, netdev, pressure, vmstat, vmstat_macos
from jobmeter.probes.paths import Paths
from support import corpus, ttar
from support.livejob import LiveJob, values

HOST_KEYS = frozenset(m.key for m in host.MEASUREMENTS)
PSI_KEYS = frozenset(m.key for m in psi.MEASUREMENTS)


def proc_file(name: str) -> bytes:
    return (corpus.folder("proc-files") / name).read_bytes()


@pytest.fixture(scope="module")
def fixtures() -> dict[str, str]:
    """The machine Prometheus tests with."""
    return ttar.read(corpus.folder("proc-files") / "procfs_fixtures.ttar")


def test_memory_of_a_small_virtual_machine() -> None:
    text = proc_file("jc_meminfo")
    assert meminfo.field_bytes(text, b"MemTotal") == 4093206528
    assert meminfo.field_bytes(text, b"MemAvailable") == 3468161024
    assert meminfo.field_bytes(text, b"Inactive(file)") == 329641984
    assert meminfo.field_bytes(text, b"Inactive") == 329793536
    assert meminfo.swap_used_bytes(text) == 0


def test_memory_of_a_machine_with_huge_pages() -> None:
    text = (corpus.folder("proc-meminfo") / "telegraf_hugepages_meminfo").read_bytes()
    assert meminfo.field_bytes(text, b"MemAvailable") == 266255839232
    assert meminfo.field_bytes(text, b"Hugepagesize") == 2097152
    assert meminfo.field_bytes(text, b"HugePages_Total") is None  # a count, not a size


def test_an_old_kernel_tells_no_available_memory(fixtures: dict[str, str]) -> None:
    text = fixtures["fixtures/proc/meminfo"].encode()
    assert meminfo.field_bytes(text, b"MemAvailable") is None
    assert meminfo.field_bytes(text, b"MemTotal") == 16042172416


@pytest.mark.parametrize(
    ("name", "ticks"),
    [("jc_stat", (15726, 448, 0)), ("jc_stat2", (327209, 137517, None))],
)
def test_cpu_time_of_the_machine(name: str, ticks: tuple[int, int, int | None]) -> None:
    found = kernelstat.parse_cpu(proc_file(name))
    assert found is not None
    assert (found.busy, found.iowait, found.steal) == ticks


def test_disks_of_a_virtual_machine_with_loops_and_lvm() -> None:
    assert diskstats.parse(proc_file("jc_diskstats")) == {
        "sda": (892828 * 512, 715384 * 512),
        "sr0": (20923 * 512, 0),
    }


def test_disks_of_the_prometheus_machine(fixtures: dict[str, str]) -> None:
    found = diskstats.parse(fixtures["fixtures/proc/diskstats"].encode())
    assert list(found) == ["sda", "mmcblk0", "fd0", "vda", "sr0", "nvme0n1", "sdb", "sdc"]
    assert found["sda"] == (513713216512, 258916880384)
    assert found["nvme0n1"] == (2377714176, 20199236096)
    assert found["sdc"] == (296531968, 92416000)


def test_interfaces_of_the_prometheus_machine(fixtures: dict[str, str]) -> None:
    # veth, docker0 and lo carry what eth0 carries, or nothing that leaves the machine
    assert netdev.parse(fixtures["fixtures/proc/net/dev"].encode()) == {"eth0": (874354587, 563352563)}


def test_load_and_kernel_counters() -> None:
    assert loadavg.one_minute(proc_file("jc_loadavg")) == 0.0
    assert vmstat.counter(proc_file("jc_vmstat"), b"oom_kill") == 0
    assert vmstat.counter(proc_file("jc_vmstat"), b"oom_kill_nothing") is None


def test_pressure_of_the_prometheus_machine(fixtures: dict[str, str]) -> None:
    read = {
        name: pressure.parse_totals(fixtures[f"fixtures/proc/pressure/{name}"].encode())
        for name in pressure.RESOURCES
    }
    assert read == {
        "cpu": {"some": 1.5e-05},
        "memory": {"some": 1.5e-05, "full": 2.5e-05},
        "io": {"some": 1.5e-05, "full": 2.5e-05},
    }


def test_the_collectors_read_the_whole_prometheus_machine(
    fixtures: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("machine")
    for name, text in fixtures.items():
        if name.startswith("fixtures/proc/") and name.count("/") <= 3:
            path = root / name.removeprefix("fixtures/proc/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    job = LiveJob(paths=Paths(proc=str(root)))
    assert values(host.attach(job, HOST_KEYS).read()) == {
        "host_swap_used": 0,
        "host_load": 0.02,
        "host_cputime": 4183.34,
        "host_iowait": 35.52,
        "host_steal": 0.0,
        "host_read_bytes": 538060544000,
        "host_write_bytes": 389601029120,
        "host_net_rx": 874354587,
        "host_net_tx": 563352563,
    }
    assert values(psi.attach(job, PSI_KEYS).read())["psi_mem_full"] == 2.5e-05


def test_vm_stat_counts_anew_after_every_header() -> None:
    lines = (corpus.folder("macos-vm_stat") / "vm_stat_interval_4096.txt").read_text().splitlines()
    rows = list(vmstat_macos.parse_interval(iter(lines)))
    assert len(rows) == 50
    assert {row.page_bytes for row in rows} == {4096}
    # the first row counts since boot, the second adds its 3330 faults
    assert [row.pages["faults"] for row in rows[:2]] == [6653125, 6656455]
    # row 22 follows a repeated header and counts since boot again: taken as a delta it would double everything
    assert [row.pages["faults"] for row in rows[20:23]] == [6705176, 6705273, 6705299]
    assert all(before.pages["faults"] <= after.pages["faults"] for before, after in pairwise(rows))


def test_vm_stat_gauges_are_pages_now() -> None:
    lines = (corpus.folder("macos-vm_stat") / "vm_stat_interval_4096.txt").read_text().splitlines()
    rows = list(vmstat_macos.parse_interval(iter(lines)))
    first, last = rows[0].pages, rows[-1].pages
    assert (first["free"], first["wired"], first["file_backed"], first["anonymous"]) == (
        2421638,
        466182,
        788010,
        518220,
    )
    assert (
        first["active"] + first["inactive"] + first["speculative"]
        == first["file_backed"] + first["anonymous"]
    )
    assert rows[0].available_bytes == 13270405120  # (2421638 + 788010 + 30197) pages
    assert (last["free"], last["wired"]) == (2341851, 499576)


def test_a_vm_stat_cut_off_in_the_middle_of_a_row_gives_the_whole_rows() -> None:
    text = (corpus.folder("macos-vm_stat") / "vm_stat_interval_4096.txt").read_text()
    assert len(list(vmstat_macos.parse_interval(iter(text[:2500].splitlines())))) == 11

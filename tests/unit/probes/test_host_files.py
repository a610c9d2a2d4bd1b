"""The files of `/proc` about the machine: what counts, what is counted twice, what old kernels leave out."""

import os
from pathlib import Path

import pytest

from jobmeter.probes import diskstats, kernelfile, kernelstat, loadavg, meminfo, netdev, vmstat

MEMINFO = (
    b"MemTotal:  1000 kB\nMemAvailable: 300 kB\nInactive(file): 7 kB\n"
    b"SwapTotal: 90 kB\nSwapFree: 50 kB\nHugePages_Total:   2\n"
)


def disks(*names: str) -> dict[str, tuple[int, int]]:
    return diskstats.parse("".join(f" 8 0 {name} 1 0 10 0 1 0 20 0 0 0 0\n" for name in names).encode())


def interfaces(*names: str) -> list[str]:
    header = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"
    return list(
        netdev.parse(
            (header + "".join(f"{name:>8}: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n" for name in names)).encode()
        )
    )


@pytest.mark.parametrize(
    ("name", "size"), [("MemTotal", 1024000), ("MemAvailable", 307200), ("SwapFree", 51200)]
)
def test_a_size_of_memory_comes_in_bytes(name: str, size: int) -> None:
    assert meminfo.field_bytes(MEMINFO, name.encode()) == size


@pytest.mark.parametrize("name", ["MemFree", "HugePages_Total", "Total", "Inactive"])
def test_a_line_that_is_absent_or_no_size_gives_nothing(name: str) -> None:
    assert meminfo.field_bytes(MEMINFO, name.encode()) is None


def test_swap_in_use_is_total_less_free() -> None:
    assert meminfo.swap_used_bytes(MEMINFO) == 40960
    assert meminfo.swap_used_bytes(b"MemTotal: 1 kB\n") is None


def test_busy_time_leaves_out_idle_iowait_steal_and_guests() -> None:
    ticks = kernelstat.parse_cpu(b"cpu  1 20 300 9999 4000 50000 600000 7000000 8 9\ncpu0 0 0 0 0\n")
    assert ticks is not None
    assert (ticks.busy, ticks.iowait, ticks.steal) == (650321, 4000, 7000000)


def test_an_old_kernel_without_a_column_gives_none_for_it() -> None:
    ticks = kernelstat.parse_cpu(b"cpu 1 2 3 4\n")
    assert ticks is not None
    assert (ticks.busy, ticks.iowait, ticks.steal) == (6, None, None)


@pytest.mark.parametrize("text", [b"", b"intr 5\n", b"cpu  a b c d e\n", b"cpu0 1 2 3 4 5\n"])
def test_a_text_that_is_no_cpu_line_gives_nothing(text: bytes) -> None:
    assert kernelstat.parse_cpu(text) is None


def test_a_counter_is_found_by_its_whole_name() -> None:
    assert vmstat.counter(b"nr_oom_kill 3\noom_kill 7\noom_kill_x 9\n", b"oom_kill") == 7
    assert vmstat.counter(b"oom_kill 7\n", b"oom_kill") == 7
    assert vmstat.counter(b"pgfault 7\n", b"oom_kill") is None


def test_the_load_is_the_first_number() -> None:
    assert loadavg.one_minute(b"1.25 0.50 0.10 2/90 123\n") == 1.25
    assert loadavg.one_minute(b"") is None


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (["sda", "sda1", "sda2"], ["sda"]),
        (["nvme0n1", "nvme0n1p1", "nvme1n1"], ["nvme0n1", "nvme1n1"]),
        (["nvme0n1", "nvme0c0n1"], ["nvme0n1"]),
        (["mmcblk0", "mmcblk0p1", "mmcblk0boot0"], ["mmcblk0", "mmcblk0boot0"]),
        (["xvda1"], ["xvda1"]),
        (["nbd1", "nbd10", "nbd1p1"], ["nbd1", "nbd10"]),
        (["sdp", "sdp1", "vda", "vdaa"], ["sdp", "vda", "vdaa"]),
        (["loop0", "ram0", "zram0", "dm-0", "md127", "md127p1", "bcache0", "drbd0", "zd0"], []),
    ],
)
def test_a_byte_is_counted_at_the_lowest_device_only(names: list[str], whole: list[str]) -> None:
    assert disks(*names) == dict.fromkeys(whole, (5120, 10240))


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (["lo", "eth0", "ib0", "wlan0"], ["eth0", "ib0", "wlan0"]),
        (["lo", "eth0", "docker0", "veth12ab", "br-9f", "br0", "virbr0"], ["eth0"]),
        (["lo", "eth0", "eth1", "bond0", "eth0.12", "tun0", "wg0"], ["eth0", "eth1"]),
        (["lo", "tap0"], ["tap0"]),
        (["lo"], []),
    ],
)
def test_a_packet_is_counted_at_one_interface_only(names: list[str], own: list[str]) -> None:
    assert interfaces(*names) == own


def test_received_and_sent_bytes_are_columns_1_and_9() -> None:
    assert netdev.parse(b"  eth0:123456 1 0 0 0 0 0 0 654321 1 0 0 0 0 0 0\n") == {"eth0": (123456, 654321)}


def test_a_file_longer_than_a_page_is_read_to_its_end(tmp_path: Path) -> None:
    fd = kernelfile.open_file("/proc/kallsyms")
    assert fd is not None
    text = kernelfile.read_file(fd)
    again = kernelfile.read_file(fd)
    os.close(fd)
    assert text == Path("/proc/kallsyms").read_bytes() == again
    assert len(text) > 65536


def test_a_missing_or_closed_file_is_none(tmp_path: Path) -> None:
    assert kernelfile.open_file(str(tmp_path / "gone")) is None
    (tmp_path / "file").touch()
    assert kernelfile.open_file(str(tmp_path / "file" / "below")) is None

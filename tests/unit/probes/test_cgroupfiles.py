"""Files of a cgroup, as kernels write them and as nobody should."""

import os
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfiles

V1_STAT = b"""cache 900
rss 100
shmem 300
swap 7
hierarchical_memory_limit 2147483648
total_cache 9000
total_rss 1000
total_shmem 3000
total_swap 70
"""
V2_STAT = b"""anon 1000
file 9000
kernel 500
kernel_stack 100
pagetables 50
percpu 10
shmem 3000
slab_reclaimable 200
slab 300
"""


def test_v1_memory_is_read_with_the_cgroups_below() -> None:
    stat = cgroupfiles.memory_stat_v1(V1_STAT)
    assert (stat.anon, stat.cache, stat.shmem, stat.swap) == (1000, 9000, 3000, 70)


def test_shared_memory_is_not_file_cache_and_not_reclaimable() -> None:
    stat = cgroupfiles.memory_stat_v1(V1_STAT)
    assert (stat.file, stat.unreclaimable) == (6000, 4000)


def test_v1_kernel_memory_is_absent_because_its_reclaimable_part_is_untold() -> None:
    assert cgroupfiles.memory_stat_v1(V1_STAT).kernel is None


def test_v2_kernel_memory_counts_as_needed_less_what_the_kernel_can_drop() -> None:
    stat = cgroupfiles.memory_stat_v2(V2_STAT)
    assert (stat.anon, stat.file, stat.kernel, stat.unreclaimable) == (1000, 6000, 500, 4300)


def test_v2_kernel_memory_is_the_sum_of_its_parts_before_linux_5_18() -> None:
    older = V2_STAT.replace(b"kernel 500\n", b"")
    assert cgroupfiles.memory_stat_v2(older).kernel == 460


def test_a_stat_file_without_shared_memory_gives_no_file_cache() -> None:
    stat = cgroupfiles.memory_stat_v1(b"total_cache 5\ntotal_rss 6\n")
    assert (stat.anon, stat.file, stat.unreclaimable) == (6, None, None)


@pytest.mark.parametrize("raw", [b"", b"garbage\n", b"anon\nfile x\n", b"\xff\x00"])
def test_a_broken_stat_file_has_no_values_and_raises_nothing(raw: bytes) -> None:
    v1, v2 = cgroupfiles.memory_stat_v1(raw), cgroupfiles.memory_stat_v2(raw)
    assert [v1.anon, v1.file, v1.shmem, v1.unreclaimable, v2.anon, v2.file, v2.kernel] == [None] * 7


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"42\n", 42),
        (b"max\n", None),
        (b"", None),
        (b"12 13\n", None),
        (b"garbage\n", None),
        (None, None),
    ],
)
def test_one_number_is_a_number_or_nothing(raw: bytes | None, expected: int | None) -> None:
    assert cgroupfiles.number(raw) == expected


@pytest.mark.parametrize("raw", [b"9223372036854771712\n", b"9223372036854710272\n", b"max\n", b"-1\n", None])
def test_no_limit_is_written_in_many_ways(raw: bytes | None) -> None:
    assert cgroupfiles.limit(raw) is None


def test_a_limit_is_a_limit() -> None:
    assert cgroupfiles.limit(b"268435456\n") == 268435456


def test_a_field_is_not_found_inside_a_longer_name() -> None:
    raw = b"total_rss_huge 1\nrss_huge 2\nrss 3\n"
    assert (cgroupfiles.field(raw, b"rss"), cgroupfiles.field(raw, b"huge")) == (3, None)


def test_a_field_on_the_first_and_on_an_unfinished_last_line_is_found() -> None:
    assert (cgroupfiles.field(b"low 1\nmax 22", b"low"), cgroupfiles.field(b"low 1\nmax 22", b"max")) == (
        1,
        22,
    )


def test_cpu_times_are_seconds() -> None:
    raw = b"usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 0\n"
    assert cgroupfiles.cpu_times(raw) == (2.5, 2.0, 0.5)


@pytest.mark.parametrize("raw", [b"", b"nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", b"usage_usec x\n"])
def test_a_cpu_stat_without_usage_gives_no_cpu_times(raw: bytes) -> None:
    assert cgroupfiles.cpu_times(raw) is None


def test_v1_user_and_system_time_are_ticks() -> None:
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    assert cgroupfiles.cpuacct_times(b"user %d\nsystem 0\n" % (3 * ticks_per_second)) == (3.0, 0.0)


def test_throttling_is_microseconds_on_v2_and_nanoseconds_on_v1() -> None:
    v2 = cgroupfiles.throttling(b"usage_usec 1\nnr_throttled 6\nthrottled_usec 1500000\n")
    v1 = cgroupfiles.throttling(b"nr_periods 9\nnr_throttled 6\nthrottled_time 1500000000\n")
    assert v1 == v2 == (6, 1.5)


def test_a_cpu_stat_without_the_cpu_controller_tells_no_throttling() -> None:
    assert cgroupfiles.throttling(b"usage_usec 1\nuser_usec 1\nsystem_usec 0\n") is None


@pytest.mark.parametrize(
    ("raw", "cpus"),
    [
        (b"150000 100000\n", 1.5),
        (b"max 100000\n", None),
        (b"", None),
        (b"100000 0\n", None),
        (b"x y\n", None),
    ],
)
def test_a_v2_quota_is_cpus(raw: bytes, cpus: float | None) -> None:
    assert cgroupfiles.quota_v2(raw) == cpus


@pytest.mark.parametrize(
    ("quota", "period", "cpus"),
    [(b"50000", b"100000", 0.5), (b"-1", b"100000", None), (None, b"100000", None)],
)
def test_a_v1_quota_is_cpus(quota: bytes | None, period: bytes | None, cpus: float | None) -> None:
    assert cgroupfiles.quota_v1(quota, period) == cpus


def test_v2_io_adds_devices_up_and_an_empty_file_is_no_io_yet() -> None:
    raw = b"8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2 rios=1\n"
    assert (cgroupfiles.io_v2(raw), cgroupfiles.io_v2(b"")) == ((11, 22), (0, 0))


def test_v2_io_with_a_broken_number_is_absent() -> None:
    assert cgroupfiles.io_v2(b"8:0 rbytes=1x wbytes=2\n") is None


def test_v1_io_without_any_device_is_not_counted_rather_than_zero() -> None:
    counted = b"8:0 Read 5\n8:0 Write 6\n8:0 Sync 11\n8:0 Total 11\nTotal 11\n"
    assert (cgroupfiles.io_v1(counted), cgroupfiles.io_v1(b"Total 0\n")) == ((5, 6), None)


def test_an_open_file_is_read_anew_each_time(tmp_path: Path) -> None:
    (tmp_path / "memory.current").write_text("1\n")
    file = cgroupfiles.open_file(str(tmp_path), "memory.current")
    assert file is not None
    first = file.read()
    (tmp_path / "memory.current").write_text("2\n")
    assert (first, file.read()) == (b"1\n", b"2\n")
    file.close()


def test_a_file_that_cannot_be_read_any_more_is_gone_not_broken(tmp_path: Path) -> None:
    # a directory opens but does not read, as a removed cgroup's file does
    file = cgroupfiles.open_file(str(tmp_path), ".")
    assert file is not None
    assert file.read() is None
    file.close()


def test_a_refused_write_is_told(tmp_path: Path) -> None:
    (tmp_path / "memory.peak").write_text("1\n")
    file = cgroupfiles.open_file(str(tmp_path), "memory.peak")
    assert file is not None
    assert file.write(b"reset\n") is False
    file.close()


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert cgroupfiles.read_once(str(tmp_path), "memory.peak") is None

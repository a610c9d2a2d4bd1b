"""Cgroup files captured on real machines: the right directory is found, the right numbers are read."""

import zipfile
from pathlib import Path

import pytest

from jobmeter.collectors import cgroup
from jobmeter.probes import cgroupfiles, cgroupfs, pressure
from jobmeter.probes.paths import Paths
from support import corpus
from support.cgroups import RealJob

ALL = frozenset(m.key for m in cgroup.MEASUREMENTS)
POD = (
    "kubepods.slice/kubepods-burstable.slice/"
    "kubepods-burstable-pod7a96c459_d529_44ae_9f99_90d3798d6426.slice/"
    "cri-containerd-1d3d308a7d48a27814a68bf33a44acf4441c9c02463ca0bc1cdfdc8c0b4a8496.scope"
)


def capture(name: str, into: Path) -> Paths:
    """Unpack a capture of /proc and /sys."""
    with zipfile.ZipFile(
        corpus.folder("cgroup-captures") / f"elastic-agent-system-metrics__{name}.zip"
    ) as archive:
        archive.extractall(into)
    return Paths(proc=str(into / name / "proc"), sys=str(into / name / "sys"))


def below(paths: Paths, place: cgroupfs.Place | None) -> str | None:
    return None if place is None else place.directory.removeprefix(f"{paths.sys}/fs/cgroup/")


def readings(paths: Paths, pid: int, keys: frozenset[str] = ALL) -> dict[str, object]:
    source = cgroup.attach(RealJob(pid, None, paths), keys)
    found = {key: value for key, _, value in source.read()}
    source.close()
    return found


def test_kubernetes_on_v1_is_found_although_a_0_line_exists(tmp_path: Path) -> None:
    paths = capture("amzn2", tmp_path)
    places = cgroupfs.locate(paths, "493239")
    assert below(paths, places.memory) == f"memory/{POD}"
    assert below(paths, places.cpuacct) == f"cpu,cpuacct/{POD}"
    assert below(paths, places.io) == f"blkio/{POD}"
    assert below(paths, places.pids) == f"pids/{POD}"
    assert places.unified is None
    assert [place.root for place in places.every()] == [False, False, False, False]


def test_kubernetes_limits_are_read(tmp_path: Path) -> None:
    places = cgroupfs.locate(capture("amzn2", tmp_path), "493239")
    assert cgroupfs.memory_limit(places) == 2147483648
    assert cgroupfs.cpu_quota(places) is None


def test_kubernetes_numbers_are_those_of_the_capture(tmp_path: Path) -> None:
    assert readings(capture("amzn2", tmp_path), 493239) == {
        "cgroup_outer_cputime": 124659.500367,
        "cgroup_outer_mem_current": 1215860736,
        "cgroup_outer_mem_file": 78397440,
        "cgroup_outer_mem_unreclaimable": 1119465472,
        "cgroup_outer_oom_kill": 0,
        "cgroup_outer_io_read": 3448832,
        "cgroup_outer_io_write": 25203200,
        "cgroup_mem_max_events": 0,
    }


def test_process_1_of_the_node_is_in_root_cgroups_and_gives_nothing(tmp_path: Path) -> None:
    assert readings(capture("amzn2", tmp_path), 1) == {}


def test_a_hybrid_ubuntu_has_memory_on_v1_and_cpu_time_on_v2_too(tmp_path: Path) -> None:
    paths = capture("ubuntu1804", tmp_path)
    places = cgroupfs.locate(paths, "3757")
    assert below(paths, places.memory) == "memory/system.slice/networkd-dispatcher.service"
    assert below(paths, places.unified) == "unified/system.slice/networkd-dispatcher.service"
    assert places.cpuacct is None, "the capture holds no cpu,cpuacct directory"
    assert cgroupfs.memory_limit(places) is None


def test_a_hybrid_ubuntu_has_the_numbers_of_the_capture(tmp_path: Path) -> None:
    assert readings(capture("ubuntu1804", tmp_path), 3757) == {
        "cgroup_outer_mem_current": 9039872,
        "cgroup_outer_mem_file": 0,
        "cgroup_outer_mem_unreclaimable": 8404992,
        "cgroup_outer_oom_kill": 0,
        "cgroup_outer_io_read": 8192,
        "cgroup_outer_io_write": 0,
    }


def test_a_path_above_a_docker_namespace_is_resolved(tmp_path: Path) -> None:
    paths = capture("docker2", tmp_path)
    places = cgroupfs.locate(paths, "2233801")
    assert below(paths, places.memory) == "user.slice/user-1000.slice/session-520.scope"
    assert places.memory is not None
    assert (places.memory.version, places.memory.root) == (2, False)
    assert (cgroupfs.memory_limit(places), cgroupfs.cpu_quota(places)) == (None, None)


def test_a_docker_host_session_has_the_numbers_of_the_capture(tmp_path: Path) -> None:
    paths = capture("docker2", tmp_path)
    # the peak is left out: to a plain file a reset is a write like any other
    assert readings(paths, 2233801, ALL - {"cgroup_outer_mem_peak"}) == {
        "cgroup_outer_cputime": 3611.347518,
        "cgroup_outer_mem_current": 10498404352,
        "cgroup_outer_mem_file": 8621432832 - 20480,
        "cgroup_outer_mem_unreclaimable": 1411100672 + 20480 + 195010560 - 171664984,
        "cgroup_outer_oom_kill": 0,
    }


def test_a_v2_directory_of_a_virtual_machine_is_read() -> None:
    directory = str(corpus.folder("cgroup-v2") / "telegraf-v2")
    stat = cgroupfiles.memory_stat_v2(cgroupfiles.read_once(directory, "memory.stat") or b"")
    assert (stat.anon, stat.shmem, stat.kernel, stat.slab_reclaimable) == (
        2471755776,
        4096,
        2065149952,
        2032322192,
    )
    assert (stat.file, stat.unreclaimable) == (8532860928, 2504587632)
    cpu = cgroupfiles.read_once(directory, "cpu.stat") or b""
    assert cgroupfiles.cpu_times(cpu) == (98701.325189, 61355.716211, 37345.608977)
    assert cgroupfiles.throttling(cpu) == (6004, 19175.137007)
    assert cgroupfiles.quota_v2(cgroupfiles.read_once(directory, "cpu.max")) == 48.0
    assert cgroupfiles.io_v2(cgroupfiles.read_once(directory, "io.stat") or b"") == (74526720, 3789381632)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory.current", 13071106048),
        ("memory.peak", 87302021120),
        ("memory.swap.current", 0),
        ("pids.current", 592),
        ("pids.peak", 2438),
        ("pids.max", 629145),
        ("memory.high", None),
    ],
)
def test_v2_numbers_are_read(name: str, value: int | None) -> None:
    directory = str(corpus.folder("cgroup-v2") / "telegraf-v2")
    assert cgroupfiles.number(cgroupfiles.read_once(directory, name)) == value


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("cpu.pressure", 293.391454), ("memory.pressure", 0.250773), ("io.pressure", 185.1624)],
)
def test_v2_pressure_is_read(name: str, seconds: float) -> None:
    directory = str(corpus.folder("cgroup-v2") / "telegraf-v2")
    assert pressure.parse_totals(cgroupfiles.read_once(directory, name) or b"")["some"] == seconds


@pytest.mark.parametrize(
    ("name", "read_bytes", "written_bytes"),
    [
        ("elastic_ubuntu.io.stat", 21573632, 0),
        ("elastic_ubuntu2.io.stat", 94894926848, 429402874880),
    ],
)
def test_io_stat_lines_glued_together_or_without_figures_are_read(
    name: str, read_bytes: int, written_bytes: int
) -> None:
    raw = cgroupfiles.read_once(str(corpus.folder("cgroup-v2")), name) or b""
    assert cgroupfiles.io_v2(raw) == (read_bytes, written_bytes)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory.usage_in_bytes", 3513667584),
        ("memory.max_usage_in_bytes", None),
        ("memory.empty", None),
        ("malformed.file", None),
        ("cpu.cfs_quota_us", -1),
    ],
)
def test_v1_numbers_are_read_and_malformed_ones_are_absent(name: str, value: int | None) -> None:
    directory = str(corpus.folder("cgroup-v1") / "telegraf-v1")
    assert cgroupfiles.number(cgroupfiles.read_once(directory, name)) == value


def test_v1_files_trimmed_by_hand_give_what_they_have() -> None:
    directory = str(corpus.folder("cgroup-v1") / "telegraf-v1")
    stat = cgroupfiles.memory_stat_v1(cgroupfiles.read_once(directory, "memory.stat") or b"")
    assert (stat.anon, stat.shmem, stat.file, stat.unreclaimable, stat.swap) == (
        1775325184,
        None,
        None,
        None,
        None,
    )
    assert cgroupfiles.limit(cgroupfiles.read_once(directory, "memory.kmem.limit_in_bytes")) is None
    assert cgroupfiles.limit(cgroupfiles.read_once(directory, "memory.limit_in_bytes")) == 223372036854771712


def test_v1_io_of_every_device_is_added_up() -> None:
    directory = str(corpus.folder("cgroup-v1") / "telegraf-v1")
    # the file counts operations in the layout of the bytes file
    assert cgroupfiles.io_v1(cgroupfiles.read_once(directory, "blkio.throttle.io_serviced") or b"") == (
        49182,
        216703,
    )
    assert cgroupfiles.io_v1(cgroupfiles.read_once(directory, "blkio.io_serviced") or b"") is None

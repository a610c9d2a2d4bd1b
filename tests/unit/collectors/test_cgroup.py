"""The cgroup collector on trees of files: which file gives which key, and what stays absent."""

from pathlib import Path

from jobmeter.collectors import cgroup
from jobmeter.model import measurement
from jobmeter.probes import cgroupfs
from jobmeter.probes.cgroupfs import OwnCgroup, Place, Places
from support.cgroups import RealJob, Tree

ALL = frozenset(m.key for m in cgroup.MEASUREMENTS)
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
V2_FILES = {
    "cgroup.events": "populated 1\n",
    "cgroup.procs": "7\n8\n",
    "cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
    "memory.current": "10000\n",
    "memory.peak": "20000\n",
    "memory.swap.current": "30\n",
    "memory.stat": "anon 1000\nfile 9000\nkernel 500\nshmem 3000\nslab_reclaimable 200\n",
    "memory.events": "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n",
    "io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n",
    "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
    "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n",
    "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500000\n",
}
V1_MEMORY_FILES = {
    "memory.usage_in_bytes": "10000\n",
    "memory.max_usage_in_bytes": "20000\n",
    "memory.kmem.usage_in_bytes": "700\n",
    "memory.stat": "total_cache 9000\ntotal_rss 1000\ntotal_shmem 3000\ntotal_swap 30\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
}


def readings(job: RealJob, keys: frozenset[str] = ALL) -> dict[str, object]:
    source = cgroup.attach(job, keys)
    found = {key: value for key, instance, value in source.read() if instance == ""}
    source.close()
    return found


def v2_own(tree: Tree) -> OwnCgroup:
    place = Place(tree.cgroup("own", V2_FILES), f"{tree.paths.sys}/fs/cgroup", 2, False, frozenset())
    places = Places(memory=place, cpuacct=place, io=place, unified=place)
    return OwnCgroup("own", places, Places(), (place.directory,))


def test_every_definition_is_legal() -> None:
    assert measurement.problems(cgroup.MEASUREMENTS) == []


def test_an_own_v2_cgroup_gives_every_key_of_the_job(tmp_path: Path) -> None:
    assert readings(RealJob(7, v2_own(Tree(tmp_path)))) == {
        "cgroup_cputime": 2.5,
        "cgroup_utime": 2.0,
        "cgroup_stime": 0.5,
        "cgroup_mem_current": 10000,
        "cgroup_mem_peak": 20000,
        "cgroup_mem_swap": 30,
        "cgroup_mem_anon": 1000,
        "cgroup_mem_file": 6000,
        "cgroup_mem_shmem": 3000,
        "cgroup_mem_kernel": 500,
        "cgroup_mem_unreclaimable": 4300,
        "cgroup_oom_kill": 1,
        "cgroup_io_read": 10,
        "cgroup_io_write": 20,
        "cgroup_pids": 2,
        "cgroup_cpu_pressure": 1.5,
        "cgroup_mem_pressure": 2.5,
        "cgroup_io_pressure": 3.5,
    }


def test_own_v1_cgroups_give_what_v1_counts(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    memory = Place(tree.cgroup("memory/own", V1_MEMORY_FILES), "/", 1, False, frozenset(("memory",)))
    cpu_files = {
        "cgroup.procs": "7\n",
        "cpuacct.usage": "2500000000\n",
        "cpuacct.stat": "user 200\nsystem 50\n",
    }
    cpuacct = Place(tree.cgroup("cpuacct/own", cpu_files), "/", 1, False, frozenset(("cpuacct",)))
    own = OwnCgroup(
        "own", Places(memory=memory, cpuacct=cpuacct), Places(), (memory.directory, cpuacct.directory)
    )
    assert readings(RealJob(7, own)) == {
        "cgroup_cputime": 2.5,
        "cgroup_utime": 2.0,
        "cgroup_stime": 0.5,
        "cgroup_mem_current": 10000,
        "cgroup_mem_peak": 20000,
        "cgroup_mem_kernel": 700,
        "cgroup_mem_anon": 1000,
        "cgroup_mem_file": 6000,
        "cgroup_mem_shmem": 3000,
        "cgroup_mem_unreclaimable": 4000,
        "cgroup_mem_swap": 30,
        "cgroup_oom_kill": 1,
        "cgroup_pids": 1,
    }


def test_only_selected_keys_are_read(tmp_path: Path) -> None:
    keys = frozenset(("cgroup_stime", "cgroup_mem_shmem", "cgroup_io_write"))
    job = RealJob(7, v2_own(Tree(tmp_path)))
    assert readings(job, keys) == {"cgroup_stime": 0.5, "cgroup_mem_shmem": 3000, "cgroup_io_write": 20}


def test_a_file_the_kernel_does_not_offer_leaves_its_key_absent(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    own = v2_own(tree)
    for name in ("memory.peak", "io.stat", "cpu.pressure"):
        (tmp_path / "sys/fs/cgroup/own" / name).unlink()
    missing = {"cgroup_mem_peak", "cgroup_io_read", "cgroup_io_write", "cgroup_cpu_pressure"}
    assert missing.isdisjoint(readings(RealJob(7, own)))


def test_a_pressure_file_without_some_leaves_its_key_absent(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    own = v2_own(tree)
    tree.cgroup("own", {"io.pressure": "full avg10=0.00 total=7\n", "cpu.pressure": ""})
    keys = frozenset(("cgroup_cpu_pressure", "cgroup_mem_pressure", "cgroup_io_pressure"))
    assert readings(RealJob(7, own), keys) == {"cgroup_mem_pressure": 2.5}


def test_a_file_that_breaks_later_drops_its_keys_and_keeps_the_rest(tmp_path: Path) -> None:
    source = cgroup.attach(
        RealJob(7, v2_own(Tree(tmp_path))), frozenset(("cgroup_mem_current", "cgroup_mem_peak"))
    )
    (tmp_path / "sys/fs/cgroup/own/memory.peak").write_text("garbage\n")
    assert list(source.read()) == [("cgroup_mem_current", "", 10000)]
    source.close()


def enclosed(tree: Tree, files: dict[str, str], above: dict[str, str]) -> RealJob:
    tree.process("0::/slice/session\n", pid="7")
    tree.process("0::/slice/session\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {})
    tree.cgroup("slice", {"cgroup.events": "", **above})
    tree.cgroup("slice/session", files)
    return RealJob(7, None, tree.paths)


def test_without_an_own_cgroup_the_enclosing_one_has_keys_of_its_own(tmp_path: Path) -> None:
    # without the peak: a plain file would keep the word that resets a real one
    job = enclosed(Tree(tmp_path), V2_FILES, {})
    assert readings(job, ALL - {"cgroup_outer_mem_peak"}) == {
        "cgroup_outer_cputime": 2.5,
        "cgroup_outer_mem_current": 10000,
        "cgroup_outer_mem_file": 6000,
        "cgroup_outer_mem_unreclaimable": 4300,
        "cgroup_outer_oom_kill": 1,
        "cgroup_outer_io_read": 10,
        "cgroup_outer_io_write": 20,
    }


def test_an_enclosing_peak_from_before_the_job_is_not_the_jobs(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("1:memory:/s\n", pid="7")
    tree.mounts("33 30 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory")
    tree.cgroup("memory/s", V1_MEMORY_FILES)
    source = cgroup.attach(RealJob(7, None, tree.paths), frozenset(("cgroup_outer_mem_peak",)))
    before = list(source.read())
    tree.cgroup("memory/s", {**V1_MEMORY_FILES, "memory.max_usage_in_bytes": "20480\n"})
    assert (before, list(source.read())) == ([], [("cgroup_outer_mem_peak", "", 20480)])
    source.close()


def test_a_root_cgroup_is_never_a_measure_of_the_job(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/\n", pid="7")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {name: text for name, text in V2_FILES.items() if name != "cgroup.events"})
    assert readings(RealJob(7, None, tree.paths)) == {}


def test_limits_are_counted_where_they_are_set_and_from_now_on(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    above = {
        "memory.max": "268435456\n",
        "memory.events": "max 100\noom_kill 0\n",
        "cpu.max": "50000 100000\n",
        "cpu.stat": "usage_usec 1\nnr_throttled 10\nthrottled_usec 1000000\n",
    }
    job = enclosed(tree, V2_FILES, above)
    keys = frozenset(("cgroup_mem_max_events", "cgroup_throttled", "cgroup_nr_throttled"))
    source = cgroup.attach(job, keys)
    tree.cgroup("slice", {"memory.events": "max 141\noom_kill 0\n"})
    tree.cgroup("slice", {"cpu.stat": "usage_usec 1\nnr_throttled 13\nthrottled_usec 3500000\n"})
    assert {key: value for key, _, value in source.read()} == {
        "cgroup_mem_max_events": 41,
        "cgroup_nr_throttled": 3,
        "cgroup_throttled": 2.5,
    }
    source.close()


def test_without_limits_there_are_no_limit_hits(tmp_path: Path) -> None:
    keys = frozenset(("cgroup_mem_max_events", "cgroup_throttled", "cgroup_nr_throttled"))
    assert readings(enclosed(Tree(tmp_path), V2_FILES, {}), keys) == {}


def test_a_cpu_only_own_cgroup_leaves_memory_to_the_enclosing_one(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    enclosed(tree, V2_FILES, {})
    outer = cgroupfs.locate(tree.paths)
    cpu_files = {
        "cpu.stat": "usage_usec 1000000\nuser_usec 900000\nsystem_usec 100000\n",
        "cgroup.procs": "7\n",
    }
    place = Place(tree.cgroup("slice/session/own", cpu_files), outer.every()[0].top, 2, False, frozenset())
    own = OwnCgroup("own", Places(cpuacct=place, unified=place), outer, (place.directory,))
    found = readings(
        RealJob(7, own), frozenset(("cgroup_cputime", "cgroup_outer_mem_current", "cgroup_outer_cputime"))
    )
    assert found == {"cgroup_cputime": 1.0, "cgroup_outer_mem_current": 10000}


def test_a_machine_without_cgroups_says_so(tmp_path: Path) -> None:
    assert cgroup.missing(Tree(tmp_path).paths) == "no cgroup file system is mounted"


def test_a_machine_with_cgroups_is_not_missing(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    enclosed(tree, V2_FILES, {})
    assert cgroup.missing(tree.paths) is None

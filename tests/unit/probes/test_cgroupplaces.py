"""Finding a process in the cgroup trees: v1, v2, hybrid, containers, namespaces."""

import os
from pathlib import Path

from jobmeter.probes import cgroupplaces
from jobmeter.probes.cgroupplaces import Place
from support.cgroups import Tree

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"


def v1_mount(controllers: str, root: str = "/", point: str = "") -> str:
    return f"33 30 0:30 {root} /sys/fs/cgroup/{point or controllers} rw - cgroup cgroup rw,{controllers}"


def directory(place: Place | None) -> str | None:
    return None if place is None else place.directory


def test_on_v2_one_directory_serves_every_purpose(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/user.slice/session-1.scope\n")
    tree.mounts(V2_MOUNT)
    here = tree.cgroup("user.slice/session-1.scope", {"cgroup.events": "populated 1\n"})
    places = cgroupplaces.locate(tree.paths)
    assert [directory(place) for place in places.every()] == [here]
    assert places.memory is places.cpuacct is places.cpu is places.pids is places.io is places.unified
    assert places.memory is not None
    assert (places.memory.version, places.memory.root) == (2, False)


def test_on_hybrid_memory_is_v1_although_a_0_line_exists(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/job\n3:cpu,cpuacct:/\n1:name=systemd:/job\n0::/job\n")
    tree.mounts(
        v1_mount("memory"),
        v1_mount("cpu,cpuacct"),
        v1_mount("name=systemd", point="systemd"),
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
    )
    memory = tree.cgroup("memory/job", {})
    cpu = tree.cgroup("cpu,cpuacct", {"release_agent": ""})
    unified = tree.cgroup("unified/job", {"cgroup.events": ""})
    places = cgroupplaces.locate(tree.paths)
    assert (directory(places.memory), directory(places.cpuacct), directory(places.unified)) == (
        memory,
        cpu,
        unified,
    )
    assert places.memory is not None
    assert (places.memory.version, places.memory.root) == (1, False)


def test_the_scope_is_told_per_controller(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/job\n2:cpuacct:/\n")
    tree.mounts(v1_mount("memory"), v1_mount("cpuacct"))
    tree.cgroup("memory/job", {})
    tree.cgroup("cpuacct", {"release_agent": ""})
    places = cgroupplaces.locate(tree.paths)
    assert places.memory is not None
    assert places.cpuacct is not None
    assert (places.memory.root, places.cpuacct.root) == (False, True)


def test_controllers_mounted_together_are_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("3:cpu,cpuacct:/a\n")
    tree.mounts(v1_mount("cpu,cpuacct"))
    tree.cgroup("cpu,cpuacct/a", {})
    places = cgroupplaces.locate(tree.paths)
    assert places.cpuacct is not None
    assert places.cpuacct.controllers == {"cpu", "cpuacct"}


def test_a_bind_mounted_subtree_is_cut_off_the_path(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/docker/b29f/inner\n")
    tree.mounts(v1_mount("memory", root="/docker/b29f"))
    here = tree.cgroup("memory/inner", {})
    assert directory(cgroupplaces.locate(tree.paths).memory) == here


def test_slash_inside_a_v2_namespace_is_not_the_root_cgroup(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {"cgroup.events": "populated 1\n"})
    memory = cgroupplaces.locate(tree.paths).memory
    assert memory is not None
    assert memory.root is False


def test_slash_with_the_files_of_the_root_is_the_root_cgroup(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {})
    memory = cgroupplaces.locate(tree.paths).memory
    assert memory is not None
    assert memory.root is True


def test_slash_inside_a_v1_namespace_is_not_the_root_cgroup(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/\n")
    tree.mounts(v1_mount("memory", root="/"))
    tree.cgroup("memory", {})
    memory = cgroupplaces.locate(tree.paths).memory
    assert memory is not None
    assert memory.root is False


def test_a_path_above_the_namespace_is_found_through_a_mount_of_the_same_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/../other.scope\n", pid="77")
    tree.mounts("30 23 0:26 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    here = tree.cgroup("other.scope", {"cgroup.events": ""})
    assert directory(cgroupplaces.locate(tree.paths, "77").memory) == here


def test_a_path_the_mount_does_not_explain_is_found_by_the_process_listed_there(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/../../user-1.slice/session-5.scope\n", pid="77")
    tree.mounts("30 23 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw")
    tree.cgroup("system.slice/user-1.slice/session-5.scope", {"cgroup.procs": "5\n6\n", "cgroup.events": ""})
    here = tree.cgroup(
        "user.slice/user-1.slice/session-5.scope", {"cgroup.procs": "7\n77\n", "cgroup.events": ""}
    )
    assert directory(cgroupplaces.locate(tree.paths, "77").memory) == here


def test_a_directory_without_the_process_is_not_taken_for_its_own(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/../../user-1.slice\n", pid="77")
    tree.mounts(V2_MOUNT)
    tree.cgroup("user-1.slice", {"cgroup.procs": "5\n"})
    assert cgroupplaces.locate(tree.paths, "77").memory is None


def test_a_host_path_in_a_container_is_found_at_the_mount_itself(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/ecs/task/container\n")
    tree.mounts(v1_mount("memory", root="/something/else"))
    here = tree.cgroup("memory", {"cgroup.procs": f"{os.getpid()}\n"})
    assert directory(cgroupplaces.locate(tree.paths).memory) == here


def test_a_later_mount_hides_an_earlier_one(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/b\n")
    tree.mounts(V2_MOUNT, "31 23 0:26 / /mnt/sys/fs/cgroup/late rw - cgroup2 cgroup2 rw")
    tree.cgroup("b", {"cgroup.events": ""})
    late = tree.cgroup("late/b", {"cgroup.events": ""})
    assert directory(cgroupplaces.locate(tree.paths).memory) == late


def test_a_mount_point_with_a_space_is_read(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/a:b\n")
    tree.mounts("33 30 0:30 / /sys/fs/cgroup/my\\040memory rw - cgroup cgroup rw,memory")
    here = tree.cgroup("my memory/a:b", {})
    assert directory(cgroupplaces.locate(tree.paths).memory) == here


def test_a_v1_controller_that_is_not_mounted_here_is_not_looked_for_on_v2(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/job\n0::/job\n")
    tree.mounts(V2_MOUNT)
    here = tree.cgroup("job", {"cgroup.events": ""})
    places = cgroupplaces.locate(tree.paths)
    assert (places.memory, directory(places.cpuacct)) == (None, here)


def test_a_removed_cgroup_is_nowhere(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/gone (deleted)\n")
    tree.mounts(V2_MOUNT)
    assert cgroupplaces.locate(tree.paths).every() == []


def test_garbage_and_missing_files_give_no_place(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert cgroupplaces.locate(tree.paths).every() == []
    tree.process("nonsense\n1:2\n::\n")
    tree.mounts("nonsense", "1 2 3 - cgroup2", "")
    assert cgroupplaces.locate(tree.paths).every() == []


def test_the_tightest_memory_limit_of_all_ancestors_holds(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/a/b\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {})
    above = tree.cgroup("a", {"memory.max": "268435456\n", "cgroup.events": ""})
    tree.cgroup("a/b", {"memory.max": "1073741824\n", "cgroup.events": ""})
    places = cgroupplaces.locate(tree.paths)
    assert cgroupplaces.memory_limit(places) == 268435456
    assert cgroupplaces.memory_limit_directory(places) == above


def test_a_v1_limit_above_a_bind_mount_is_known_from_memory_stat(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("4:memory:/docker/b29f\n")
    tree.mounts(v1_mount("memory", root="/docker/b29f"))
    unlimited = "9223372036854771712\n"
    stat = "hierarchical_memory_limit 536870912\n"
    tree.cgroup("memory", {"memory.limit_in_bytes": unlimited, "memory.stat": stat})
    places = cgroupplaces.locate(tree.paths)
    assert cgroupplaces.memory_limit(places) == 536870912
    assert cgroupplaces.memory_limit_directory(places) is None


def test_no_limit_anywhere_is_none(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.process("0::/a\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("a", {"memory.max": "max\n", "cpu.max": "max 100000\n", "cgroup.events": ""})
    places = cgroupplaces.locate(tree.paths)
    assert (cgroupplaces.memory_limit(places), cgroupplaces.cpu_quota(places)) == (None, None)


def test_the_tightest_quota_of_all_ancestors_holds_on_v1_and_v2(tmp_path: Path) -> None:
    v2, v1 = Tree(tmp_path / "v2"), Tree(tmp_path / "v1")
    v2.process("0::/a/b\n")
    v2.mounts(V2_MOUNT)
    v2.cgroup("a", {"cpu.max": "400000 100000\n", "cgroup.events": ""})
    tight = v2.cgroup("a/b", {"cpu.max": "150000 100000\n", "cgroup.events": ""})
    v1.process("3:cpu,cpuacct:/a/b\n")
    v1.mounts(v1_mount("cpu,cpuacct"))
    v1.cgroup("cpu,cpuacct/a", {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"})
    v1.cgroup("cpu,cpuacct/a/b", {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"})
    places = cgroupplaces.locate(v2.paths)
    assert (cgroupplaces.cpu_quota(places), cgroupplaces.cpu_quota_directory(places)) == (1.5, tight)
    assert cgroupplaces.cpu_quota(cgroupplaces.locate(v1.paths)) == 0.5


def test_limits_of_nowhere_are_none() -> None:
    nowhere = cgroupplaces.Places()
    assert cgroupplaces.memory_limit(nowhere) is None
    assert cgroupplaces.memory_limit_directory(nowhere) is None
    assert cgroupplaces.cpu_quota(nowhere) is None
    assert cgroupplaces.cpu_quota_directory(nowhere) is None

"""Where a job's own cgroup may go: decided on trees of files; real kernels are in tests/truth."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobmeter.probes import cgroupfs
from jobmeter.probes.cgroupfs import Place
from support.cgroups import Tree

NAME = "jobmeter-20261115T095001Z-7f3a9c-4711"
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
NEUTRAL = {
    "cgroup.events": "populated 1\n",
    "cpu.max": "max 100000\n",
    "cpu.weight": "100\n",
    "memory.high": "max\n",
    "memory.max": "max\n",
    "memory.swap.max": "max\n",
    "pids.max": "max\n",
    "cpuset.cpus": "\n",
    "io.max": "",
}


def v2_tree(root: Path, current: str, files: Mapping[str, str], enabled: str = "cpu memory pids") -> Tree:
    tree = Tree(root)
    tree.process(f"0::/{current}\n")
    tree.mounts(V2_MOUNT)
    tree.cgroup("", {"cgroup.subtree_control": f"{enabled}\n"})
    if "/" in current:
        tree.cgroup(os.path.dirname(current), {"cgroup.subtree_control": f"{enabled}\n", "cgroup.events": ""})
    tree.cgroup(current, files)
    return tree


def made(tree: Tree) -> tuple[list[str], str]:
    """Make an own cgroup and tell where, below /sys/fs/cgroup of the tree."""
    own, reason = cgroupfs.create_own(tree.paths, NAME)
    if own is None:
        return [], reason
    top = f"{tree.paths.sys}/fs/cgroup/"
    return [directory.removeprefix(top) for directory in own.directories], reason


def test_the_name_tells_the_run_and_the_recorder() -> None:
    assert cgroupfs.own_name("20261115T095001Z-7f3a9c", 4711) == NAME


def test_on_v2_a_sibling_is_made_where_the_current_cgroup_sets_nothing(tmp_path: Path) -> None:
    assert made(v2_tree(tmp_path, "user.slice/session-1.scope", NEUTRAL)) == ([f"user.slice/{NAME}"], "")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("memory.max", "268435456\n"),
        ("memory.high", "268435456\n"),
        ("memory.swap.max", "0\n"),
        ("memory.low", "1048576\n"),
        ("cpu.max", "150000 100000\n"),
        ("cpu.weight", "50\n"),
        ("cpu.idle", "1\n"),
        ("pids.max", "512\n"),
        ("cpuset.cpus", "0-3\n"),
        ("io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=max\n"),
        ("io.weight", "default 50\n"),
    ],
)
def test_on_v2_no_setting_of_the_current_cgroup_is_escaped(tmp_path: Path, file: str, text: str) -> None:
    tree = v2_tree(tmp_path, "user.slice/session-1.scope", {**NEUTRAL, file: text})
    directories, reason = made(tree)
    assert f"user.slice/{NAME}" not in directories
    assert reason.startswith(f"memory: the current cgroup sets {file}, which a sibling would escape")
    assert not (tmp_path / "sys/fs/cgroup/user.slice" / NAME).exists()


@pytest.mark.parametrize(
    ("current", "why"),
    [
        ("system.slice/build.service", "memory: the service manager would lose a job beside its service"),
        ("user.slice/jobmeter-x-1", "memory: this is the cgroup of another run, which a sibling would leave"),
    ],
)
def test_on_v2_a_sibling_never_leaves_a_service_or_another_run(
    tmp_path: Path, current: str, why: str
) -> None:
    directories, reason = made(v2_tree(tmp_path, current, NEUTRAL))
    assert reason.startswith(why)
    assert f"{os.path.dirname(current)}/{NAME}" not in directories


def test_on_v2_no_sibling_is_made_where_the_parent_gives_no_memory_controller(tmp_path: Path) -> None:
    directories, reason = made(v2_tree(tmp_path, "user.slice/session-1.scope", NEUTRAL, enabled="pids"))
    assert f"user.slice/{NAME}" not in directories
    assert reason.startswith("memory: the controller is not enabled there")


def test_in_a_container_the_cgroup_above_is_hidden(tmp_path: Path) -> None:
    _, reason = made(v2_tree(tmp_path, "", NEUTRAL))
    assert reason.startswith("memory: the cgroup above is hidden from here")


def test_below_the_true_root_of_v2_a_child_with_controllers_is_made(tmp_path: Path) -> None:
    tree = v2_tree(tmp_path, "", {"cgroup.subtree_control": "memory\n"})
    assert made(tree) == ([NAME], "")


@pytest.mark.parametrize(("autogroup", "weight"), [("0\n", 100 * (os.cpu_count() or 1)), ("1\n", 100)])
def test_leaving_the_root_of_v2_keeps_the_share_of_the_cpus(
    tmp_path: Path, autogroup: str, weight: int
) -> None:
    tree = v2_tree(tmp_path, "", {"cgroup.subtree_control": "cpu memory\n"})
    tree.write("proc/sys/kernel/sched_autogroup_enabled", autogroup)
    # a real kernel makes this file together with the directory
    made_here = Place(tree.cgroup(NAME, {"cpu.weight": "100"}), tree.paths.sys, 2, False, frozenset())
    cgroupfs._keep_share(tree.paths, made_here)
    assert int(Path(made_here.directory, "cpu.weight").read_text()) == weight


def test_a_child_that_counts_no_cpu_time_is_not_kept(tmp_path: Path) -> None:
    # plain directories have no cpu.stat, as a v2 cgroup before Linux 4.15
    tree = v2_tree(tmp_path, "", {"cgroup.subtree_control": "\n"})
    assert made(tree) == ([], "memory: the controller is not enabled there")
    assert not (tmp_path / "sys/fs/cgroup" / NAME).exists()


def v1_tree(root: Path, *controllers: str) -> Tree:
    tree = Tree(root)
    tree.process("".join(f"{at}:{name}:/job\n" for at, name in enumerate(controllers, 1)))
    tree.mounts(*(f"33 30 0:30 / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}" for name in controllers))
    for name in controllers:
        tree.cgroup(f"{name}/job", {})
    return tree


def test_on_v1_a_child_is_made_per_controller(tmp_path: Path) -> None:
    assert made(v1_tree(tmp_path, "memory", "cpuacct")) == ([f"memory/job/{NAME}", f"cpuacct/job/{NAME}"], "")


def test_on_v1_controllers_mounted_together_share_one_child(tmp_path: Path) -> None:
    assert made(v1_tree(tmp_path, "cpuacct,memory")) == ([f"cpuacct,memory/job/{NAME}"], "")


def test_on_v1_nothing_is_made_where_the_scheduler_is_mounted_too(tmp_path: Path) -> None:
    directories, reason = made(v1_tree(tmp_path, "memory", "cpu,cpuacct"))
    assert directories == [f"memory/job/{NAME}"]
    assert reason == "cpuacct: mounted together with cpu"
    assert not (tmp_path / "sys/fs/cgroup/cpu,cpuacct/job" / NAME).exists()


def test_on_v1_no_child_is_made_that_would_escape_the_limit_above(tmp_path: Path) -> None:
    tree = v1_tree(tmp_path, "memory")
    tree.cgroup("memory/job", {"memory.use_hierarchy": "0\n"})
    assert made(tree) == ([], "memory: the limit above would not hold (memory.use_hierarchy is 0)")


def test_without_cgroups_the_reason_is_told(tmp_path: Path) -> None:
    assert made(Tree(tmp_path)) == ([], "no cgroup file system is mounted")


def test_a_directory_that_cannot_be_made_is_a_reason(tmp_path: Path) -> None:
    tree = v1_tree(tmp_path, "memory")
    taken = tree.cgroup(f"memory/job/{NAME}", {})
    assert made(tree) == ([], f"memory: cannot make {taken} (File exists)")


def test_a_job_that_ended_unseen_is_confirmed_by_what_it_used(tmp_path: Path) -> None:
    tree = v1_tree(tmp_path, "memory", "cpuacct")
    own, _ = cgroupfs.create_own(tree.paths, NAME)
    assert own is not None
    tree.cgroup(f"memory/job/{NAME}", {"memory.max_usage_in_bytes": "262144\n"})
    tree.cgroup(f"cpuacct/job/{NAME}", {"cpuacct.usage": "0\n"})
    confirmed = own.confirmed(tree.paths, 99)
    assert (confirmed.places.memory is None, confirmed.places.cpuacct is None) == (False, True)
    assert confirmed.directories == own.directories


def test_a_job_is_confirmed_by_its_own_cgroup_file(tmp_path: Path) -> None:
    tree = v1_tree(tmp_path, "memory", "cpuacct")
    own, _ = cgroupfs.create_own(tree.paths, NAME)
    assert own is not None
    tree.process(f"1:memory:/job\n2:cpuacct:/job/{NAME}\n", pid="99")
    confirmed = own.confirmed(tree.paths, 99)
    assert (confirmed.places.memory is None, confirmed.places.cpuacct is None) == (True, False)


def test_a_join_that_is_refused_is_told_and_the_others_still_happen(tmp_path: Path) -> None:
    tree = v1_tree(tmp_path, "memory", "cpuacct")
    own, _ = cgroupfs.create_own(tree.paths, NAME)
    assert own is not None
    procs = Path(tree.cgroup(f"cpuacct/job/{NAME}", {}), "cgroup.procs")
    assert own.join() is False
    assert procs.read_text() == "0"

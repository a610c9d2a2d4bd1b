"""What was true at the start, against git and files written out here."""

import os
import subprocess
from pathlib import Path

import pytest

from jobmeter.probes.paths import Paths
from jobmeter.recording import context

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git(folder: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    names = ["-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Give a repository with one commit on main."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def test_the_commit_and_branch_are_those_git_names(repository: Path) -> None:
    (repository / "a/b").mkdir(parents=True)
    expected = {"branch": "main", "commit": git(repository, "rev-parse", "HEAD")}
    assert context.git(str(repository)) == expected
    assert context.git(str(repository / "a/b")) == expected


def test_a_branch_with_a_slash_keeps_its_name(repository: Path) -> None:
    git(repository, "switch", "-q", "-c", "feature/x")
    assert context.git(str(repository)) == {
        "branch": "feature/x",
        "commit": git(repository, "rev-parse", "HEAD"),
    }


def test_packed_references_are_found(repository: Path) -> None:
    git(repository, "tag", "-a", "v1", "-m", "x")
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git/refs/heads/main").exists()
    assert context.git(str(repository)) == {"branch": "main", "commit": git(repository, "rev-parse", "HEAD")}


def test_a_detached_head_has_a_commit_and_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert context.git(str(repository)) == {"commit": git(repository, "rev-parse", "HEAD")}


def test_a_worktree_has_its_own_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "commit", "-q", "--allow-empty", "-m", "two")
    found = context.git(str(tmp_path / "side"))
    assert found == {"branch": "side", "commit": git(tmp_path / "side", "rev-parse", "HEAD")}
    assert found != context.git(str(repository))


def test_a_branch_without_a_commit_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert context.git(str(tmp_path)) == {"branch": "main"}


def test_a_repository_whose_references_are_in_tables_is_not_guessed_at(tmp_path: Path) -> None:
    """With `reftable` HEAD names a branch that never exists."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    assert context.git(str(tmp_path)) is None


def test_outside_a_repository_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert context.git(str(tmp_path)) is None
    (tmp_path / ".git").mkdir()
    assert context.git(str(tmp_path)) is None


def test_a_broken_pointer_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert context.git(str(tmp_path)) is None


def test_the_memory_of_the_machine_is_read_from_its_table(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       16384 kB\nMemFree: 1 kB\n")
    assert context.host_memory(Paths(proc=str(tmp_path))) == 16384 * 1024


def test_without_that_table_the_system_is_asked(tmp_path: Path) -> None:
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    found = context.host_memory(Paths(proc=str(tmp_path)))
    assert found is not None
    assert abs(found - total) < 0.02 * total


def test_the_host_is_this_one() -> None:
    found = context.host(Paths())
    assert (found["hostname"], found["system"], found["cpus"]) == (
        os.uname().nodename,
        "Linux",
        os.cpu_count(),
    )
    assert str(found["distribution"]) in Path("/etc/os-release").read_text()


def test_the_user_is_the_one_who_runs_this() -> None:
    assert context.user() == {"uid": 0, "name": "root"}


@pytest.mark.parametrize(
    ("environ", "memory", "source"),
    [
        ({"SLURM_MEM_PER_NODE": "4"}, 4 << 20, "slurm"),
        ({"SLURM_MEM_PER_CPU": "2", "SLURM_CPUS_ON_NODE": "3"}, 6 << 20, "slurm"),
        ({"SLURM_MEM_PER_CPU": "2"}, 16 << 20, "host"),
        ({"SLURM_MEM_PER_NODE": "0"}, 16 << 20, "host"),
        ({"SLURM_MEM_PER_NODE": "much"}, 16 << 20, "host"),
        ({"SLURM_MEM_PER_NODE": "999999999"}, 16 << 20, "host"),
        ({}, 16 << 20, "host"),
    ],
)
def test_the_tightest_memory_limit_is_named(
    environ: dict[str, str], memory: int, source: str, tmp_path: Path
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:       16384 kB\n")
    found = context.limits(Paths(proc=str(tmp_path), sys=str(tmp_path)), environ)
    assert (found["memory_bytes"], found["memory_source"]) == (memory, source)


def test_the_cpus_a_job_may_use_are_the_fewest_anybody_allows(tmp_path: Path) -> None:
    paths = Paths(proc=str(tmp_path), sys=str(tmp_path))
    allowed = float(len(os.sched_getaffinity(0)))
    assert context.limits(paths, {})["cpus"] == allowed
    found = context.limits(paths, {"SLURM_CPUS_PER_TASK": "1"})
    assert (found["cpus"], found["cpus_source"]) == (1.0, "slurm" if allowed > 1 else "affinity")

"""Little room and strange places: few descriptors, little memory, thousands of processes, reused pids, no rights."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jobmeter
from support.recorder import JOBMETER, Home, events, lines, merged, only_folder, series, usage

MIB = 1 << 20
SLEEPERS = """
import os, sys, time
count, hold = int(sys.argv[1]), float(sys.argv[2])
pids = []
end, hold_on = os.pipe()
for _ in range(count):
    pid = os.fork()
    if pid == 0:
        os.close(hold_on); os.read(end, 1); os._exit(0)
    pids.append(pid)
time.sleep(hold)
os.close(hold_on)
for pid in pids: os.waitpid(pid, 0)
sys.exit(7)
"""


@pytest.mark.parametrize("limit", [64, 32, 14])
@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_few_descriptors_are_enough(limit: int, own_cgroup: str, home: Home) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    words = [
        "-q",
        "--own-cgroup",
        own_cgroup,
        "--sample-interval",
        "0.05",
        sys.executable,
        "-S",
        "-c",
        SLEEPERS,
    ]
    done = home.run(*words, "40", "0.4", preexec_fn=few)
    assert (done.code, done.stderr) == (7, b"")
    run = merged(done.folder)
    assert run["exit_code"] == 7
    assert run["summary"]["wait_cputime"] > 0
    if limit == 64:
        assert run["summary"]["proc_peak_count"] == 41


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_two_thousand_processes_are_measured(own_cgroup: str, home: Home) -> None:
    words = ["-q", "--own-cgroup", own_cgroup, "--report-interval", "1", sys.executable, "-S", "-c", SLEEPERS]
    done = home.run(*words, "2000", "2.5", seconds=60)
    assert (done.code, done.stderr) == (7, b"")
    assert done.run["summary"]["proc_peak_count"] == 2001
    total = sum(value for _, value in series(done.folder, "wait_cputime"))
    assert total == pytest.approx(done.run["summary"]["wait_cputime"], abs=1e-3)
    widest = max(len(line["measurements"].get("proc_rss", {})) for line in usage(done.folder))
    assert widest == 51  # the largest fifty and the rest


REUSE = """
import os, sys, time
def child(seconds, hold):
    pid = os.fork()
    if pid == 0:
        while time.process_time() < seconds: pass
        time.sleep(hold); os._exit(0)
    return pid
first = child(0.3, 0.3)
time.sleep(0.8)
os.waitpid(first, 0)
open('/proc/sys/kernel/ns_last_pid', 'w').write(str(first - 1))
second = child(0.1, 0.5)
assert second == first, (first, second)
os.waitpid(second, 0)
print(first)
"""


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_a_reused_pid_is_a_new_series(own_cgroup: str, home: Home) -> None:
    """In a pid namespace of its own the next pid can be chosen."""
    words = ["-q", "--own-cgroup", own_cgroup, "--sample-interval", "0.05", "--report-interval", "0.2"]
    line = ["unshare", "-pf", "--mount-proc", *JOBMETER, "run", *words, sys.executable, "-S", "-c", REUSE]
    done = subprocess.run(line, env=home.environ(), capture_output=True, check=True, timeout=30)
    folder = only_folder(home.path)
    used: dict[str, float] = {}
    for instance, seconds in series(folder, "proc_cputime"):
        if instance.startswith(f"{int(done.stdout)}@"):
            used[instance] = used.get(instance, 0.0) + seconds
    older, newer = sorted(used, key=lambda instance: int(instance.partition("@")[2]))
    assert 0.28 <= used[older] <= 0.45
    assert 0.08 <= used[newer] <= 0.25
    assert merged(folder)["summary"]["wait_cputime"] == pytest.approx(sum(used.values()), abs=0.15)


def test_a_working_directory_that_is_gone_does_not_matter(home: Home, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f'cd "$1" && rmdir "$1" && exec {" ".join(JOBMETER)} run -q sh -c "echo ran; exit 7"'
    words = ["sh", "-c", line, "sh", str(tmp_path / "gone")]
    done = subprocess.run(words, env=home.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (7, b"ran\n")
    assert merged(only_folder(home.path))["exit_code"] == 7


def test_a_run_folder_that_is_removed_meanwhile_costs_the_run_only(home: Home) -> None:
    script = f'sleep 0.3; rm -rf "{home.path}"; sleep 0.3; echo ran; exit 7'
    done = home.run("--sample-interval", "0.05", "--report-interval", "0.1", "sh", "-c", script)
    assert (done.code, done.stdout) == (7, b"ran\n")
    assert b"Traceback" not in done.stderr


def test_a_job_that_removes_the_recorder_itself_keeps_its_exit_code(home: Home, tmp_path: Path) -> None:
    """As an upgrade of the environment the recorder runs from does."""
    package = Path(jobmeter.__file__).parent
    shutil.copytree(package, tmp_path / "copy/jobmeter", ignore=shutil.ignore_patterns("__pycache__"))
    words = [
        sys.executable,
        "-P",
        "-m",
        "jobmeter",
        "run",
        "sh",
        "-c",
        f"rm -rf {tmp_path}/copy; sleep 0.2; exit 7",
    ]
    env = home.environ(PYTHONPATH=str(tmp_path / "copy"), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(words, env=env, capture_output=True, check=False)
    assert done.returncode == 7
    assert b"Traceback" not in done.stderr


def test_little_address_space_is_enough(home: Home) -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (64 * MIB, 64 * MIB))

    done = home.run("-q", "--sample-interval", "0.05", "sh", "-c", "sleep 0.3; exit 7", preexec_fn=little)
    assert (done.code, done.stderr) == (7, b"")
    assert done.run["summary"]["wait_cputime"] > 0


def test_a_process_limit_that_is_reached_is_the_jobs_problem(home: Home) -> None:
    """The recorder itself needs no further process."""
    limited = "import resource, os; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))"
    done = home.run("-q", "--sample-interval", "0.05", sys.executable, "-c", f"{limited}; os._exit(7)")
    assert done.code == 7


RECORD = [*JOBMETER, "run", "-q", "--own-cgroup", "never", "--sample-interval", "0.05"]
ORDINARY = ["setpriv", "--bounding-set=-sys_ptrace,-dac_override,-dac_read_search", "--clear-groups", *RECORD]
OTHER_USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
BURN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.3"


def test_io_of_another_users_process_is_known_when_it_is_waited_for(home: Home) -> None:
    """Without ptrace rights /proc/PID/io of another user cannot be read while it lives."""
    line = [*ORDINARY, *OTHER_USER, "sh", "-c", f"head -c 3000000 /dev/zero >/dev/null; {BURN}"]
    done = subprocess.run(line, env=home.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    run = merged(only_folder(home.path))
    assert "inexact" not in run
    assert 3_000_000 <= run["summary"]["wait_wchar"] < 3_100_000
    assert run["summary"]["wait_cputime"] > 0.02
    assert events(only_folder(home.path), "source_failed") == []


def test_processes_hidden_by_hidepid_still_count(home: Home) -> None:
    """The other user's processes are not in /proc at all: their CPU time arrives when they are waited for."""
    hide = ["unshare", "-mpf", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    inner = ["sh", "-c", '"$@"; exit 7', "sh", *OTHER_USER, "sh", "-c", BURN]
    done = subprocess.run([*hide, *ORDINARY, *inner], env=home.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (7, b"")
    run = merged(only_folder(home.path))
    assert run["summary"]["wait_cputime"] > 0.02
    assert run["exit_code"] == 7
    assert events(only_folder(home.path), "source_failed") == []


def test_without_proc_the_job_still_runs(home: Home) -> None:
    """A chroot without /proc: nearly nothing can be measured, and the job does not care."""
    inner = f'mount -t tmpfs none /proc && {" ".join(JOBMETER)} run -q sh -c "echo ran; exit 7"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", inner], env=home.environ(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (7, b"ran\n")
    assert b"Traceback" not in done.stderr
    folder = only_folder(home.path)
    assert merged(folder)["exit_code"] == 7
    assert lines(folder / "run.jsonl")


def test_a_read_only_cgroup_file_system_is_no_obstacle(home: Home) -> None:
    inner = (
        "for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,ro,bind $m; done; "
        f'{" ".join(JOBMETER)} run -q --sample-interval 0.05 sh -c "sleep 0.2; exit 7"'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", inner], env=home.environ(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (7, b"")
    run = merged(only_folder(home.path))
    assert "own_cgroup" in run["provenance"]["missing"]
    assert "cgroup_cputime" not in run["summary"]


def test_a_required_cgroup_that_cannot_be_made_is_125(home: Home, tmp_path: Path) -> None:
    inner = (
        "for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,ro,bind $m; done; "
        f"{' '.join(JOBMETER)} run --own-cgroup require touch {tmp_path}/started"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", inner], env=home.environ(), capture_output=True, check=False
    )
    assert done.returncode == 125
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("jobmeter: cannot make a cgroup for the job: ")
    assert (
        said[1]
        == "hint: run as root or in a delegated cgroup, or use --own-cgroup auto; see: jobmeter doctor"
    )
    assert not (tmp_path / "started").exists()
    assert home.folders() == []
    assert os.path.isdir(home.path)

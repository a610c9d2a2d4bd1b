"""`jobmeter attach PID` watches a job that is not ours and leaves it as it is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.recorder import JOBMETER, Finished, Home, merged, records, sampled, series, wait_for

BURN = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass\nraise SystemExit(7)"


def attach(home: Home, *words: str) -> "subprocess.Popen[bytes]":
    """Start `jobmeter attach` in a group with a parent outside of it: an orphaned group cannot be stopped."""
    return subprocess.Popen(
        [*JOBMETER, "attach", *words],
        env=home.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )


@pytest.fixture
def job() -> Iterator["subprocess.Popen[bytes]"]:
    """Give a job that would run for a minute."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_a_running_job_is_recorded_to_its_end(home: Home) -> None:
    job = subprocess.Popen([sys.executable, "-S", "-c", BURN.format(1.0)], cwd="/")
    process = attach(home, "--sample-interval", "0.1", str(job.pid))
    wait_for(lambda: sampled(home.path))
    assert job.wait() == 7
    done = home.finish(process)
    assert done.code == 0
    run = done.run
    assert (run["status"], run["exit_code"], run["signal"]) == ("failed", 7, None)
    assert run["command"][0] == sys.executable
    assert (run["cwd"], run["attached"]) == ("/", True)
    used = run["summary"]["wait_cputime"]
    assert 0.3 <= used <= 1.1  # what it used before is not known here
    assert "attached to a running job" in run["inexact"]["wait_cputime"]
    assert sum(value for _, value in series(done.folder, "wait_cputime")) == pytest.approx(used, abs=1e-4)
    assert b"jobmeter: failed (exit 7)" in done.stderr


def test_how_a_signal_ended_the_job_is_known(home: Home, job: "subprocess.Popen[bytes]") -> None:
    process = attach(home, "-q", str(job.pid))
    wait_for(lambda: sampled(home.path))
    job.kill()
    job.wait()
    run = home.finish(process).run
    assert (run["status"], run["exit_code"], run["signal"]) == ("killed", 137, "SIGKILL")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_leaving_lets_the_job_alone(
    number: signal.Signals, home: Home, job: "subprocess.Popen[bytes]"
) -> None:
    process = attach(home, "-q", str(job.pid))
    wait_for(lambda: sampled(home.path))
    process.send_signal(number)
    done = home.finish(process)
    assert (done.code, done.stderr) == (0, b"")
    assert (done.run["status"], done.run["exit_code"]) == ("cancelled", None)
    assert done.run["error"] == "detached; the job goes on"
    assert job.poll() is None


def test_leaving_before_the_first_look_still_ends_the_record(
    home: Home, job: "subprocess.Popen[bytes]"
) -> None:
    """strace interrupts while the run folder is made."""
    trace = ["strace", "-o", "/dev/null", "-e", "trace=mkdir", "-e", "inject=mkdir:signal=INT:when=3"]
    words = [*trace, *JOBMETER, "attach", "-q", str(job.pid)]
    done = subprocess.run(words, env=home.environ(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert records(home.folders()[0])["end"]["status"] == "cancelled"
    assert job.poll() is None


def test_a_timeout_ends_the_watch_and_not_the_job(home: Home, job: "subprocess.Popen[bytes]") -> None:
    done = home.finish(attach(home, "-q", "--timeout", "0.3", str(job.pid)))
    assert done.run["status"] == "cancelled"
    assert job.poll() is None


def test_ctrl_z_stops_the_watch(home: Home, job: "subprocess.Popen[bytes]") -> None:
    process = attach(home, "-q", str(job.pid))
    wait_for(lambda: sampled(home.path))
    process.send_signal(signal.SIGTSTP)
    wait_for(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    assert home.finish(process).code == 0


def test_descendants_are_recorded_and_strangers_are_not(home: Home) -> None:
    script = "for i in 1 2 3; do sleep 60 & done; wait"
    job = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    stranger = subprocess.Popen(["sleep", "61"])
    wait_for(lambda: len(Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()) == 3)
    process = attach(home, "-q", "--sample-interval", "0.1", "--report-interval", "0.2", str(job.pid))
    folder = wait_for(lambda: sampled(home.path))
    wait_for(lambda: b'"proc_cmd"' in (folder / "usage.jsonl").read_bytes())
    process.send_signal(signal.SIGTERM)
    home.finish(process)
    os.killpg(job.pid, signal.SIGKILL)
    stranger.kill()
    job.wait()
    stranger.wait()
    commands = sorted(command for _, command in series(folder, "proc_cmd"))
    assert commands == ["sh -c for i in 1 2 3; do sleep 60 & done; wait", "sleep 60", "sleep 60", "sleep 60"]
    assert merged(folder)["summary"]["proc_peak_count"] == 4


def refused(home: Home, *words: str, cwd: str | None = None) -> Finished:
    done = subprocess.run(
        [*JOBMETER, "attach", *words], env=home.environ(), capture_output=True, check=False, cwd=cwd
    )
    return Finished(done.returncode, done.stdout, done.stderr, home.path)


@pytest.mark.parametrize("pid", ["4194305", "99999999999999999999", "0"])
def test_a_pid_nobody_has_is_bad_input(pid: str, home: Home) -> None:
    done = refused(home, pid)
    assert done.code == 2
    assert done.stderr.decode().splitlines() == [
        f"jobmeter: no such process: {pid}",
        "hint: give the pid of a running process, as ps shows it",
    ]
    assert home.folders() == []


@pytest.mark.parametrize("words", [[], ["make"], ["-1"], ["1", "2"], ["²"], ["1.5"]])
def test_what_is_no_pid_is_bad_input(words: list[str], home: Home) -> None:
    done = refused(home, *words)
    assert done.code == 2
    assert len(done.stderr.decode().splitlines()) == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--nmae", "x", "1"],
        ["--timeout", "soon", "1"],
        ["--home", "/proc/x", "1"],
        ["--measurements", "x", "1"],
    ],
)
def test_bad_options_are_bad_input_and_not_a_jobs_exit_code(words: list[str], home: Home) -> None:
    done = refused(home, *words)
    assert done.code == 2
    assert done.stderr.startswith(b"jobmeter: ")


def test_only_the_asked_for_keys_are_recorded(home: Home, job: "subprocess.Popen[bytes]") -> None:
    done = home.finish(
        attach(home, "-q", "--measurements", "proc_rss_total", "--timeout", "0.2", str(job.pid))
    )
    assert set(done.run["summary"]) == {"proc_peak_rss_total", "proc_mean_rss_total"}


def test_a_working_directory_that_is_gone_does_not_matter(
    home: Home, job: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    line = f'cd "$1" && rmdir "$1" && exec {" ".join(JOBMETER)} attach -q --timeout 0.1 {job.pid}'
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        ["sh", "-c", line, "sh", str(tmp_path / "gone")], env=home.environ(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_process_that_hides_its_folder_is_recorded_all_the_same(home: Home) -> None:
    """Without ptrace rights nobody may ask where another user's process is."""
    job = subprocess.Popen(["setpriv", "--reuid", "65534", "--clear-groups", "sleep", "60"])
    wait_for(lambda: Path(f"/proc/{job.pid}/comm").read_text() == "sleep\n")
    ordinary = ["setpriv", "--bounding-set=-sys_ptrace,-dac_override,-dac_read_search"]
    words = [*ordinary, *JOBMETER, "attach", "-q", "--timeout", "0.2", str(job.pid)]
    done = subprocess.run(words, env=home.environ(), capture_output=True, check=False)
    job.kill()
    job.wait()
    assert (done.returncode, done.stderr) == (0, b"")
    run = Finished(0, b"", b"", home.path).run
    assert "cwd" not in run
    assert run["summary"]["proc_peak_count"] == 1


def test_the_help_names_the_pid() -> None:
    done = subprocess.run([*JOBMETER, "attach", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: jobmeter attach [options] PID\n")

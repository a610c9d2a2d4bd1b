"""Signals sent to the recorder reach the whole job once, and the end is always written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.recorder import Home, children, events, records, sampled, wait_for

COUNTING = """
import os, signal, sys, time
folder = sys.argv[1]
def note(number, frame):
    with open(f'{folder}/{os.getpid()}', 'a') as file: file.write(f'{number}\\n')
for number in (1, 2, 3, 10, 12, 15, 18, 24): signal.signal(number, note)
pids = [p for p in (os.fork() for _ in range(2)) if p]
open(f'{folder}/{os.getpid()}.ready', 'w').close()
while not os.path.exists(folder + '/stop'): time.sleep(0.01)
if len(pids) == 2:
    for pid in pids: os.waitpid(pid, 0)
    sys.exit(9)
os._exit(0)
"""
"""Four processes: two forks of one make the original, two children and a grandchild."""


def counting(home: Home, tmp_path: Path) -> "subprocess.Popen[bytes]":
    process = home.start("-q", sys.executable, "-c", COUNTING, str(tmp_path), start_new_session=True)
    wait_for(lambda: len(list(tmp_path.glob("*.ready"))) == 4)
    wait_for(lambda: sampled(home.path))
    return process


def received(tmp_path: Path) -> list[list[int]]:
    return [[int(line) for line in path.read_text().split()] for path in tmp_path.glob("[0-9]*[0-9]")]


ALL = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGXCPU"]


def test_each_signal_reaches_every_process_exactly_once(home: Home, tmp_path: Path) -> None:
    process = counting(home, tmp_path)
    for sent, name in enumerate(ALL, 1):
        process.send_signal(signal.Signals[name])
        wait_for(lambda sent=sent: [len(got) for got in received(tmp_path)] == [sent] * 4)
    (tmp_path / "stop").touch()
    done = home.finish(process)
    assert received(tmp_path) == [[int(signal.Signals[name]) for name in ALL]] * 4
    assert done.code == 9
    assert [event["details"]["signal"] for event in events(done.folder, "signal")] == ALL
    assert (done.run["exit_code"], done.run["status"]) == (9, "cancelled")


def test_a_signal_to_our_whole_group_reaches_the_job_once(home: Home, tmp_path: Path) -> None:
    """As `kill -TERM -PGID` and a closing shell send it: the job is in a group of its own."""
    process = counting(home, tmp_path)
    os.killpg(process.pid, signal.SIGTERM)
    wait_for(lambda: [len(got) for got in received(tmp_path)] == [1] * 4)
    (tmp_path / "stop").touch()
    assert home.finish(process).code == 9
    assert received(tmp_path) == [[15]] * 4


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"])
def test_a_job_that_a_passed_signal_ends_is_cancelled(name: str, home: Home) -> None:
    process = home.start("-q", "sh", "-c", "ulimit -c 0; sleep 60; :", start_new_session=True)
    wait_for(lambda: sampled(home.path))
    process.send_signal(signal.Signals[name])
    done = home.finish(process)
    number = int(signal.Signals[name])
    assert done.code == 128 + number
    end = records(done.folder)["end"]
    cancelled = name not in ("SIGUSR1", "SIGUSR2")
    assert (end["status"], end["signal"]) == ("cancelled" if cancelled else "killed", name)
    assert end["summary"]["wait_cputime"] >= 0


def test_a_third_interrupt_kills(home: Home, tmp_path: Path) -> None:
    process = counting(home, tmp_path)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: received(tmp_path) == [[2]] * 4)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: received(tmp_path) == [[2, 15]] * 4)
    process.send_signal(signal.SIGINT)
    done = home.finish(process)
    assert done.code == 137
    assert (done.run["status"], done.run["signal"]) == ("cancelled", "SIGKILL")
    sent = [event["details"]["signal"] for event in events(done.folder, "signal")]
    assert sent == ["SIGINT", "SIGTERM", "SIGKILL"]


def test_a_signal_before_the_job_begins_is_not_lost(home: Home) -> None:
    """strace sends SIGTERM while the run folder is made: the job then gets it, and the end is written."""
    trace = ["strace", "-o", "/dev/null", "-e", "trace=mkdir", "-e", "inject=mkdir:signal=TERM:when=3"]
    done = home.finish(home.start("-q", "sleep", "60", before=trace))
    assert done.code == 143
    assert (done.run["status"], done.run["signal"]) == ("cancelled", "SIGTERM")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"])
def test_what_the_caller_ignored_stays_ignored(name: str, home: Home, tmp_path: Path) -> None:
    number = signal.Signals[name]
    process = home.start(
        "-q",
        "sh",
        "-c",
        f"touch {tmp_path}/up; while [ ! -e {tmp_path}/stop ]; do sleep 0.01; done; exit 4",
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
        start_new_session=True,
    )
    wait_for((tmp_path / "up").exists)
    job = wait_for(lambda: children(process.pid))[0]
    process.send_signal(number)
    os.kill(job, number)
    (tmp_path / "stop").touch()
    done = home.finish(process)
    assert done.code == 4
    assert events(done.folder, "signal") == []


def test_an_ignored_child_signal_stays_ignored_for_the_job_only(home: Home) -> None:
    """With SIGCHLD ignored the kernel would throw the accounts away: the recorder must not inherit that."""
    done = home.run(
        "-q",
        "--summary=json",
        sys.executable,
        "-c",
        "import os, signal, time\n"
        "while time.process_time() < 0.15: pass\n"
        "os._exit(5 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 6)",
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert done.code == 5
    assert done.run["summary"]["wait_cputime"] >= 0.15


def test_a_stopped_job_is_noticed_and_goes_on(home: Home) -> None:
    process = home.start("-q", "--sample-interval", "0.05", "sleep", "0.6")
    wait_for(lambda: sampled(home.path))
    (job,) = children(process.pid)
    os.kill(job, signal.SIGSTOP)
    folder = home.folders()[0]
    wait_for(lambda: events(folder, "stopped"))
    os.kill(job, signal.SIGCONT)
    wait_for(lambda: events(folder, "continued"))
    assert home.finish(process).code == 0
    assert [event["type"] for event in events(folder)] == ["stopped", "continued"]


def test_a_stopped_job_can_be_ended(home: Home) -> None:
    process = home.start("-q", "sleep", "60", start_new_session=True)
    wait_for(lambda: sampled(home.path))
    (job,) = children(process.pid)
    os.kill(job, signal.SIGSTOP)
    wait_for(lambda: events(home.folders()[0], "stopped"))
    process.send_signal(signal.SIGTERM)
    assert home.finish(process).code == 143


def test_a_job_that_stops_itself_is_ended_by_its_timeout(home: Home) -> None:
    done = home.run("-q", "--timeout", "0.3", "sh", "-c", "kill -STOP $$")
    assert done.code == 124


def test_a_child_that_lives_on_is_recorded_and_not_waited_for(home: Home) -> None:
    began = time.monotonic()
    done = home.run("sh", "-c", "sleep 30 >/dev/null 2>&1 & sleep 0.1; exit 3")
    assert time.monotonic() - began < 10
    assert done.code == 3
    end = done.run
    (left,) = end["processes_left"]
    assert left["command"] == "sleep"
    os.kill(left["pid"], signal.SIGKILL)
    assert events(done.folder, "children_left")[0]["details"] == {"count": 1, "commands": ["sleep"]}
    assert f"sleep ({left['pid']})" in done.stderr.decode()


def test_children_are_waited_for_when_asked(home: Home) -> None:
    script = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.3: pass' & exit 3"
    done = home.run("-q", "--wait-for-children", "sh", "-c", script)
    assert done.code == 3
    assert done.run["summary"]["wait_cputime"] >= 0.3
    assert "processes_left" not in done.run
    assert events(done.folder, "children_left") == []


DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
while time.process_time() < 0.3: pass
time.sleep(0.3)
open(sys.argv[1], "w").close()
"""


@pytest.mark.parametrize("own_cgroup", ["auto", "never"])
def test_a_daemon_stays_measured(own_cgroup: str, home: Home, tmp_path: Path) -> None:
    """It left the session and its parent, and still is the job's."""
    ended = tmp_path / "ended"
    script = f"{sys.executable} -S -c '{DAEMON}' {ended}; until [ -e {ended} ]; do sleep 0.05; done"
    done = home.run("-q", "--own-cgroup", own_cgroup, "--sample-interval", "0.1", "sh", "-c", script)
    assert done.code == 0
    assert done.run["summary"]["wait_cputime"] >= 0.3
    assert done.run["summary"]["proc_cputime_total"] >= 0.15


def test_many_signals_at_once_are_all_answered(home: Home, tmp_path: Path) -> None:
    """Hundreds of SIGUSR1 while the job forks: no traceback, no hang, the end is written."""
    loop = f"while [ ! -e {tmp_path}/stop ]; do /bin/true; done; exit 0"
    process = home.start(
        "-q", "sh", "-c", f"trap : USR1; touch {tmp_path}/up; {loop}", stderr=subprocess.DEVNULL
    )
    wait_for((tmp_path / "up").exists)
    for _ in range(300):
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.0005)
    (tmp_path / "stop").touch()
    done = home.finish(process)
    assert done.code == 0
    assert done.run["status"] == "completed"
    assert len(events(done.folder, "signal")) > 10


def ignoring_children() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def test_with_children_ignored_every_way_to_start_a_command_still_works(home: Home, tmp_path: Path) -> None:
    """A caller that ignores SIGCHLD: exit codes, scripts, environment and arguments are as ever."""
    script = tmp_path / "script"
    script.write_text('echo "$1"; exit 5\n')
    script.chmod(0o755)
    plain = tmp_path / "plain"
    plain.write_text("")
    env = {"JOBMETER_HOME": str(home.path), "PATH": f"{tmp_path}:/usr/bin:/bin"}

    def run(*words: str | bytes) -> tuple[int, bytes, bytes]:
        done = home.run("-q", *words, preexec_fn=ignoring_children, env=env)
        return done.code, done.stdout, done.stderr

    assert run("sh", "-c", "exit 3") == (3, b"", b"")
    assert run(str(script), b"a \xff") == (5, b"a \xff\n", b"")
    assert run("no-such-command") == (127, b"", b"jobmeter: no-such-command: command not found\n")
    assert run(str(plain)) == (126, b"", f"jobmeter: {plain}: permission denied\n".encode())
    code, shown, _ = run("env")
    assert code == 0
    assert sorted(shown.decode().splitlines()) == sorted(f"{name}={value}" for name, value in env.items())


@pytest.mark.parametrize("ignored", [False, True])
def test_a_caller_that_blocks_signals_blocks_them_for_the_job_only(ignored: bool, home: Home) -> None:
    """With SIGCHLD blocked the end of the job would be noticed at the next sample, here after a minute."""

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGUSR2})
        if ignored:
            ignoring_children()

    job = "import signal, time; time.sleep(0.3); print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))"
    done = home.run("-q", "--sample-interval", "60", sys.executable, "-c", job, preexec_fn=prepare)
    assert done.code == 0
    assert b"SIGUSR2" in done.stdout
    assert b"SIGCHLD" in done.stdout
    assert done.run["wall_seconds"] < 5

"""/proc/PID files: names made to mislead, processes that end, and this very process as the oracle."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobmeter.probes import libc, pidfd, procfs
from support import corpus

ME = os.getpid()


def proc_file(name: str) -> bytes:
    return (corpus.folder("proc-files") / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "comm"),
    [
        ("jc_pid_stat_w_space_and_nl_in_comm", "my file with\nsp"),
        ("jc_pid_stat_hack", "bad) S 1 2 3 4 5"),
    ],
)
def test_a_name_with_spaces_parentheses_or_a_newline_shifts_no_field(name: str, comm: str) -> None:
    assert procfs.parse_stat(proc_file(name)) == (
        *(comm, "S", 1888, 0, 1, 75513, 297, 115900416),
        proc_file(name).rpartition(b")")[2].split()[25],
    )


def test_a_plain_stat_is_read() -> None:
    text = proc_file("jc_pid_stat")
    fields = text.rpartition(b")")[2].split()
    found = procfs.parse_stat(text)
    assert found is not None
    assert found[0] == "systemd"
    assert found[2:] == (
        0,
        int(fields[13]) + int(fields[14]),
        int(fields[17]),
        int(fields[19]),
        int(fields[21]),
        int(fields[20]),
        fields[25],
    )


@pytest.mark.parametrize("text", [b"", b"12", b"12 (x)", b"12 (x) S 1 2 3", b"no parenthesis at all 1 2 3"])
def test_half_a_stat_is_none(text: bytes) -> None:
    assert procfs.parse_stat(text) is None


def test_a_stack_begins_elsewhere_after_each_exec() -> None:
    # a name alone does not tell: one python that runs another keeps its own
    code = "import os, sys; print(flush=True); sys.stdin.readline(); os.execv(sys.executable, ['x', *sys.argv[1:]])"
    again = "import sys; print(flush=True); sys.stdin.readline()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "-c", again], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for _ in range(2):
            process.stdout.readline()
            seen.append(procfs.read_stat("/proc", process.pid))
            process.stdin.write(b"\n")
            process.stdin.flush()
    before, after = seen
    assert before is not None
    assert after is not None
    assert before[0] == after[0]
    assert before[8] != after[8]


def test_a_name_that_is_no_text_is_kept() -> None:
    text = proc_file("jc_pid_stat_hack").replace(b"bad) S 1 2 3 4 5", b"\xff\xfe")
    found = procfs.parse_stat(text)
    assert found is not None
    assert found[0] == "\udcff\udcfe"


def test_io_is_read_less_what_was_cancelled() -> None:
    assert procfs.parse_io(proc_file("jc_pid_io")) == (4699288382, 2931802997, 168468480, 27357184 - 16883712)
    assert procfs.parse_io(b"rchar: 1\n") is None


def test_numbers_of_status_are_found_by_their_whole_name() -> None:
    text = proc_file("jc_pid_status")
    assert procfs.parse_status(text, b"VmHWM") == 13252
    assert procfs.parse_status(text, b"Threads") == 1
    assert procfs.parse_status(text, b"HWM") is None
    assert procfs.parse_status(text, b"State") is None
    assert procfs.parse_status(b"\nVmHWM:", b"VmHWM") is None


def test_the_mask_of_ignored_signals_is_read() -> None:
    assert procfs.parse_ignored_signals(proc_file("jc_pid_status")) == 0x1000  # SIGPIPE
    assert procfs.parse_ignored_signals(b"Name:\tx\n") is None


def test_the_proportional_size_is_read() -> None:
    text = b"5581-7ffc ---p 00000000 00:00 0 [rollup]\nRss:  5000 kB\nPss:  1234 kB\nPss_Dirty: 9 kB\n"
    assert procfs.parse_rollup(text) == 1234 * 1024
    assert procfs.parse_rollup(b"") is None


def test_this_process_is_what_the_system_says_it_is() -> None:
    found = procfs.read_stat("/proc", ME)
    assert found is not None
    assert found[2] == os.getppid()
    assert found[4] >= 1
    assert (
        abs(found[6] * procfs.PAGE - int(Path("/proc/self/statm").read_text().split()[1]) * procfs.PAGE)
        < 32 << 20
    )
    io = procfs.read_io("/proc", ME)
    assert io is not None
    assert io[1] > 0
    peak = procfs.read_peak_rss("/proc", ME)
    assert peak is not None
    assert abs(peak - resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024) < 8 << 20
    pss = procfs.read_pss("/proc", ME)
    assert pss is not None
    assert 0 < pss <= peak


def test_the_cpu_clock_of_a_process_is_exact() -> None:
    before = time.clock_gettime_ns(procfs.clock_id(ME))
    own = time.process_time_ns()
    after = time.clock_gettime_ns(procfs.clock_id(ME))
    assert before <= own <= after


def test_a_process_that_is_gone_gives_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert procfs.read_stat("/proc", process.pid) is None
    assert procfs.read_io("/proc", process.pid) is None
    assert procfs.read_pss("/proc", process.pid) is None
    assert procfs.read_peak_rss("/proc", process.pid) is None
    assert procfs.read_command_line("/proc", process.pid) is None
    with pytest.raises(OSError, match="Invalid argument"):
        time.clock_gettime_ns(procfs.clock_id(process.pid))


def test_a_process_that_ends_between_open_and_read_gives_nothing() -> None:
    process = subprocess.Popen(["sleep", "60"])
    path = f"/proc/{process.pid}/stat"
    fd = os.open(path, os.O_RDONLY)
    process.kill()
    process.wait()
    with pytest.raises(ProcessLookupError):
        os.read(fd, 10)
    os.close(fd)
    assert procfs.read_file(path) is None
    assert procfs.read_file("/proc") is None  # a folder opens and cannot be read


def test_a_command_line_is_joined_and_cut() -> None:
    words = [sys.executable, "-c", "input()", "a b", "", "ö"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 10
        while (found := procfs.read_command_line("/proc", process.pid)) is None or "input" not in found:
            assert time.monotonic() < deadline
        assert found == f"{sys.executable} -c input() a b  ö"
        assert procfs.read_command_line("/proc", process.pid, 5) == sys.executable[:5]
    finally:
        process.communicate(b"\n")


def test_a_zombie_and_a_kernel_thread_have_no_command_line() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert procfs.read_command_line("/proc", process.pid) is None
    process.wait()


def test_reaped_time_is_what_was_waited_for() -> None:
    before = procfs.reaped_ns()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True)
    assert 0.2e9 <= procfs.reaped_ns() - before < 0.6e9


def test_a_pidfd_tells_how_a_process_ended() -> None:
    process = subprocess.Popen(["sh", "-c", "read x; exit 7"], stdin=subprocess.PIPE)
    fd = pidfd.open_pid(process.pid)
    assert fd is not None
    assert pidfd.wait_status(fd) is None
    process.communicate(b"\n")
    assert pidfd.wait_status(fd) == 7 << 8
    os.close(fd)


def test_a_pidfd_tells_the_signal_too() -> None:
    process = subprocess.Popen(["sleep", "60"])
    fd = pidfd.open_pid(process.pid)
    assert fd is not None
    process.kill()
    process.wait()
    status = pidfd.wait_status(fd)
    assert status is not None
    assert os.WTERMSIG(status) == signal.SIGKILL
    os.close(fd)


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40, 2**70])
def test_a_pid_that_cannot_be_has_no_descriptor(pid: int) -> None:
    assert pidfd.open_pid(pid) is None


def test_a_descriptor_that_is_no_pidfd_tells_nothing() -> None:
    with Path("/dev/null").open("rb") as file:
        assert pidfd.wait_status(file.fileno()) is None


IN_A_CHILD = """
import os, sys, time
from jobmeter.probes import libc
{}
"""


def run_child(text: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CHILD.format(text)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_orphans_come_to_a_subreaper() -> None:
    text = """
assert libc.become_subreaper()
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.2); os._exit(5)
    os._exit(0)
os.wait()
pid, status = os.wait()
print(os.WEXITSTATUS(status))
"""
    assert run_child(text) == "5\n"


def test_the_task_clock_counts_descendants_from_their_exec_on_and_not_us() -> None:
    text = """
import subprocess
fd = libc.open_task_clock()
while time.process_time() < 0.2: pass
subprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.3: pass'])
print(libc.read_counter(fd) / 1e9)
"""
    assert 0.25 <= float(run_child(text)) <= 0.45


def test_a_function_the_c_library_does_not_have_is_none() -> None:
    assert libc._call("no_such_function_anywhere", ()) is None

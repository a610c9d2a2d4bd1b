"""What real processes wait in, and what is said where the kernel tells less."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmeter.probes import waiting
from support.recorder import wait_for

MACHINE = os.uname().machine


@contextmanager
def asleep(script: str) -> Iterator[int]:
    """Start a script; give its pid once it sleeps."""
    command = [sys.executable, "-S", "-c", f"print('up', flush=True)\n{script}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        wait_for(lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "S")
        yield process.pid
        process.kill()


def test_a_process_that_reads_a_pipe_is_seen_reading_that_pipe() -> None:
    with asleep("import os; os.read(0, 1)") as pid:
        found = waiting.look("/proc", pid, MACHINE)
        pipe = os.readlink(f"/proc/{pid}/fd/0")
    assert (found["syscall"], found["file"]) == ("read", pipe)
    assert "pipe_read" in str(found["kernel_stack"])


def test_a_process_that_waits_for_a_lock_is_in_futex() -> None:
    with asleep("import _thread; lock = _thread.allocate_lock(); lock.acquire(); lock.acquire()") as pid:
        found = waiting.look("/proc", pid, MACHINE)
    assert found["syscall"] == "futex"
    assert "file" not in found
    assert "futex" in str(found["wchan"])


def test_a_process_that_sleeps_says_so() -> None:
    with asleep("import time; time.sleep(60)") as pid:
        found = waiting.look("/proc", pid, MACHINE)
    assert str(found["syscall"]) in ("clock_nanosleep", "pselect6", "nanosleep")


def test_a_process_that_is_gone_waits_in_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert waiting.look("/proc", process.pid, MACHINE) == {}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"syscall": "running\n", "wchan": "0", "stack": ""}, {}),
        ({"syscall": "-1 0x7ffd 0x7f\n", "wchan": "folio_wait_bit"}, {"wchan": "folio_wait_bit"}),
        ({"syscall": "9999 0x1 0x2\n"}, {"syscall": "system call 9999"}),
        ({"syscall": "0 0x5 0x2\n"}, {"syscall": "read"}),
    ],
    ids=["running", "page fault", "unknown call", "closed file"],
)
def test_what_the_kernel_does_not_tell_is_left_out(
    files: dict[str, str], found: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "7").mkdir()
    for name, text in files.items():
        (tmp_path / "7" / name).write_text(text)
    assert waiting.look(str(tmp_path), 7, "x86_64") == found


def test_on_a_machine_whose_calls_nobody_wrote_down_the_number_is_told(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "syscall").write_text("63 0x5\n")
    assert waiting.look(str(tmp_path), 7, "riscv64") == {"syscall": "system call 63"}
    assert waiting.look(str(tmp_path), 7, "aarch64") == {"syscall": "read"}


def test_a_stopped_process_is_looked_at_without_waking_it() -> None:
    with asleep("import time; time.sleep(60)") as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] == "T")
        waiting.look("/proc", pid, MACHINE)
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "T"

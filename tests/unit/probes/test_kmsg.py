"""Lines of the kernel's log: which of them speak of a job's processes."""

import os
import time
from pathlib import Path

import pytest

from jobmeter.probes import kmsg

KILL = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a/limited,"
    "task_memcg=/a/limited/jobmeter-20261116T035429Z-813eff-29694,task=python,pid=29696,uid=0"
)
KILLED = "Memory cgroup out of memory: Killed process 29696 (python) total-vm:143512kB, anon-rss:124412kB"


NOBODY = (1 << 23) + 16 * os.getpid()
"""No process has such a number, and the log knows no other of this name."""


def write(*lines: str) -> None:
    """Put lines into the kernel's log, as root may."""
    for line in lines:
        # the kernel takes ten lines of each who opens it, then none for a while
        with open(kmsg.PATH, "wb", buffering=0) as log:
            log.write(f"{line}\n".encode())


@pytest.mark.parametrize(
    ("text", "pid", "process"),
    [
        (KILL, 29696, "python"),
        (KILLED, 29696, "python"),
        ("Out of memory: Killed process 812 (tmux: server) total-vm:1kB", 812, "tmux: server"),
        ("python3[812]: segfault at 0 ip 000055 sp 00007f error 4 in libc.so.6", 812, "python3"),
        ("traps: trainer[812] trap invalid opcode ip:7f sp:7f error:0", 812, "trainer"),
        ("NVRM: Xid (PCI:0000:65:00): 31, pid=812, name=python, Ch 00000008", 812, "python"),
        ("NVRM: Xid (PCI:0000:65:00): 13, pid='<unknown>', name=<unknown>", None, None),
        ("usb 1-1: new high-speed USB device number 2", None, None),
        ("[  812]     0   812    79646    17781", None, None),
        ("Killed process x (y)", None, None),
        ("audit: [812 of them", None, None),
    ],
)
def test_a_line_names_a_process_or_none(text: str, pid: int | None, process: str | None) -> None:
    named = kmsg._named(text)
    assert named == (None if pid is None else (pid, process))


def test_lines_about_a_process_are_found_in_the_kernels_own_log() -> None:
    write(
        f"jobmeter[{NOBODY}]: segfault at 0", f"jobmeter[{NOBODY + 1}]: segfault at 0", "nobody is named here"
    )
    (found,) = kmsg.about((NOBODY,), None, time.monotonic())
    assert (found.text, found.pid, found.process) == (
        f"jobmeter[{NOBODY}]: segfault at 0",
        NOBODY,
        "jobmeter",
    )
    assert abs(found.seconds - time.monotonic()) < 60


def test_a_process_that_was_killed_in_the_cgroup_is_the_jobs() -> None:
    name = f"jobmeter-20261116T035429Z-813eff-{NOBODY}"
    report = KILL.replace("jobmeter-20261116T035429Z-813eff-29694", name)
    write(*(line.replace("29696", str(NOBODY + 2)) for line in (report, KILLED)))
    found = kmsg.about((), name, time.monotonic())
    assert [line.text.partition(":")[0] for line in found] == ["oom-kill", "Memory cgroup out of memory"]


def test_what_was_logged_before_the_job_began_is_not_about_it() -> None:
    write(f"jobmeter[{NOBODY + 3}]: segfault at 0")
    assert kmsg.about((NOBODY + 3,), None, time.monotonic() + 3600) == []


def test_few_lines_are_enough() -> None:
    write(*[f"jobmeter[{NOBODY + 4}]: segfault at {number}" for number in range(30)])
    assert len(kmsg.about((NOBODY + 4,), None, time.monotonic())) == 20


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert kmsg.about((1,), None, 0.0, str(tmp_path / "none")) == []


def test_what_is_no_log_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "kmsg").write_text("not a record")
    assert kmsg.about((1,), None, 0.0, str(tmp_path / "kmsg")) == []

"""Tools are asked once, read whole, and never waited for too long."""

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.probes import command
from support.recorder import wait_for


def script(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_tool_is_found_on_the_search_path_only_if_it_can_run(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    (first / "tool").write_text("not executable")
    found = script(second, "tool", "true")
    (first / "folder").mkdir()
    assert command.find("tool", f"{first}:{second}") == found
    assert command.find("folder", f"{first}:{second}") is None
    assert command.find("nothing", f"{first}:{second}") is None


def test_an_answer_of_any_length_is_read_whole(tmp_path: Path) -> None:
    tool = command.Tool(script(tmp_path, "tool", "head -c 3000000 /dev/zero | tr '\\0' x; echo $1 $2"))
    assert tool.ask("one", "two words") == b"x" * 3_000_000 + b"one two words\n"


def reaped_io() -> list[int]:
    """What reaped children read and wrote: the process's account less its threads'."""
    whole = [int(line.split()[1]) for line in Path("/proc/self/io").read_text().splitlines()]
    for task in Path("/proc/self/task").iterdir():
        own = [int(line.split()[1]) for line in (task / "io").read_text().splitlines()]
        whole = [a - b for a, b in zip(whole, own, strict=True)]
    return whole


def test_what_the_tool_used_is_what_the_kernel_adds_to_our_account_of_children(tmp_path: Path) -> None:
    before = children()
    work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; cat /etc/passwd /etc/passwd >/dev/null"
    tool = command.Tool(script(tmp_path, "tool", work))
    begin, begin_io = resource.getrusage(resource.RUSAGE_CHILDREN), reaped_io()
    tool.ask()
    ended, ended_io = resource.getrusage(resource.RUSAGE_CHILDREN), reaped_io()
    assert children() == before
    counted = ended.ru_utime + ended.ru_stime - begin.ru_utime - begin.ru_stime
    assert tool.usage.cpu_ns == pytest.approx(counted * 1e9, abs=5000)
    assert tool.usage.cpu_ns > 5_000_000
    assert tool.usage.minflt == ended.ru_minflt - begin.ru_minflt
    assert tool.usage.majflt == ended.ru_majflt - begin.ru_majflt
    assert 0 < tool.usage.maxrss_bytes <= ended.ru_maxrss * 1024
    assert tool.usage.io[0] == ended_io[0] - begin_io[0] > 2 * len(Path("/etc/passwd").read_bytes())


def test_a_tool_that_hangs_is_killed_within_its_time(tmp_path: Path) -> None:
    before = children()
    tool = command.Tool(script(tmp_path, "tool", "echo begun; exec sleep 100"), timeout_seconds=0.2)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"gave no answer in 0\.2 s"):
        tool.ask()
    assert time.monotonic() - begin < 30
    assert children() == before
    assert tool.strays == ()


@pytest.fixture
def freezer() -> Iterator[Path]:
    """Make a cgroup that freezes its processes: not even a kill reaches them, as with a hang in the kernel."""
    folder = Path(f"/sys/fs/cgroup/freezer/jobmeter-test-{os.getpid()}")
    folder.mkdir()
    yield folder
    (folder / "freezer.state").write_text("THAWED")
    wait_for(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


def test_a_tool_that_a_kill_cannot_end_is_reaped_later(tmp_path: Path, freezer: Path) -> None:
    freeze = f"echo $$ > {freezer}/cgroup.procs; echo FROZEN > {freezer}/freezer.state; sleep 100"
    tool = command.Tool(script(tmp_path, "tool", freeze), timeout_seconds=0.5)
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        tool.ask()
    assert time.monotonic() - begin < 30
    (stray,) = tool.strays
    assert str(stray) in children()
    (freezer / "freezer.state").write_text("THAWED")
    wait_for(lambda: tool.close() or not tool.strays)
    assert str(stray) not in children()


def test_a_tool_that_is_gone_is_an_os_error_and_leaks_nothing(tmp_path: Path) -> None:
    tool = command.Tool(str(tmp_path / "gone"))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        tool.ask()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_tool_reaped_by_someone_else_is_no_error(tmp_path: Path) -> None:
    previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps by itself then
    try:
        assert command.Tool(script(tmp_path, "tool", "echo answer")).ask() == b"answer\n"
    finally:
        signal.signal(signal.SIGCHLD, previous)


def test_the_tool_sees_no_variable_that_changes_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLUMNS", "PS_FORMAT", "LC_NUMERIC", "API_KEY"):
        monkeypatch.setenv(name, "5")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    answer = command.Tool(script(tmp_path, "tool", "env")).ask().decode()
    names = {line.partition("=")[0] for line in answer.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "LC_CTYPE"}
    assert "LC_CTYPE=C.UTF-8\n" in answer


def test_a_blocked_signal_of_ours_is_not_blocked_in_the_tool(tmp_path: Path) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        answer = command.Tool(script(tmp_path, "tool", "grep SigBlk /proc/self/status")).ask()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    assert answer.split() == [b"SigBlk:", b"0000000000000000"]

"""The host collector on trees of files, and the tools macOS has instead."""

import os
from pathlib import Path

import pytest

from jobmeter.collectors import host
from jobmeter.model import measurement
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob, values

ALL = frozenset(m.key for m in host.MEASUREMENTS)
FILES = {
    "meminfo": "MemTotal: 100 kB\nMemAvailable: 60 kB\nSwapTotal: 9 kB\nSwapFree: 8 kB\n",
    "loadavg": "1.50 0.00 0.00 1/9 9\n",
    "stat": "cpu  100 0 50 9999 30 0 0 20 0 0\n",
    "diskstats": " 8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n 8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n",
    "net/dev": "h\nh\n  eth0: 500 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n",
    "vmstat": "pgfault 5\noom_kill 3\n",
}


def machine(folder: Path, **changes: str) -> Paths:
    """Write the files of a machine; an empty one is left out."""
    for name, text in {**FILES, **changes}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if text:
            path.write_text(text)
    return Paths(proc=str(folder))


def test_every_definition_is_legal() -> None:
    assert measurement.problems(host.MEASUREMENTS) == []


def test_every_key_comes_from_its_file(tmp_path: Path) -> None:
    source = host.attach(LiveJob(paths=machine(tmp_path)), ALL)
    assert values(source.read()) == {
        "host_mem_available": 61440,
        "host_swap_used": 1024,
        "host_load": 1.5,
        "host_cputime": 1.5,
        "host_iowait": 0.3,
        "host_steal": 0.2,
        "host_read_bytes": 5120,
        "host_write_bytes": 10240,
        "host_net_rx": 500,
        "host_net_tx": 700,
        "host_oom_kill": 3,
    }
    source.close()


def test_a_file_that_is_not_there_leaves_its_keys_out(tmp_path: Path) -> None:
    paths = machine(tmp_path, diskstats="", vmstat="", stat="cpu 100 0 50 9999\n")
    found = values(host.attach(LiveJob(paths=paths), ALL).read())
    assert ALL - found.keys() == {
        "host_read_bytes", "host_write_bytes", "host_oom_kill", "host_iowait", "host_steal",
    }  # fmt: skip


def test_only_the_files_of_selected_keys_are_open(tmp_path: Path) -> None:
    paths = machine(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    source = host.attach(LiveJob(paths=paths), frozenset(("host_load", "host_net_tx")))
    assert len(os.listdir("/proc/self/fd")) == before + 2
    assert values(source.read()) == {"host_load": 1.5, "host_net_tx": 700}
    source.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_unplugged_disk_does_not_pull_the_counter_down(tmp_path: Path) -> None:
    def disk(name: str, read: int, written: int) -> str:
        return f" 8 0 {name} 1 0 {read} 0 1 0 {written} 0 0 0 0\n"

    paths = machine(tmp_path, diskstats=disk("sda", 10, 20) + disk("sdb", 100, 200))
    source = host.attach(LiveJob(paths=paths), frozenset(("host_read_bytes", "host_write_bytes")))
    seen = []
    for text in (
        disk("sda", 10, 20) + disk("sdb", 100, 200),
        disk("sda", 11, 22),  # sdb was unplugged
        disk("sda", 12, 24) + disk("sdb", 7, 7),  # and came back with new counters
        disk("sda", 12, 24) + disk("sdb", 8, 9),
        disk("sda", 12, 24) + disk("sdb", 8, 9),
    ):
        (tmp_path / "diskstats").write_text(text)
        seen.append(tuple(int(value) // 512 for _, _, value in source.read()))
    assert seen == [(110, 220), (111, 222), (112, 224), (113, 226), (113, 226)]


def test_oom_kills_are_looked_up_when_a_process_of_the_job_went_away(tmp_path: Path) -> None:
    job = LiveJob(os.getpid(), os.getppid(), paths=machine(tmp_path))
    source = host.attach(job, frozenset(("host_oom_kill",)))
    assert values(source.read()) == {"host_oom_kill": 3}
    (tmp_path / "vmstat").write_text("oom_kill 4\n")
    assert values(source.read()) == {}
    del job.processes[os.getppid()]
    assert values(source.read()) == {"host_oom_kill": 4}
    assert values(source.read()) == {}


def test_oom_kills_of_others_are_seen_within_30_samples(tmp_path: Path) -> None:
    source = host.attach(LiveJob(os.getpid(), paths=machine(tmp_path)), frozenset(("host_oom_kill",)))
    found = [bool(values(source.read())) for _ in range(61)]
    assert [at for at, seen in enumerate(found) if seen] == [0, 30, 60]


def test_a_machine_that_is_neither_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert host.missing(Paths()) is None
    reason = f"no {tmp_path}/meminfo and no vm_stat on PATH: neither Linux nor macOS"
    assert host.missing(Paths(proc=str(tmp_path))) == reason


def tool(folder: Path, name: str, answer: str) -> None:
    (folder / f"{name}.txt").write_text(answer)
    (folder / name).write_text(f"#!/bin/sh\ntouch {folder}/asked\nexec cat {folder}/{name}.txt\n")
    (folder / name).chmod(0o755)


VM_STAT = """\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                                 100.
Pages purgeable:                             10.
File-backed pages:                         1000.
"""


def test_macos_answers_through_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "vm_stat", VM_STAT)
    tool(tmp_path, "sysctl", "total = 2048.00M  used = 1.50M  free = 2046.50M  (encrypted)\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    elsewhere = LiveJob(paths=Paths(proc=str(tmp_path / "no-proc")))
    assert host.missing(elsewhere.paths) is None
    source = host.attach(elsewhere, ALL)
    found = values(source.read())
    assert found["host_mem_available"] == 18186240
    assert found["host_swap_used"] == 1572864
    assert found.keys() == {"host_mem_available", "host_swap_used", "host_load", "host_cputime"}
    source.close()


def test_macos_tools_of_unselected_keys_are_not_asked(tmp_path: Path) -> None:
    tool(tmp_path, "vm_stat", VM_STAT)
    tool(tmp_path, "sysctl", "")
    source = host.MacSource(frozenset(("host_load",)), search_path=str(tmp_path))
    assert values(source.read()).keys() == {"host_load"}
    assert not (tmp_path / "asked").exists()

"""The ps collector: rates over the interval, totals, and processes that come and go."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import ps
from jobmeter.model import measurement
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob, values

ALL = frozenset(m.key for m in ps.MEASUREMENTS)
GONE = 2**22 - 1


class SetClock:
    """A monotonic clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def sleepers() -> Iterator[list[int]]:
    """Two real processes that wait."""
    started = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]
    yield [process.pid for process in started]
    for process in started:
        process.kill()
        process.wait()


def replayed(folder: Path, *rows: str) -> str:
    """Make a `ps` that prints these rows, one call after the other; `;` parts the rows of one call."""
    for number, row in enumerate(rows):
        (folder / str(number)).write_text(row.replace(";", "\n") + "\n")
    path = folder / "ps"
    path.write_text(f"#!/bin/sh\ncd {folder}\nread at < at || at=0\ncat $at\necho $((at+1)) > at\n")
    (folder / "at").write_text("0\n")
    path.chmod(0o755)
    return str(path)


def test_every_definition_is_legal() -> None:
    assert measurement.problems(ps.MEASUREMENTS) == []


def test_the_rate_is_cpu_time_over_the_sampling_interval(tmp_path: Path, sleepers: list[int]) -> None:
    pid, clock = sleepers[0], SetClock()
    path = replayed(tmp_path, f"{pid} 4 8 0.1 01:00 00:00:10 R x", f"{pid} 4 8 0.1 01:04 00:00:13 R x")
    job = LiveJob(pid)
    source = ps.PsSource(job, ALL, path, clock=clock)
    first = values(source.read(), job.instance(pid))
    clock.now += 4
    second = values(source.read(), job.instance(pid))
    assert "ps_pdcpu" not in first  # 10 s in 60 s is the lifetime rate, not this interval's
    assert (first["ps_cputime"], second["ps_cputime"]) == (10.0, 13.0)
    assert second["ps_pdcpu"] == 75.0


def test_the_first_rate_of_a_newborn_is_cpu_time_over_age(tmp_path: Path, sleepers: list[int]) -> None:
    pid, clock = sleepers[0], SetClock()
    path = replayed(tmp_path, f"{pid} 4 8 0.1 00:02 00:00:03 R x")
    job = LiveJob(pid)
    source = ps.PsSource(job, ALL, path, clock=clock)
    clock.now += 2
    readings = source.read()
    assert values(readings, job.instance(pid))["ps_pdcpu"] == 150.0
    assert values(readings)["ps_pdcpu_total"] == 150.0


def test_a_process_younger_than_a_second_has_no_rate_and_never_300_percent(
    tmp_path: Path, sleepers: list[int]
) -> None:
    pid = sleepers[0]
    job = LiveJob(pid)
    path = replayed(tmp_path, f"{pid} 4 8 0.1 00:00 00:00:03 R x")
    readings = ps.PsSource(job, ALL, path, clock=SetClock()).read()
    assert "ps_pdcpu" not in values(readings, job.instance(pid))
    assert "ps_pdcpu_total" not in values(readings)


def test_totals_are_sums_over_the_processes_of_one_call(tmp_path: Path, sleepers: list[int]) -> None:
    one, two = sleepers
    path = replayed(tmp_path, f"{one} 4 8 0.5 00:09 00:00:01 S a;{two} 6 2 0.3 00:09 00:00:01 S b")
    assert values(ps.PsSource(LiveJob(one, two), ALL, path).read()) == {
        "ps_rss_total": 10240,
        "ps_vsz_total": 10240,
        "ps_pmem_total": 0.8,
    }


def test_a_pid_nobody_asked_for_is_left_out(tmp_path: Path, sleepers: list[int]) -> None:
    pid = sleepers[0]
    path = replayed(tmp_path, f"{pid} 4 8 0.5 00:09 00:00:01 S a;1 4 8 0.5 00:09 00:00:01 S init")
    assert values(ps.PsSource(LiveJob(pid), ALL, path).read())["ps_rss_total"] == 4096


def test_a_zombie_keeps_the_name_it_had(tmp_path: Path, sleepers: list[int]) -> None:
    pid = sleepers[0]
    job = LiveJob(pid)
    path = replayed(tmp_path, f"{pid} 0 0 0.0 00:09 00:00:01 Z [sleep] <defunct>")
    found = values(ps.PsSource(job, ALL, path).read(), job.instance(pid))
    assert found["ps_stat"] == "Z"
    assert "ps_cmd" not in found


def test_a_secret_in_a_command_line_is_not_recorded(tmp_path: Path, sleepers: list[int]) -> None:
    pid = sleepers[0]
    job = LiveJob(pid)
    path = replayed(tmp_path, f"{pid} 4 8 0.5 00:09 00:00:01 S train --password hunter2 --lr 1")
    found = values(ps.PsSource(job, ALL, path).read(), job.instance(pid))
    assert found["ps_cmd"] == "train --password [redacted] --lr 1"


def test_real_processes_are_seen_and_one_that_ended_is_skipped(sleepers: list[int]) -> None:
    job = LiveJob(*sleepers)
    ended = LiveJob(sleepers[0]).processes[sleepers[0]]
    ended.pid, ended.instance = GONE, f"{GONE}@1"
    job.processes[GONE] = ended
    readings = ps.attach(job, ALL).read()
    assert {name for _, name, _ in readings if name} == {job.instance(pid) for pid in sleepers}
    assert values(readings, job.instance(sleepers[0]))["ps_cmd"] == "sleep 100"


def test_a_job_without_processes_asks_nobody() -> None:
    job = LiveJob()
    assert ps.PsSource(job, ALL, "/nonexistent/ps").read() == []


def test_three_thousand_pids_fit_into_one_call(sleepers: list[int]) -> None:
    job = LiveJob(*sleepers)
    for pid in range(GONE - 3000, GONE):
        job.processes[pid] = job.processes[sleepers[0]]
    assert {name for _, name, _ in ps.attach(job, ALL).read() if name} == {
        job.instance(pid) for pid in sleepers
    }


def test_only_selected_keys_are_yielded(sleepers: list[int]) -> None:
    readings = ps.attach(LiveJob(*sleepers), frozenset(("ps_rss", "ps_vsz_total"))).read()
    assert {key for key, _, _ in readings} == {"ps_rss", "ps_vsz_total"}


def test_what_our_own_calls_used_is_known(sleepers: list[int]) -> None:
    job = LiveJob(*sleepers)
    source = ps.PsSource(job, ALL, shutil.which("ps") or "")
    (tool,) = job.helpers
    assert tool.usage.cpu_ns == 0
    source.read()
    assert 0 < tool.usage.cpu_ns < 1e9
    assert tool.usage.io[0] > 100  # ps reads the kernel's files
    assert tool.strays == ()


def test_a_machine_without_ps_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ps.missing(Paths()) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ps.missing(Paths()) == "no ps on PATH (slim images leave it out: install procps)"


def test_the_ps_of_busybox_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "busybox").write_text("#!/bin/sh\n")
    (tmp_path / "busybox").chmod(0o755)
    os.symlink("busybox", tmp_path / "ps")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ps.missing(Paths()) == f"{tmp_path}/ps is busybox, which has no -p: install procps"


def test_a_narrow_terminal_does_not_cut_the_command_line(
    sleepers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("PS_FORMAT", "pid")
    job = LiveJob(sleepers[0])
    assert values(ps.attach(job, ALL).read(), job.instance(sleepers[0]))["ps_cmd"] == "sleep 100"

"""What a job's processes add up to while none of them runs, and when one is gone."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from jobmeter.collectors import netns, proc
from jobmeter.probes.paths import Paths
from jobmeter.recording.job import Job

KEYS = frozenset(m.key for m in proc.MEASUREMENTS)
TOTALS = ["proc_cputime_total", "proc_count", "proc_rss_total", "proc_vsz_total", "proc_hwm_total"]


@pytest.fixture
def job() -> Iterator[Job]:
    """A shell and two sleepers, all of them asleep."""
    process = subprocess.Popen(["sh", "-c", "sleep 100 & sleep 100 & wait; wait"])
    made = Job(process.pid, Paths(), ours=False)
    await_count(made, 3)
    yield made
    pids = list(made.processes)
    made.close()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    process.wait()


def await_count(job: Job, count: int) -> None:
    """Look until so many processes are there and all of them sleep, the sleepers as `sleep`."""
    deadline = time.monotonic() + 20
    while True:
        job.refresh(full=True)
        living = job.processes.values()
        asleep = all(process.state == "S" for process in living)
        if len(living) == count and asleep and sum(one.command == "sleep" for one in living) == count - 1:
            return
        assert time.monotonic() < deadline


def totals(readings: "list[tuple[str, str, int | float | str]]") -> dict[str, object]:
    return {key: value for key, instance, value in readings if not instance and key != "proc_pss_total"}


def test_the_totals_of_an_idle_job_stand(job: Job) -> None:
    source = proc.ProcSource(job, KEYS)
    job.refresh(full=True)
    first = totals(source.read())
    assert list(first) == TOTALS
    assert first["proc_count"] == 3
    job.refresh(full=False)
    assert not any(process.looked for process in job.processes.values())
    again = source.read()
    assert [instance for key, instance, _ in again if instance and key != "proc_pss"] == []
    assert totals(again) == first


def test_a_process_that_is_gone_is_gone_from_the_totals(job: Job) -> None:
    source = proc.ProcSource(job, KEYS)
    job.refresh(full=True)
    before = totals(source.read())
    sleeper = next(one.pid for one in job.processes.values() if one.command == "sleep")
    os.kill(sleeper, signal.SIGKILL)
    await_count(job, 2)
    after = totals(source.read())
    assert after["proc_count"] == 2
    assert 0 < float(str(after["proc_vsz_total"])) < float(str(before["proc_vsz_total"]))


def test_who_did_not_run_is_not_asked_for_its_namespace_again(job: Job) -> None:
    source = netns.NetnsSource(job, frozenset(m.key for m in netns.MEASUREMENTS))
    job.refresh(full=True)
    assert source.read() == []
    source._looked = dict.fromkeys(source._looked, "another program")
    job.refresh(full=False)
    assert source.read() == []
    assert set(source._looked.values()) == {"another program"}
    job.refresh(full=True)
    assert source.read() == []
    assert set(source._looked.values()) == {"sh", "sleep"}

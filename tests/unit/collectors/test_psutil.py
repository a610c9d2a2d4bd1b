"""The psutil collector: first rates, the budget of PSS, processes that come and go."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jobmeter
from jobmeter.collectors import psutil as collector
from jobmeter.model import measurement
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob, end, start_busy, values
from support.recorder import wait_for

ALL = frozenset(m.key for m in collector.MEASUREMENTS)


class SetClock:
    """A clock that stands where it is put."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def busy() -> Iterator["subprocess.Popen[str]"]:
    """A real process that holds 32 MiB and has used 0.3 s of CPU."""
    process = start_busy(32, 0.3)
    yield process
    end(process)


def test_every_definition_is_legal() -> None:
    assert measurement.problems(collector.MEASUREMENTS) == []


def test_the_first_rate_of_a_newborn_is_cpu_time_over_age(busy: "subprocess.Popen[str]") -> None:
    import psutil

    born = psutil.Process(busy.pid).create_time()
    job = LiveJob(busy.pid)
    source = collector.PsutilSource(job, ALL, clock=SetClock(), wall_clock=SetClock(born + 0.8))
    found = values(source.read(), job.instance(busy.pid))
    assert found["psutil_pdcpu"] == pytest.approx(100 * found["psutil_cputime"] / 0.8)


@pytest.mark.parametrize("age", [0.05, 3600.0])
def test_the_first_sample_of_an_infant_or_an_old_process_has_no_rate(
    busy: "subprocess.Popen[str]", age: float
) -> None:
    import psutil

    born = psutil.Process(busy.pid).create_time()
    job = LiveJob(busy.pid)
    source = collector.PsutilSource(job, ALL, clock=SetClock(), wall_clock=SetClock(born + age))
    first = source.read()
    assert "psutil_pdcpu" not in values(first, job.instance(busy.pid))
    assert "psutil_pdcpu_total" not in values(first)
    assert values(source.read(), job.instance(busy.pid))["psutil_pdcpu"] == 0.0  # it waits for its input


def test_pss_comes_with_its_total_and_not_at_every_sample(busy: "subprocess.Popen[str]") -> None:
    job = LiveJob(busy.pid)
    clock = SetClock()
    source = collector.PsutilSource(job, ALL, clock=clock, cpu_clock=SetClock())
    first = source.read()
    assert values(first)["psutil_pss_total"] == values(first, job.instance(busy.pid))["psutil_pss"]
    assert not {"psutil_pss", "psutil_pss_total"} & {key for key, _, _ in source.read()}
    clock.now = 30.0
    assert "psutil_pss_total" in values(source.read())


def test_a_process_that_ended_is_skipped(busy: "subprocess.Popen[str]") -> None:
    gone = start_busy(1, 0.0)
    job = LiveJob(busy.pid, gone.pid)
    source = collector.attach(job, ALL)
    assert {name for _, name, _ in source.read() if name} == {job.instance(busy.pid), job.instance(gone.pid)}
    end(gone)
    assert {name for _, name, _ in source.read() if name} == {job.instance(busy.pid)}


def test_a_zombie_has_no_memory_and_no_command_line() -> None:
    zombie = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    assert zombie.stdout is not None
    zombie.stdout.read()  # it has closed its output
    job = LiveJob(zombie.pid)
    source = collector.attach(job, ALL)
    while "psutil_cmd" in values(source.read(), job.instance(zombie.pid)):
        continue  # ending, but not ended yet
    found = values(source.read(), job.instance(zombie.pid))
    zombie.wait()
    zombie.stdout.close()
    assert found.get("psutil_rss") == 0
    assert "psutil_cmd" not in found


def test_a_secret_in_a_command_line_is_not_recorded() -> None:
    process = subprocess.Popen(["sleep", "100"], executable="sleep")
    secret = subprocess.Popen(["sh", "-c", "read x", "train", "--password", "hunter2"], stdin=subprocess.PIPE)
    wait_for(lambda: b"hunter2" in Path(f"/proc/{secret.pid}/cmdline").read_bytes())
    wait_for(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes() == b"sleep\x00100\x00")
    job = LiveJob(process.pid, secret.pid)
    readings = collector.attach(job, ALL).read()
    process.kill()
    process.wait()
    secret.communicate(b"\n")
    assert (
        values(readings, job.instance(secret.pid))["psutil_cmd"] == "sh -c read x train --password [redacted]"
    )
    assert values(readings, job.instance(process.pid))["psutil_cmd"] == "sleep 100"


def test_only_selected_keys_are_yielded(busy: "subprocess.Popen[str]") -> None:
    readings = collector.attach(LiveJob(busy.pid), frozenset(("psutil_threads", "psutil_rss_total"))).read()
    assert {key for key, _, _ in readings} == {"psutil_threads", "psutil_rss_total"}


def test_psutil_is_found_also_without_site_packages() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from jobmeter.collectors import psutil; from jobmeter.probes.paths import Paths\n"
        "print(psutil.missing(Paths()))"
    )
    source = str(Path(jobmeter.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, source], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "None\n"
    assert collector.missing(Paths()) is None

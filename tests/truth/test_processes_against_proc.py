"""`ps` and `psutil` against what the kernel says about a process that stands still."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import ps, psutil
from support.livejob import LiveJob, end, start_busy, values

PS_KEYS = frozenset(m.key for m in ps.MEASUREMENTS)
PSUTIL_KEYS = frozenset(m.key for m in psutil.MEASUREMENTS)
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def stopped() -> Iterator["subprocess.Popen[str]"]:
    """A process of 64 MiB that has used 1.2 s of CPU and is stopped, so that nothing of it moves."""
    process = start_busy(64, 1.2)
    process.send_signal(signal.SIGSTOP)
    while stat(process.pid)[0] != "T":
        continue
    yield process
    process.send_signal(signal.SIGCONT)
    end(process)


def stat(pid: int) -> list[str]:
    text = Path(f"/proc/{pid}/stat").read_text()
    return text[text.rindex(")") + 2 :].split()


def status_kb(pid: int, name: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"\n{name}:")[2].split()[0])


def age_seconds(pid: int) -> float:
    return float(Path("/proc/uptime").read_text().split()[0]) - int(stat(pid)[19]) / TICKS


def cpu_seconds(pid: int) -> float:
    fields = stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS


def test_ps_agrees_with_proc_on_every_key(stopped: "subprocess.Popen[str]") -> None:
    pid = stopped.pid
    job = LiveJob(pid)
    young = age_seconds(pid)
    readings = ps.attach(job, PS_KEYS).read()
    old = age_seconds(pid)
    found = values(readings, job.instance(pid))
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    assert found["ps_rss"] == status_kb(pid, "VmRSS") * 1024
    assert found["ps_vsz"] == status_kb(pid, "VmSize") * 1024
    assert found["ps_pmem"] == pytest.approx(100 * status_kb(pid, "VmRSS") / memory_kb, abs=0.1)
    assert found["ps_cputime"] == int(cpu_seconds(pid)) == 1  # whole seconds: 1.2 and more became 1
    assert int(young) <= found["ps_etime"] <= old
    assert found["ps_stat"][0] == "T"
    command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode()
    assert str(found["ps_cmd"]).split() == command.split()
    assert values(readings)["ps_rss_total"] == found["ps_rss"]


def test_psutil_agrees_with_proc_on_every_key(stopped: "subprocess.Popen[str]") -> None:
    pid = stopped.pid
    job = LiveJob(pid)
    source = psutil.attach(job, PSUTIL_KEYS)
    readings = source.read()
    found = values(readings, job.instance(pid))
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    assert found["psutil_rss"] == int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    assert found["psutil_pss"] == pytest.approx(
        int(rollup.partition("\nPss:")[2].split()[0]) * 1024, abs=65536
    )
    assert found["psutil_cputime"] == pytest.approx(cpu_seconds(pid), abs=0.001)
    assert found["psutil_threads"] == status_kb(pid, "Threads")
    assert values(readings)["psutil_pss_total"] == found["psutil_pss"]
    assert values(source.read(), job.instance(pid))["psutil_pdcpu"] == 0.0  # stopped


def test_pss_counts_memory_shared_by_forks_once() -> None:
    script = (
        "import os, sys\n"
        "held = bytearray(96 << 20)\n"
        "for at in range(0, len(held), 4096): held[at] = 1\n"
        "pids = []\n"
        "for _ in range(3):\n"
        "    pid = os.fork()\n"
        "    if pid == 0: sys.stdin.read(); os._exit(0)\n"
        "    pids.append(pid)\n"
        "print(*pids, flush=True)\n"
        "sys.stdin.read()\n"
        "for pid in pids: os.waitpid(pid, 0)\n"
    )
    parent = subprocess.Popen(
        ["python3", "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    job = LiveJob(parent.pid, *map(int, parent.stdout.readline().split()))
    totals = values(psutil.attach(job, PSUTIL_KEYS).read())
    parent.communicate("")
    assert totals["psutil_rss_total"] > 4 * 96 * 2**20
    assert 96 * 2**20 < totals["psutil_pss_total"] < 1.25 * 96 * 2**20


def test_the_rate_of_a_busy_process_is_its_cpu_time_over_the_interval() -> None:
    burner = subprocess.Popen(["python3", "-S", "-c", "while True: pass"])
    job = LiveJob(burner.pid)
    instance = job.instance(burner.pid)
    source = psutil.attach(job, PSUTIL_KEYS)
    begin_cpu, begin = cpu_seconds(burner.pid), age_seconds(burner.pid)
    source.read()
    while cpu_seconds(burner.pid) - begin_cpu < 0.5:
        continue
    rate = values(source.read(), instance)["psutil_pdcpu"]
    truth = 100 * (cpu_seconds(burner.pid) - begin_cpu) / (age_seconds(burner.pid) - begin)
    burner.kill()
    burner.wait()
    assert rate == pytest.approx(truth, rel=0.15)

"""The machine's numbers against `free`, `vmstat`, sysfs and a real OOM kill; pressure against a real stall."""

import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmeter.collectors import host, psi
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob, values
from support.recorder import wait_for

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20


def asked(*argv: str) -> str:
    return subprocess.run(
        argv, capture_output=True, text=True, check=True, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}
    ).stdout


def host_values(*keys: str) -> Callable[[], dict[str, float]]:
    source = host.attach(LiveJob(os.getpid()), frozenset(keys))
    return lambda: values(source.read())


def test_available_memory_and_swap_are_what_free_says() -> None:
    read = host_values("host_mem_available", "host_swap_used")
    for _ in range(20):  # other processes take and give memory meanwhile: one quiet look is enough
        before = read()
        memory, swap = (line.split() for line in asked("free", "-b").splitlines()[1:3])
        after = read()
        low, high = sorted((before["host_mem_available"], after["host_mem_available"]))
        if low - 2 * MIB <= int(memory[6]) <= high + 2 * MIB and high - low < 64 * MIB:
            break
    assert low - 2 * MIB <= int(memory[6]) <= high + 2 * MIB
    assert before["host_swap_used"] == int(swap[2])


def test_cpu_time_is_what_vmstat_says() -> None:
    read = host_values("host_cputime", "host_steal")
    before = read()
    ticks = {line.split(None, 1)[1]: int(line.split()[0]) for line in asked("vmstat", "-s").splitlines()}
    after = read()
    busy = sum(
        ticks[f"{name} cpu ticks"] for name in ("non-nice user", "nice user", "system", "IRQ", "softirq")
    )
    assert before["host_cputime"] <= busy / TICKS <= after["host_cputime"]
    assert before["host_steal"] <= ticks["stolen cpu ticks"] / TICKS <= after["host_steal"]


def test_busy_time_grows_by_what_a_burner_burns() -> None:
    read = host_values("host_cputime")
    before = read()["host_cputime"]
    subprocess.run(["python3", "-S", "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    assert read()["host_cputime"] - before >= 0.47


def test_disk_bytes_are_what_vmstat_says() -> None:
    read = host_values("host_read_bytes", "host_write_bytes")
    before = read()
    rows = [line.split() for line in asked("vmstat", "-d").splitlines()[2:]]
    after = read()
    real = [row for row in rows if not row[0].startswith(("loop", "ram", "zram", "dm-", "md"))]
    assert real
    assert before["host_read_bytes"] <= 512 * sum(int(row[3]) for row in real) <= after["host_read_bytes"]
    assert before["host_write_bytes"] <= 512 * sum(int(row[7]) for row in real) <= after["host_write_bytes"]


def test_network_bytes_are_what_sysfs_says() -> None:
    read = host_values("host_net_rx", "host_net_tx")
    cards = [path for path in Path("/sys/class/net").iterdir() if (path / "device").exists()]
    cards = cards or [path for path in Path("/sys/class/net").iterdir() if path.name != "lo"]
    before = read()
    received, sent = (
        sum(int((card / "statistics" / name).read_text()) for card in cards)
        for name in ("rx_bytes", "tx_bytes")
    )
    after = read()
    assert before["host_net_rx"] <= received <= after["host_net_rx"]
    assert before["host_net_tx"] <= sent <= after["host_net_tx"]


def test_the_load_is_what_the_c_library_says() -> None:
    read = host_values("host_load")
    while True:  # the kernel renews it every 5 s
        before, told, after = read()["host_load"], os.getloadavg()[0], read()["host_load"]
        if before == after:
            break
    assert told == pytest.approx(before, abs=0.01)  # the file has two decimals


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """Make a memory cgroup of 24 MiB below the hierarchy's root."""
    folder = Path(f"/sys/fs/cgroup/memory/jobmeter-oom-{os.getpid()}")
    folder.mkdir()
    (folder / "memory.limit_in_bytes").write_text(str(24 * MIB))
    yield folder
    folder.rmdir()


def test_a_real_oom_kill_is_counted(small_cgroup: Path) -> None:
    script = (
        f"echo $$ > {small_cgroup}/cgroup.procs; exec python3 -S -c 'input(); held = bytearray({256 * MIB})'"
    )
    victim = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE)
    job = LiveJob(victim.pid)
    source = host.attach(job, frozenset(("host_oom_kill",)))
    before = values(source.read())["host_oom_kill"]
    victim.communicate(b"\n")
    job.processes.clear()  # as the recorder's table does when a process went away
    after = values(source.read())["host_oom_kill"]
    assert victim.returncode == -9
    assert after >= before + 1


def burners(count: int) -> list["subprocess.Popen[bytes]"]:
    return [subprocess.Popen(["python3", "-S", "-c", "while True: pass"]) for _ in range(count)]


def stalled_seconds(resource: str) -> dict[str, float]:
    text = Path(f"/proc/pressure/{resource}").read_text()
    return {line.split()[0]: int(line.rpartition("total=")[2]) / 1e6 for line in text.splitlines()}


def test_pressure_is_what_the_files_say() -> None:
    source = psi.attach(LiveJob(), frozenset(m.key for m in psi.MEASUREMENTS))
    before = values(source.read())
    truth = {
        f"psi_{key}_{kind}": seconds
        for key, resource in (("cpu", "cpu"), ("mem", "memory"), ("io", "io"))
        for kind, seconds in stalled_seconds(resource).items()
    }
    after = values(source.read())
    source.close()
    assert before.keys() == {"psi_cpu_some", "psi_mem_some", "psi_mem_full", "psi_io_some", "psi_io_full"}
    for key in before:
        assert before[key] <= truth[key] <= after[key]


def test_a_trigger_fires_when_tasks_wait_for_a_cpu_and_the_counter_shows_how_long() -> None:
    source = psi.attach(LiveJob(), frozenset(("psi_cpu_some",)))
    fd = psi.open_trigger(Paths(), "cpu", 100_000, 2_000_000)
    assert fd is not None
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    before = values(source.read())["psi_cpu_some"]
    crowd = burners(2 * (os.cpu_count() or 1) + 2)
    begin = time.monotonic()
    try:
        fired = poll.poll(20_000)
        # the kernel's window may have begun before ours
        wait_for(lambda: values(source.read())["psi_cpu_some"] - before >= 0.1)
    finally:
        for burner in crowd:
            burner.kill()
            burner.wait()
        os.close(fd)
    assert [events & select.POLLPRI for _, events in fired] == [select.POLLPRI]
    stalled = values(source.read())["psi_cpu_some"] - before
    assert 0.1 <= stalled <= time.monotonic() - begin + 0.5

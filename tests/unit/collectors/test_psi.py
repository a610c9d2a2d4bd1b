"""The pressure collector: counters in seconds, and machines without pressure."""

import os
import select
from pathlib import Path

from jobmeter.collectors import psi
from jobmeter.model import measurement
from jobmeter.probes.paths import Paths
from support.livejob import LiveJob, values

ALL = frozenset(m.key for m in psi.MEASUREMENTS)


def machine(folder: Path, **files: str) -> Paths:
    (folder / "pressure").mkdir()
    for name, text in files.items():
        (folder / "pressure" / name).write_text(text)
    return Paths(proc=str(folder))


def line(kind: str, total: int) -> str:
    return f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"


def test_every_definition_is_legal() -> None:
    assert measurement.problems(psi.MEASUREMENTS) == []


def test_stalls_are_seconds_since_boot(tmp_path: Path) -> None:
    paths = machine(
        tmp_path,
        cpu=line("some", 1_500_000) + line("full", 9),
        memory=line("some", 20) + line("full", 10),
        io=line("some", 4_000_000) + line("full", 3_000_000),
    )
    assert values(psi.attach(LiveJob(paths=paths), ALL).read()) == {
        "psi_cpu_some": 1.5,
        "psi_mem_some": 0.00002,
        "psi_mem_full": 0.00001,
        "psi_io_some": 4.0,
        "psi_io_full": 3.0,
    }


def test_a_file_that_is_not_there_leaves_its_keys_out(tmp_path: Path) -> None:
    paths = machine(tmp_path, cpu=line("some", 1_000_000), io=line("some", 2_000_000))
    assert values(psi.attach(LiveJob(paths=paths), ALL).read()) == {"psi_cpu_some": 1.0, "psi_io_some": 2.0}


def test_only_the_files_of_selected_keys_are_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    source = psi.attach(LiveJob(), frozenset(("psi_io_full",)))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert values(source.read()).keys() == {"psi_io_full"}
    source.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_kernel_without_pressure_says_so(tmp_path: Path) -> None:
    assert psi.missing(Paths()) is None
    assert psi.missing(Paths(proc=str(tmp_path))) == (
        f"no {tmp_path}/pressure: kernel before 4.20, built without PSI, or not Linux"
    )


def test_a_kernel_booted_without_pressure_says_so(tmp_path: Path) -> None:
    # /proc/self/mem has the same look: it opens, and reading its start is refused
    (tmp_path / "pressure").mkdir()
    os.symlink("/proc/self/mem", tmp_path / "pressure" / "cpu")
    assert psi.missing(Paths(proc=str(tmp_path))) == "the kernel keeps no pressure: it was booted with psi=0"


def test_a_trigger_can_be_polled() -> None:
    fd = psi.open_trigger(Paths(), "memory", 1_900_000, 2_000_000)
    assert fd is not None
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    assert all(not events & select.POLLERR for _, events in poll.poll(0))
    os.close(fd)
    assert psi.open_trigger(Paths(), "nothing", 1_900_000, 2_000_000) is None

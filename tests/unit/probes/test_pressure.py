"""Pressure files, and triggers the kernel accepts or refuses."""

import os
import select
from pathlib import Path

from jobmeter.probes import pressure

SOME = b"some avg10=0.12 avg60=0.00 avg300=0.00 total=2500000\n"
FULL = b"full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"


def test_totals_are_seconds_by_line() -> None:
    assert pressure.parse_totals(SOME + FULL) == {"some": 2.5, "full": 1e-06}


def test_a_kernel_without_the_full_line_gives_no_full() -> None:
    assert pressure.parse_totals(SOME) == {"some": 2.5}


def test_a_torn_file_gives_what_is_whole() -> None:
    assert pressure.parse_totals(b"") == {}
    assert pressure.parse_totals(SOME + b"full avg10=0.0") == {"some": 2.5}


def test_a_trigger_of_two_seconds_needs_no_privilege() -> None:
    fd = pressure.open_trigger("/proc/pressure/memory", 1_900_000, 2_000_000)
    assert fd is not None
    poll = select.poll()
    poll.register(fd, select.POLLPRI)
    assert all(not events & select.POLLERR for _, events in poll.poll(0))
    os.close(fd)


def test_a_trigger_the_kernel_refuses_is_none_and_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    assert pressure.open_trigger("/proc/pressure/memory", 3_000_000, 2_000_000) is None
    assert pressure.open_trigger(str(tmp_path / "gone"), 1, 2_000_000) is None
    assert len(os.listdir("/proc/self/fd")) == before

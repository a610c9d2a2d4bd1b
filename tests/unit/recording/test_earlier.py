"""What a training had used when its run began, and which of its processes are older."""

import time
from dataclasses import dataclass

import pytest

from jobmeter.recording import earlier
from jobmeter.recording.earlier import Earlier

ACCOUNT = {"boot_ticks": 100, "clock_ns": 7, "account_ns": 9}
IO = {"rchar": 1, "wchar": 2, "read_bytes": 3, "write_bytes": 4}


@dataclass
class Seen:
    pid: int
    start_ticks: int
    cpu_ns: int = 50
    account_ns: int = 60
    io: tuple[int, int, int, int] | None = (10, 10, 10, 10)


def test_a_process_accounts_for_itself() -> None:
    before = time.process_time_ns()
    found = earlier.written_down()
    assert before <= found["clock_ns"] <= found["account_ns"]
    assert found["clock_ns"] <= time.process_time_ns()
    assert {"rchar", "wchar", "read_bytes", "write_bytes"} <= found.keys()
    ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 100)
    assert ticks - 200 <= found["boot_ticks"] <= ticks


@pytest.mark.parametrize(
    "start", [{}, {"earlier": 5}, {"earlier": {}}, {"earlier": {**ACCOUNT, "clock_ns": "7"}}]
)
def test_an_account_that_cannot_be_used_is_none(start: dict[str, object]) -> None:
    assert earlier.read(start, 1) is None


def test_what_older_processes_used_is_set_apart_and_younger_ones_have_nothing_before() -> None:
    found = earlier.read({"earlier": {**ACCOUNT, **IO}}, 1)
    assert found is not None
    first, older, younger = Seen(1, 20), Seen(2, 99), Seen(3, 100)
    assert [found.clock_ns(one) for one in (first, older, younger)] == [7, 50, 0]  # type: ignore[arg-type]  # what is asked of it
    for one in (first, older, younger):
        found.add(one)  # type: ignore[arg-type]  # as above
    assert (found.account_ns, found.io) == (9 + 60, [11, 12, 13, 14])


def test_input_and_output_that_nobody_may_read_is_not_made_up() -> None:
    found = Earlier(ACCOUNT, 1)
    found.add(Seen(2, 99))  # type: ignore[arg-type]  # as above
    assert found.io is None
    whole = Earlier({**ACCOUNT, **IO}, 1)
    whole.add(Seen(2, 99, io=None))  # type: ignore[arg-type]  # as above
    assert whole.io == [1, 2, 3, 4]

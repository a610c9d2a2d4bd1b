"""The event loop where things go wrong, and what wakes it."""

import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from jobmeter.probes.paths import Paths
from jobmeter.recording.capture import Plan
from jobmeter.recording.clock import SystemClock, Timing
from jobmeter.recording.job import Job
from jobmeter.recording.supervise import Ending, Supervisor
from jobmeter.recording.terminal import Terminal


class FakeInbox:
    """A pipe that signals would wake, without taking this process's signals over."""

    def __init__(self) -> None:
        self.fd, self.wake = os.pipe()
        self.arrived: list[int] = []

    def take(self) -> list[int]:
        os.read(self.fd, 100)
        return []


class FakeRecorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []
        self.samples = 0

    def event(self, kind: str, details: dict[str, object]) -> None:
        self.events.append((kind, details))

    def sample(self) -> None:
        """Nothing is measured here, only counted."""
        self.samples += 1


@pytest.fixture
def inbox() -> Iterator[FakeInbox]:
    """Give an inbox and close it."""
    made = FakeInbox()
    yield made
    os.close(made.fd)
    os.close(made.wake)


def test_a_job_that_somebody_else_waited_for_ends_all_the_same(inbox: FakeInbox) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    recorder = FakeRecorder()
    timing = Timing(SystemClock(), sample_interval=0.05, report_interval=1.0, timeout=None)
    supervisor = Supervisor(
        Job(process.pid, Paths()),
        Plan(),
        recorder,  # type: ignore[arg-type]  # only these parts are used
        inbox=inbox,  # type: ignore[arg-type]  # as above
        terminal=Terminal(None),
        timing=timing,
    )
    ending = supervisor.until_exit(children_too=True)
    assert ending.exit_code == 125
    assert recorder.events == [
        ("source_failed", {"source": "wait", "error": "the job ended and nobody told how"})
    ]


@pytest.mark.parametrize(
    ("status", "timed_out", "code", "number"),
    [
        (0, False, 0, None),
        (7 << 8, False, 7, None),
        (9, False, 137, 9),
        (15, True, 124, 15),
        (0, True, 124, None),
    ],
)
def test_an_ending_is_what_a_shell_would_say(
    status: int, timed_out: bool, code: int, number: int | None
) -> None:
    ending = Ending(status, 1.0, 2.0, forwarded=[], timed_out=timed_out)
    assert (ending.exit_code, ending.signal) == (code, number)


def test_pressure_brings_a_sample_before_the_next_is_due(inbox: FakeInbox) -> None:
    """An urgent byte on a socket polls as a PSI trigger does."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    process = subprocess.Popen(["sleep", "60"])
    recorder = FakeRecorder()
    supervisor = Supervisor(
        Job(process.pid, Paths()),
        Plan(),
        recorder,  # type: ignore[arg-type]  # only these parts are used
        inbox=inbox,  # type: ignore[arg-type]  # as above
        terminal=Terminal(None),
        timing=Timing(SystemClock(), sample_interval=600.0, report_interval=600.0, timeout=None),
    )
    supervisor.watch_pressure(receiver.fileno())
    supervisor.poll_once(0.01)
    assert recorder.samples == 0
    sender.send(b"!", socket.MSG_OOB)
    supervisor.poll_once(0.3)
    assert recorder.samples >= 1
    for end in (listener, sender, receiver):
        end.close()
    process.kill()
    process.wait()

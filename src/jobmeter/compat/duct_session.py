"""Measure everything in the caller's session, for con-duct's `--mode current-session`.

The recorder follows the job; this measures its neighbours too, as con-duct does, in a process of its own
that is no child of the recorder: it would be counted into the job otherwise. What ran before the start is
read once first, so that only what is used from then on counts. jobmeter itself is left out.
"""

import os
import select
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobmeter.model.view import Window
from jobmeter.runfolder import reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.probes.paths import Paths


class Neighbours:
    """A running measurement of the session."""

    def __init__(self, folder: tempfile.TemporaryDirectory[str], stop: int, done: int) -> None:
        self._folder = folder
        self._stop = stop
        self._done = done

    def finish(self) -> "Windows":
        """End the measurement and wait for its last lines."""
        os.close(self._stop)
        os.read(self._done, 1)
        os.close(self._done)
        return Windows(self._folder)


class Windows:
    """The windows of the session; may be walked more than once."""

    def __init__(self, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._folder = folder

    def __iter__(self) -> Iterator[Window]:
        windows = reader.read_windows(Path(self._folder.name))
        began = False
        for window in windows:
            by_process = any(instance for _, instance in window.values)
            if began:
                yield window
            elif by_process:
                # the first look: names and sizes hold, its rates are over whole lives
                kept = {at: value for at, value in window.values.items() if not at[0].endswith("_pdcpu")}
                began = True
                yield Window(timestamp=window.timestamp, num_samples=0, clock=window.clock, values=kept)


def start(sample_seconds: float, report_seconds: float) -> Neighbours:
    """Begin to measure the session we are in."""
    folder = tempfile.TemporaryDirectory(prefix="jobmeter-session-")
    stop_read, stop = os.pipe2(os.O_CLOEXEC)
    done, done_write = os.pipe2(os.O_CLOEXEC)
    recorder = os.getpid()
    child = os.fork()
    if child == 0:
        # forked twice and orphaned, so that the recorder never reaps this process
        if os.fork() == 0:
            os.close(stop)
            os.close(done)
            _run(recorder, folder.name, stop_read, (sample_seconds, report_seconds))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(stop_read)
    os.close(done_write)
    return Neighbours(folder, stop, done)


def _run(recorder: int, folder: str, stop: int, seconds: tuple[float, float]) -> None:
    """Sample until the recorder closes its end; never returns."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
        _sample(recorder, folder, stop, seconds)
    finally:
        os._exit(0)


def _sample(recorder: int, folder: str, stop: int, seconds: tuple[float, float]) -> None:
    from jobmeter.probes.paths import Paths
    from jobmeter.recording import selection
    from jobmeter.recording.clock import SystemClock, Timing
    from jobmeter.recording.job import Job
    from jobmeter.recording.processes import ProcessTable
    from jobmeter.recording.sampler import Sampler
    from jobmeter.runfolder.writer import RunFolder

    paths, clock = Paths(), SystemClock()
    job = Job(recorder, paths, ours=False)

    def listed() -> list[int]:
        return session_pids(paths, os.getsid(0), (recorder, os.getpid()))

    job.table = ProcessTable(paths.proc, recorder, recorder, list_pids=listed, reaped_ns=None)
    timing = Timing(clock, sample_interval=seconds[0], report_interval=seconds[1], timeout=None)
    sampler = Sampler(
        job,
        RunFolder(folder, "session"),
        selection.parse("proc", paths),
        timing,
        lambda _kind, _details: None,
    )
    sampler.sample(final=True)
    ended = select.poll()
    ended.register(stop, select.POLLIN)
    while not ended.poll(max(0.0, timing.cadence.due() - clock.monotonic()) * 1000):
        sampler.sample()
        timing.cadence.taken(clock.monotonic())
    sampler.sample(final=True)


def session_pids(paths: "Paths", session: int, without: tuple[int, ...]) -> list[int]:
    """List the processes of a session."""
    found = []
    for pid in [int(name) for name in os.listdir(paths.proc) if name.isdigit()]:
        try:
            if pid not in without and os.getsid(pid) == session:
                found.append(pid)
        except OSError:
            continue  # ended between listing and asking
    return found

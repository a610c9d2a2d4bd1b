"""Record a job that already runs. It is not ours: nothing of it is changed, captured or signalled.

What it used before is unknown here and left out: counters begin at the first look. CPU time is that of the
process, of its living descendants and of those they reaped; the last moment before its end is not seen.
"""

import _signal
import os
import select

from jobmeter.errors import UsageError
from jobmeter.probes import pidfd, procfs
from jobmeter.probes.paths import Paths
from jobmeter.recording import capture, setup
from jobmeter.recording.clock import SystemClock, Timing
from jobmeter.recording.job import Job
from jobmeter.recording.outcome import Outcome
from jobmeter.recording.recorder import Recorder
from jobmeter.recording.signals import Inbox
from jobmeter.recording.supervise import Ending
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.config.options import Options

_STATUS_WAIT_MS = 500
_DETACHING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)


def attach(options: "Options", pid: int) -> Outcome:
    """Record a running process and its descendants until it ends or we are told to stop."""
    paths, clock, inbox = Paths(), SystemClock(), _inbox()
    fd = pidfd.open_pid(pid)
    if fd is None or procfs.read_stat(paths.proc, pid) is None:
        raise UsageError(f"no such process: {pid}", hint="give the pid of a running process, as ps shows it")
    selection = setup.select(options, paths)
    folder = writer.create(options.runs_home, clock.wall())
    plan = setup.Plan(options, folder, _start_record(options, pid, folder, clock, paths), paths)
    plan.selection = selection
    plan.no_own_cgroup = "attached to a running job: it stays where it is"
    folder.run.append(plan.start)
    outputs = capture.Plan()
    outputs.uncaptured = ["stdout", "stderr"]
    timing = Timing(
        clock,
        sample_interval=options.sample_interval,
        report_interval=options.report_interval,
        timeout=options.timeout,
    )
    recorder = Recorder(plan, Job(pid, paths, ours=False), outputs, timing)
    recorder.begin_sampling()
    detached = _watch(recorder, fd, timing, inbox)
    status = None if detached else _final_status(fd)
    return _end(recorder, status, detached=detached, timing=timing)


def _start_record(
    options: "Options", pid: int, folder: writer.RunFolder, clock: SystemClock, paths: Paths
) -> dict[str, object]:
    line = procfs.read_file(f"{paths.proc}/{pid}/cmdline", 1 << 20) or b""
    command = [os.fsdecode(word) for word in line.rstrip(b"\0").split(b"\0")]
    record = setup.start_record(options, command, folder, clock, paths)
    record["attached"] = True
    try:
        record["cwd"] = os.readlink(f"{paths.proc}/{pid}/cwd")
    except OSError:
        del record["cwd"]  # another user's process does not tell
    return record


def _inbox() -> Inbox:
    """Listen for being told to leave; what else a signal does, it does to us and not to the job."""
    inbox = Inbox()
    _signal.signal(_signal.SIGTSTP, _signal.SIG_DFL)
    return inbox


def _watch(recorder: Recorder, fd: int, timing: Timing, inbox: Inbox) -> bool:
    """Sample until the process ends; True when we were told to leave it alone."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(inbox.fd, select.POLLIN)
    recorder.sample()
    while True:
        left = timing.cadence.due() - timing.clock.monotonic()
        ready = [ready_fd for ready_fd, _flags in poll.poll(max(0.0, left * 1000))]
        if fd in ready:
            return False
        if inbox.fd in ready and any(number in _DETACHING for number in inbox.take()):
            return True
        now = timing.clock.monotonic()
        if timing.deadline is not None and now >= timing.deadline:
            return True
        if now >= timing.cadence.due():
            recorder.sample()
            timing.cadence.taken(timing.clock.monotonic())


def _final_status(fd: int) -> int | None:
    """Ask how it ended; the kernel knows once its parent has reaped it."""
    poll = select.poll()
    poll.register(fd, select.POLLHUP)
    poll.poll(_STATUS_WAIT_MS)
    return pidfd.wait_status(fd)


def _end(recorder: Recorder, status: int | None, *, detached: bool, timing: Timing) -> Outcome:
    now, wall = timing.clock.monotonic(), timing.clock.wall()
    ending = Ending(status or 0, now, wall, forwarded=[], timed_out=False)
    unknown: dict[str, object] = {}
    if status is None:
        unknown = {
            "status": "cancelled" if detached else "lost",
            "exit_code": None,
            "error": "detached; the job goes on" if detached else "the kernel did not tell how the job ended",
        }
    return recorder.end(ending, children_left=False, known=unknown)

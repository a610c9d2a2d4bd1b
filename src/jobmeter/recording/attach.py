"""Record a job that already runs. It is not ours: nothing of it is changed, captured or signalled.

What it used before is left out: counters begin at the first look, or where the SDK inside it wrote down what it had
used when the run began. CPU time is that of the process, of its living descendants and of those they reaped; the last
moment before its end is seen only while nobody has reaped it, or where the SDK inside it says that it is about to end.
"""

import _signal
import os
import select

from jobmeter.errors import JobmeterError
from jobmeter.probes import procfs
from jobmeter.probes.paths import Paths
from jobmeter.recording import capture, earlier, setup, target
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
    from jobmeter.recording.earlier import Earlier

_DETACHING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)


def attach(options: "Options", pid: int) -> Outcome:
    """Record a running process and its descendants until it ends or we are told to stop."""
    paths, clock, inbox = Paths(), SystemClock(), _inbox()
    found = target.find(pid, paths.proc)
    selection = setup.select(options, paths)
    folder = writer.create(options.runs_home, clock.wall())
    plan = setup.Plan(options, folder, _start_record(options, pid, folder, clock, paths), paths)
    plan.selection = selection
    folder.run.append(plan.start)
    return _record(plan, found, _timing(options, clock), inbox, None)


def serve(options: "Options", asker: target.Target, path: str, told: target.Told) -> Outcome:
    """Record the process that asked for it from inside: into its folder, until it ends or says so."""
    paths, clock, inbox = Paths(), SystemClock(), _inbox()
    folder = writer.RunFolder(path, os.path.basename(path))
    start = _begun(folder)
    ours: dict[str, object] = {
        **setup.start_record(options, [], folder, clock, paths),
        **{key: start[key] for key in ("job_id", "command", "cwd", "started_at", "clock") if key in start},
        "attached": True,
    }
    plan = setup.Plan(options, folder, {**start, **ours}, paths)
    folder.run.append(ours)
    try:
        plan.selection = setup.select(options, paths)
    except JobmeterError:
        plan.selection = None  # the SDK has said what is wrong with it: all that can be had is recorded
    timing = _timing(options, clock)
    began = start.get("clock")
    if isinstance(began, float | int):
        timing.began = began  # the run began when it was asked for, before we were there
    return _record(plan, asker, timing, inbox, told, earlier.read(start, asker.pid))


def _begun(folder: writer.RunFolder) -> dict[str, object]:
    """Read the `start` record that the process wrote before it started us."""
    import json

    line = (procfs.read_file(folder.file("run.jsonl") or "", 1 << 20) or b"").partition(b"\n")[0]
    try:
        found = json.loads(line)
    except ValueError:
        return {}  # cut off by a full disk: ours says what is needed
    return found if isinstance(found, dict) else {}


def _timing(options: "Options", clock: SystemClock) -> Timing:
    return Timing(
        clock,
        sample_interval=options.sample_interval,
        report_interval=options.report_interval,
        timeout=options.timeout,
    )


def _record(
    plan: setup.Plan,
    watched: target.Target,
    timing: Timing,
    inbox: Inbox,
    told: target.Told | None,
    before: "Earlier | None" = None,
) -> Outcome:
    plan.no_own_cgroup = "attached to a running job: it stays where it is"
    outputs = capture.Plan()
    outputs.uncaptured = ["stdout", "stderr"]
    setup.follow(plan)
    job = Job(watched.pid, plan.paths, ours=False)
    job.count_from(before)
    recorder = Recorder(plan, job, outputs, timing)
    recorder.begin_sampling()
    detached = _watch(recorder, watched, timing, inbox, told)
    if detached:
        return _end(recorder, timing, None, {"status": "cancelled", "error": "detached; the job goes on"})
    if told is not None and told.finished:
        return _end(recorder, timing, None, told.known())
    # a look at what is left before somebody reaps it: its account holds what its children used
    recorder.sample()
    status = watched.exit_status()
    if status is not None:
        return _end(recorder, timing, status, {} if told is None else told.cancelled(status))
    known = {} if told is None else told.known()
    lost: dict[str, object] = {"status": "lost", "error": "the kernel did not tell how the job ended"}
    return _end(recorder, timing, None, known or lost)


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


def _watch(
    recorder: Recorder, watched: target.Target, timing: Timing, inbox: Inbox, told: target.Told | None
) -> bool:
    """Sample until the process ends or has had itself finished; True when we were told to leave it alone."""
    poll = select.poll()
    for fd in (watched.fd, inbox.fd, None if told is None else told.fd):
        if fd is not None:
            poll.register(fd, select.POLLIN)
    recorder.sample()
    while True:
        left = min(timing.cadence.due() - timing.clock.monotonic(), watched.patience)
        ready = [ready_fd for ready_fd, _flags in poll.poll(max(0.0, left * 1000))]
        if told is not None and told.fd in ready:
            _listen(told, recorder, poll)
        if (told is not None and told.finished) or watched.ended(ready):
            return False
        # what the SDK started lives and dies with the training, whatever is sent to all of a batch job
        if inbox.fd in ready and any(number in _DETACHING for number in inbox.take()) and told is None:
            return True
        now = timing.clock.monotonic()
        if timing.deadline is not None and now >= timing.deadline:
            return True
        if now >= timing.cadence.due():
            recorder.sample()
            timing.cadence.taken(timing.clock.monotonic())


def _listen(told: target.Told, recorder: Recorder, poll: "select.poll") -> None:
    if not told.listen():
        poll.unregister(told.fd)  # its last holder is gone: how the process ends shows elsewhere
    elif told.exiting and not told.finished:
        recorder.sample()
        told.answer()


def _end(recorder: Recorder, timing: Timing, status: int | None, known: dict[str, object]) -> Outcome:
    now, wall = timing.clock.monotonic(), timing.clock.wall()
    ending = Ending(status or 0, now, wall, forwarded=[], timed_out=False)
    if status is None:
        known = {"exit_code": None, **known}
    outcome = recorder.end(ending, children_left=False, known=known)
    setup.end_following(recorder.plan, wait=True)
    return outcome

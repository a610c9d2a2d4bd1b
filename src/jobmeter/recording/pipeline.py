"""Read this first: the whole of one recording, in order.

    check   what can fail is found before the job starts: options, keys, home, own cgroup
    start   the `start` record is on disk, then the command, born in its cgroup
    watch   reap, relay, forward signals; the rest is imported while the job runs, and only if it still runs
    sample  collectors -> readings -> windows -> usage.jsonl, on a fixed cadence
    end     totals, `end` record, info.json, summary; the job's exit code is ours

Nothing here may harm the job: once it runs every failure costs data, never the job.
"""

import _signal

from jobmeter.recording import capture, launch, setup
from jobmeter.recording.clock import SystemClock, Timing
from jobmeter.recording.job import Job
from jobmeter.recording.outcome import Outcome
from jobmeter.recording.recorder import Recorder
from jobmeter.recording.signals import Inbox
from jobmeter.recording.supervise import Ending, Supervisor
from jobmeter.recording.terminal import open_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.config.options import Options

SETTLE_SECONDS = 0.015
"""How long a job is watched before the collectors are imported: one that ends sooner never pays for them."""


def record(options: "Options", command: list[str]) -> Outcome:
    """Record one command from start to end."""
    clock, inbox = SystemClock(), Inbox()
    plan = setup.check(options, command, clock)
    terminal = open_terminal()
    outputs = capture.plan(options.capture, options.pty, plan.folder.path, terminal)

    try:
        with launch.Inside(plan.own_cgroup):
            timing = Timing(
                clock,
                sample_interval=options.sample_interval,
                report_interval=options.report_interval,
                timeout=options.timeout,
            )
            pid = launch.start(command, launch.Inheritance(outputs.descriptors, inbox))
    except launch.ExecError as error:
        return setup.give_up(plan, command[0], error, clock)
    if not capture.is_piped():
        terminal.give(pid)  # else it is given when the job asks for it
    for channel in outputs.channels:
        channel.close_job_end()

    own = None if plan.own_cgroup is None else plan.own_cgroup.confirmed(plan.paths, pid)
    job = Job(
        pid,
        plan.paths,
        own_cgroup=own,
        task_clock_fd=plan.task_clock_fd,
        recorder_rss_bytes=setup.recorder_rss_bytes(plan.paths),
    )
    if plan.follower is not None and plan.follower.strays:
        job.lend(plan.follower)
    recorder = Recorder(plan, job, outputs, timing)
    supervisor = Supervisor(job, outputs, recorder, inbox=inbox, terminal=terminal, timing=timing)
    ending = supervisor.poll_once(SETTLE_SECONDS)
    if ending is None or options.wait_for_children:
        supervisor.watch_pressure(recorder.begin_sampling())
        ending = supervisor.until_exit(children_too=options.wait_for_children)
    return _end(recorder, supervisor, ending)


def _end(recorder: Recorder, supervisor: Supervisor, ending: Ending) -> Outcome:
    supervisor.hand_terminal_back()
    supervisor.drain_outputs()
    outcome = recorder.end(ending, children_left=supervisor.children_left)
    # the terminal told the job's group, but not the script we may be part of
    outcome.interrupted_from_terminal = ending.from_terminal and ending.signal == _signal.SIGINT
    if recorder.plan.own_cgroup is not None:
        recorder.plan.own_cgroup.remove()
    setup.end_following(recorder.plan, wait=False)
    supervisor.finish_outputs()
    recorder.print_build_stats()
    setup.end_following(recorder.plan, wait=True)
    return outcome

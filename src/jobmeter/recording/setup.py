"""Everything that is decided before the job starts, so that a mistake costs nothing but a sentence."""

import os
import sys

import jobmeter
from jobmeter.errors import RecordError
from jobmeter.probes import libc, procfs
from jobmeter.probes.paths import Paths
from jobmeter.recording import guard, launch
from jobmeter.recording.outcome import Outcome, Records
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.config.options import Options
    from jobmeter.probes.cgroupfs import OwnCgroup
    from jobmeter.recording.buildstats import BuildStats
    from jobmeter.recording.clock import Clock
    from jobmeter.recording.following import Follower
    from jobmeter.recording.selection import Selection
    from jobmeter.runfolder.writer import RunFolder

_STORED_COMMAND_BYTES = 65536
_LAUNCHED = ("RANK", "SLURM_STEP_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""Variables of which one is set where a launcher starts one process of several."""


class Plan:
    """A recording that can begin."""

    __slots__ = (
        "build_stats",
        "folder",
        "follower",
        "no_own_cgroup",
        "options",
        "own_cgroup",
        "paths",
        "selection",
        "start",
        "subreaper",
        "task_clock_fd",
    )

    def __init__(
        self, options: "Options", folder: "RunFolder", start: dict[str, object], paths: Paths
    ) -> None:
        self.options = options
        self.folder = folder
        self.start = start
        self.paths = paths
        self.build_stats: BuildStats | None = None
        self.follower: Follower | None = None
        self.selection: Selection | None = None
        self.own_cgroup: OwnCgroup | None = None
        self.no_own_cgroup = ""
        self.subreaper = False
        self.task_clock_fd: int | None = None


def recorder_rss_bytes(paths: Paths) -> int:
    """Say how large this process has been, just after it started the job.

    ru_maxrss of the job begins at the size of the process that started it; our own ru_maxrss would not do, it
    begins at the size of the one that started us.
    """
    return (procfs.read_peak_rss(paths.proc, os.getpid()) or 0) + (1 << 19)


def check(options: "Options", command: list[str], clock: "Clock") -> Plan:
    """Check what was asked, make the run folder and the own cgroup, write the `start` record."""
    paths = Paths()
    selection = select(options, paths)
    folder = writer.create(options.runs_home, clock.wall())
    start = start_record(options, command, folder, clock, paths)
    plan = Plan(options, folder, start, paths)
    plan.selection = selection
    follow(plan)  # before orphans become ours, and before a clock counts what is started
    plan.subreaper = libc.become_subreaper()
    plan.build_stats = _build_stats(options, paths, clock)
    _make_own_cgroup(plan)
    folder.run.append(start)
    if folder.path is None:
        print("jobmeter: the disk is full: the job runs, but nothing can be kept", file=sys.stderr)
    return plan


def follow(plan: Plan) -> None:
    """Start the process that follows the run, where one was asked for."""
    if not plan.options.follow:
        return
    from jobmeter.recording import following

    if following.lacks_token(plan.options.server, os.environ) and not plan.options.quiet:
        print("jobmeter: no token for the server: set JOBMETER_TOKEN; the run is kept here", file=sys.stderr)
    plan.follower = guard.attempt(
        lambda: following.start(plan.options, plan.folder.path),
        lambda error: print(f"jobmeter: the run is not followed: {error}", file=sys.stderr),
    )


def end_following(plan: Plan, *, wait: bool) -> None:
    """Tell who follows the run that it is over; `wait` where leaving would be its end."""
    follower = plan.follower
    if follower is not None:
        guard.attempt(follower.last_word if wait else follower.over, lambda _: None)


def select(options: "Options", paths: Paths) -> "Selection | None":
    """Choose the keys that were asked for; None where all that can be had are."""
    if options.measurements is None:
        return None
    from jobmeter.recording import selection, watch

    chosen = selection.parse(options.measurements, paths)
    if options.on_memory is not None and chosen.definitions.keys().isdisjoint(watch.MEMORY_KEYS):
        raise RecordError(
            "--on-memory needs a measurement of memory",
            hint="add proc_rss_total or cgroup_mem_unreclaimable to --measurements",
        )
    return chosen


def _build_stats(options: "Options", paths: Paths, clock: "Clock") -> "BuildStats | None":
    """Look at the host for the first time, where the log of a build shall tell of it."""
    if options.build_stats is None:
        return None
    from jobmeter.recording.buildstats import BuildStats

    folder, interval = options.build_stats, options.build_stats_interval
    return guard.attempt(
        lambda: BuildStats(folder, interval, paths.proc, clock),
        lambda error: print(f"jobmeter: no samples for the build: {error}", file=sys.stderr),
    )


def _make_own_cgroup(plan: Plan) -> None:
    if plan.options.own_cgroup == "never":
        plan.no_own_cgroup = "switched off by --own-cgroup never"
    elif sys.platform != "linux":
        plan.no_own_cgroup = "cgroups are a Linux feature"
    else:
        from jobmeter.probes import cgroupfs

        name = cgroupfs.own_name(plan.folder.run_id, os.getpid())
        plan.own_cgroup, plan.no_own_cgroup = cgroupfs.create_own(plan.paths, name)
    if plan.own_cgroup is None and plan.options.own_cgroup == "require":
        _remove(plan.folder)
        raise RecordError(
            f"cannot make a cgroup for the job: {plan.no_own_cgroup}",
            hint="run as root or in a delegated cgroup, or use --own-cgroup auto; see: jobmeter doctor",
        )
    if plan.own_cgroup is None or plan.own_cgroup.places.cpuacct is None:
        plan.task_clock_fd = libc.open_task_clock()


def _remove(folder: "RunFolder") -> None:
    folder.close()
    folder.release_room()
    if folder.path is not None:
        os.rmdir(folder.path)


def start_record(
    options: "Options", command: list[str], folder: "RunFolder", clock: "Clock", paths: Paths
) -> dict[str, object]:
    """Build the record that is on disk before the job runs."""
    stat = procfs.read_stat(paths.proc, os.getpid())
    named = {"name": options.name, "project": options.project, "message": options.message}
    recorder: dict[str, object] = {"version": jobmeter.__version__, "pid": os.getpid()}
    if stat is not None:
        recorder["start_ticks"] = stat[5]
    # a pid means nothing after the next boot
    boot = procfs.read_file(f"{paths.proc}/sys/kernel/random/boot_id")
    return {
        "type": "start",
        "schema": writer.SCHEMA,
        "run_id": folder.run_id,
        "job_id": options.job_id or _launched_job_id() or folder.run_id,
        "command": stored_command(command),
        "cwd": _cwd(),
        **{key: value for key, value in named.items() if value is not None},
        **({"tags": options.tags} if options.tags else {}),
        "host": os.uname().nodename,
        **({"boot_id": boot.decode("ascii").strip()} if boot else {}),
        "recorder": recorder,
        "started_at": writer.timestamp(clock.wall()),
        "clock": round(clock.monotonic(), 6),
        "sample_interval": options.sample_interval,
        "report_interval": options.report_interval,
    }


def _launched_job_id() -> str | None:
    """Name the job as the launcher of several recorders does, so that they find together."""
    if not any(name in os.environ for name in _LAUNCHED):
        return None
    from jobmeter.model import ranks
    from jobmeter.probes import jobids

    place = ranks.place(os.environ)
    return None if place is None or place.world_size < 2 else jobids.shared(os.environ, "") or None


def stored_command(command: list[str]) -> list[str]:
    """Give the command as it may be written down: secrets hidden, a huge one cut with a mark."""
    from jobmeter.config import redaction

    stored: list[str] = []
    room = _STORED_COMMAND_BYTES
    for position, word in enumerate(command):
        if len(word) > room:
            left = sum(len(rest) for rest in command[position:]) - room
            stored.append(
                f"{word[:room]}… [{left} characters and {len(command) - position - 1} arguments more]"
            )
            break
        room -= len(word)
        stored.append(word)
    return redaction.redact_argv(stored)


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def give_up(plan: Plan, name: str, error: launch.ExecError, clock: "Clock") -> Outcome:
    """Record that the command could not be started, and say so as a shell would."""
    from jobmeter.recording import report

    reason = str(error).lower()
    if error.exit_code == launch.NOT_FOUND:
        reason = "its interpreter was not found" if launch.exists(name) else "command not found"
    shown = name.encode("utf-8", "backslashreplace").decode()[:200]
    print(f"jobmeter: {shown}: {reason}", file=sys.stderr)
    end: dict[str, object] = {
        "type": "end",
        "timestamp": writer.timestamp(clock.wall()),
        "status": "failed",
        "exit_code": error.exit_code,
        "signal": None,
        "ended_at": writer.timestamp(clock.wall()),
        "wall_seconds": 0.0,
        "samples": 0,
        "summary": {},
        "error": reason,
    }
    plan.folder.release_room()
    plan.folder.run.append(end)
    plan.folder.write_info(report.info(plan.start, {}, end, {}, plan.folder.path or ""))
    plan.folder.close()
    if plan.own_cgroup is not None:
        plan.own_cgroup.remove()
    end_following(plan, wait=True)
    records = Records(start=plan.start, context={}, end=end, headlines={})
    return Outcome(error.exit_code, plan.folder.path, records, started=False)

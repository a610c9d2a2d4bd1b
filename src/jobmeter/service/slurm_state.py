"""What Slurm's accounts say of the end of a run, asked when somebody wants to know why it went wrong.

Asked only where the job ran under Slurm and `sacct` is here, for some seconds at most. What can mislead: the state is
that of the whole job or step, which may have gone on after this command; where it did not end with the run it is
not taken.
"""

import os
import subprocess

from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import Event

_ASK_SECONDS = 5.0
_NEAR_SECONDS = 60.0
_UNFINISHED = frozenset(("PENDING", "RUNNING", "REQUEUED", "SUSPENDED", "COMPLETING"))
_SPECIAL_STEPS = 0xFFFFFF00
"""Slurm numbers its batch, interactive and external steps from the top."""


def events(run: Run) -> tuple[Event, ...]:
    """Give the state of the job as an event; none where nobody can say."""
    job = _job(run)
    if job is None or run.status in LIVE or run.status is Status.COMPLETED:
        return ()
    told = _ask(job)
    if told is None:
        return ()
    state, begin, end = told
    if state.split(" ")[0].rstrip("+") in _UNFINISHED or not _is_of(run, begin, end):
        return ()
    return (Event(timestamp=end, type="scheduler_state", details={"state": state, "job": job}),)


def _job(run: Run) -> str | None:
    """Name the job, or the step of it that the command was."""
    environment = run.context.get("environment")
    if not isinstance(environment, dict):
        return None
    job, step = str(environment.get("SLURM_JOB_ID", "")), str(environment.get("SLURM_STEP_ID", ""))
    if not job.isdigit():
        return None
    return f"{job}.{step}" if step.isdigit() and int(step) < _SPECIAL_STEPS else job


def _is_of(run: Run, begin: float, end: float) -> bool:
    """Tell whether the run was part of it to its end; numbers of jobs are given again."""
    started, ended = run.started_at, run.ended_at
    if started is None or not begin - _NEAR_SECONDS <= started <= end + _NEAR_SECONDS:
        return False
    return ended is None or abs(end - ended) <= _NEAR_SECONDS


def _ask(job: str) -> tuple[str, float, float] | None:
    which = ["--jobs", job] if "." in job else ["--jobs", job, "--allocations"]
    try:
        done = subprocess.run(
            ["sacct", *which, "--noheader", "--parsable2", "--format", "State,Start,End"],
            env=os.environ | {"SLURM_TIME_FORMAT": "%s"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _parsed(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else None


def _parsed(text: str) -> tuple[str, float, float] | None:
    """Read the first line: `CANCELLED by 1000|1763260000|1763260360`."""
    cells = text.partition("\n")[0].split("|")
    if len(cells) != 3 or not cells[1].isdigit() or not cells[2].isdigit():
        return None  # still running, never started, or a version that writes times its own way
    return cells[0], float(cells[1]), float(cells[2])

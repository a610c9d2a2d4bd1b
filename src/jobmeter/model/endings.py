"""How a run ended, in the words that every page uses.

What can mislead: a job that its recorder stopped in time ends by a signal like any other, or even well; only the
recorder knows that its time limit was over (`ended_by` of the `end` record).
"""

from jobmeter.model import units
from jobmeter.model.run import Run

TIMEOUT = "timeout"


def time_limit_seconds(run: Run) -> float | None:
    """Give the time limit that the recorder held the job to."""
    options = run.context.get("options")
    given = options.get("timeout") if isinstance(options, dict) else None
    return float(given) if isinstance(given, int | float) else None


def cause(run: Run) -> str:
    """Say in the words after the status by what a run ended: its time limit, or a signal; else nothing."""
    by = f"by {run.signal}" if run.signal else ""
    if run.context.get("ended_by") != TIMEOUT:
        return by
    limit_seconds = time_limit_seconds(run)
    of = "" if limit_seconds is None else f" of {units.format_seconds(limit_seconds)}"
    return f"at its time limit{of}{', ' if by else ''}{by}"

"""What runs now, as types of JSON; see `answers.py`."""

from typing import Any, Literal, TypedDict

from jobmeter.model.answers import RunListed


class ProgressTold(TypedDict, total=False):
    """How far a job is, and how long it still takes."""

    by: Literal["steps", "history"]
    """What it is taken from: the steps there are to be, or how long earlier runs took."""
    step: int
    of: int
    percent: float
    seconds_left: float
    """Absent where the pace is not known, or the job takes longer than usual already."""
    usual_seconds: float
    runs: int
    """Earlier runs that it is taken from."""


class JobLiving(TypedDict, total=False):
    """A job that runs now."""

    job_id: str
    name: str
    project: str
    runs: list[RunListed]
    """Its recorders that are alive."""
    hosts: list[str]
    progress: ProgressTold
    stragglers: list[int]
    ranks: dict[str, Any]
    """Its ranks side by side, as `jobmeter ranks --json`; absent for a job of one."""


class Living(TypedDict):
    """All that runs now, jobs with stragglers first."""

    jobs: list[JobLiving]
    runs: int
    hosts: list[str]

"""What a run was, as the API answers it; see `answers.py`."""

from typing import Any, TypedDict

from jobmeter.model.answers import Figure


class KeyTold(TypedDict):
    """One measurement of a run."""

    key: str
    kind: str
    unit: str
    scope: str
    about: str
    summary: dict[str, Figure]
    """What it came to, by the name of the statistic; empty where only its course was kept."""


class SourceTold(TypedDict):
    """What came from one source."""

    source: str
    keys: list[KeyTold]


class _RunContext(TypedDict):
    run_id: str
    measured: list[SourceTold]
    missing: dict[str, str]
    """By source: why it could not be read."""
    origin: str
    """Who measured: `jobmeter`, or the format the run was imported from."""


class RunContext(_RunContext, total=False):
    """What a run was; secrets were cut out when it was recorded."""

    config: Any
    config_path: str
    """Where the config was read from."""
    argv: list[str]
    """As the training itself saw it."""
    host: dict[str, Any]
    limits: dict[str, Any]
    """What it was allowed, and who said so."""
    git: dict[str, Any]
    python: str
    packages: dict[str, str]
    versions: dict[str, Any]
    frameworks: Any
    environment: dict[str, str]
    slurm: dict[str, Any]
    options: dict[str, Any]
    """What jobmeter was asked for."""
    recorder: dict[str, Any]
    processes_left: list[dict[str, Any]]
    ended_by: str
    resumed: str
    again: str
    """A line for a shell that records the job once more."""
    again_advised: str
    """The same with the advice that belongs on it; absent where that changes nothing."""
    inexact: dict[str, str]
    dropped: dict[str, int]
    sources: Any

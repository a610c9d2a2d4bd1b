"""A recorded run and what is decided of it."""

from jobmeter.analysis.verdict import court
from jobmeter.model.report import LogError, Verdict
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event, RunView


def decide(*events: Event, errors: tuple[LogError, ...] = (), **facts: object) -> Verdict:
    known = {"run_id": "r", "job_id": "r", "status": Status.FAILED, "command": ("python", "train.py")} | facts
    return court.decide(RunView(run=Run(**known), series={}, events=events, log_errors=errors))  # type: ignore[arg-type]


def told(signature: str | None, message: str = "words", **more: object) -> LogError:
    known: dict[str, object] = {"level": "ERROR", "type": signature or "log"} | more
    return LogError(message=message, signature=signature, **known)  # type: ignore[arg-type]


def event(kind: str, **details: object) -> Event:
    return Event(timestamp=100.0, type=kind, details=details)

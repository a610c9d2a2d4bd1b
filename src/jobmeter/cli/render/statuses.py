"""How a run stands, in a word, in a sentence, and in colour."""

from jobmeter.cli.render.screen import Style
from jobmeter.model import endings, text
from jobmeter.model.run import Run, Status

STYLES: dict[Status, Style] = {
    Status.CANCELLED: Style.WARN,
    Status.COMPLETED: Style.GOOD,
    Status.FAILED: Style.BAD,
    Status.KILLED: Style.BAD,
    Status.LOST: Style.WARN,
    Status.PAUSED: Style.WARN,
    Status.QUEUED: Style.LIVE,
    Status.RUNNING: Style.LIVE,
}


def word(run: Run) -> str:
    """Say how a run stands, with its exit code or signal where that explains it."""
    if run.signal:
        return f"{run.status.value} {text.clean(run.signal.removeprefix('SIG'))}"
    if run.status is Status.FAILED and run.exit_code is not None:
        return f"{run.status.value} {run.exit_code}"
    return f"{run.status.value}"


def sentence(run: Run) -> str:
    """Say how a run stands, and by what it ended."""
    code = "" if run.exit_code is None else f", exit code {run.exit_code}"
    if run.status is Status.LOST and run.provenance.origin != "jobmeter":
        return "not known: nothing says how it ended"
    if run.status is Status.LOST:
        return "lost: the recorder vanished, what follows stops where it did"
    return f"{run.status.value} {text.clean(endings.cause(run))}".rstrip() + code

"""Something the job needs is not installed."""

from jobmeter.analysis.verdict import facts, names, story
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.view import RunView

_SAID_BY_STATUS = {
    126: "cannot be executed: it is no program, or not allowed to run",
    127: "was not found",
}
"""What an exit status means by the convention that shells, `env`, `timeout` and `jobmeter run` follow."""


def judge(view: RunView) -> Verdict | None:
    """Say what is missing."""
    error = story.root(view)
    if error is None:
        return _by_status(view)
    if error.signature != "import_error" or not facts.went_wrong(view):
        return None
    return facts.verdict(
        Cause.IMPORT_ERROR,
        f"{_sentence(error)}{facts.on_ranks(error)}",
        0.95,
        facts.quoted(error, "the job says so"),
        *facts.endings(view.run),
    )


def _sentence(error: LogError) -> str:
    named = names.read(error.message)
    if named is not None and named.is_circular:
        return f"{named.module} has no {named.name} yet: most likely modules import one another"
    if named is not None:
        return f"{named.module} has no {named.name} to import"
    missing = error.fields.get("missing")
    return f"there is no {missing}, or not the right one" if missing else facts.first_line(error)


def _by_status(view: RunView) -> Verdict | None:
    """Take the word of the exit status where the output says nothing."""
    run = view.run
    said = None if run.exit_code is None else _SAID_BY_STATUS.get(run.exit_code)
    if said is None:
        return None
    # without a single sample and any time: it was the command itself that never ran
    is_first = run.wall_seconds == 0 and bool(run.command)
    what = f"the command {run.command[0]}" if is_first else "a command that the job needs"
    return facts.verdict(Cause.IMPORT_ERROR, f"{what} {said}", 0.95 if is_first else 0.7, *facts.endings(run))

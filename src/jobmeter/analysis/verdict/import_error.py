"""Something the job needs is not installed."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say what is missing."""
    error = story.root(view)
    if error is None or error.signature != "import_error" or not facts.went_wrong(view):
        return None
    missing = error.fields.get("missing")
    sentence = f"{missing} is not there, or not the right one" if missing else facts.first_line(error)
    return facts.verdict(
        Cause.IMPORT_ERROR,
        f"{sentence}{facts.on_ranks(error)}",
        0.95,
        facts.quoted(error, "the job says so"),
        *facts.endings(view.run),
    )

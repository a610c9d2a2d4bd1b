"""The job was told something it does not understand."""

from jobmeter.analysis.verdict import facts, refusals, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say which setting was refused, and where it stands."""
    error = story.root(view)
    if error is None or error.signature != "config_error" or not facts.went_wrong(view):
        return None
    return facts.verdict(
        Cause.CONFIG_ERROR,
        f"the job refused its settings{facts.on_ranks(error)}: {refusals.read(error).words}",
        0.9,
        facts.quoted(error, "the job says so"),
        *facts.endings(view.run),
    )

"""Nothing more could be written: the disk was full, or the user's quota on it."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that the disk was full, where the job says so."""
    error = story.root(view)
    if error is None or error.signature != "disk_full" or not facts.went_wrong(view):
        return None
    what = "the disk quota was used up" if "quota" in error.fields else "the disk was full"
    path = error.fields.get("path")
    where = f" while writing {path}" if path else ""
    return facts.verdict(
        Cause.DISK_FULL,
        f"{what}{where}{facts.on_ranks(error)}",
        0.95,
        facts.quoted(error, "the job says so"),
        *facts.endings(view.run),
    )

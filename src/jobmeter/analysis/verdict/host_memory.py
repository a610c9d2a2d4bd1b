"""A process asked for memory of the host and was refused: it was told so instead of being killed."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Verdict
from jobmeter.model.units import format_bytes
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that an allocation of host memory failed."""
    error = story.root(view)
    if error is None or error.signature != "cpu_oom" or not facts.went_wrong(view):
        return None
    tried = error.fields.get("tried_bytes")
    size = f" {format_bytes(float(tried))}" if isinstance(tried, int) else " more memory"
    if "heap" in error.fields:
        sentence = f"the Java virtual machine used up its own memory ({error.fields['heap']})"
    else:
        sentence = f"the host refused{size} to the job{facts.on_ranks(error)}{facts.memory_words(view)}"
    return facts.verdict(
        Cause.OOM_HOST, sentence, 0.85, facts.quoted(error, "the job says so"), *facts.endings(view.run)
    )

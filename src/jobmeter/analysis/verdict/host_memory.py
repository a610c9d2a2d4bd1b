"""A process asked for memory of the host and was refused: it was told so instead of being killed."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.units import format_bytes
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that an allocation of host memory failed."""
    error = story.root(view)
    if error is None or error.signature != "cpu_oom" or not facts.went_wrong(view):
        return None
    if "heap" in error.fields:
        sentence = f"the Java virtual machine used up its own memory ({error.fields['heap']})"
    else:
        sentence = _refused(view, error)
    return facts.verdict(
        Cause.OOM_HOST, sentence, 0.85, facts.quoted(error, "the job says so"), *facts.endings(view.run)
    )


def _refused(view: RunView, error: LogError) -> str:
    """Say what was refused; who refused it is known only where little was left."""
    tried, limit = error.fields.get("tried_bytes"), view.run.limits.memory_bytes
    size = format_bytes(float(tried)) if isinstance(tried, int) else "more memory"
    if isinstance(tried, int) and limit is not None and tried > limit:
        ranks = facts.on_ranks(error)
        return f"the job asked for {size} at once{ranks}, more than the {format_bytes(limit)} it may use"
    where = f"{facts.on_ranks(error)}{facts.memory_words(view)}"
    if isinstance(tried, int) or not facts.has_room(view):
        return f"the host refused {size} to the job{where}"
    why = "it asked for very much at once, or has a limit of its own (ulimit -v)"
    return f"{size} was refused to the job{where}: {why}"

"""Any other error the job told of: an exception, an assertion, a GPU that failed, a child that did."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.view import RunView

_SURE, _SILENT = 0.9, 0.6


def judge(view: RunView) -> Verdict | None:
    """Say what the job failed with."""
    if not facts.went_wrong(view):
        return None
    error = story.root(view)
    if error is None:
        return _logged(view)
    evidence = [facts.quoted(error, "the job says so")]
    evidence += [facts.quoted(one, "what came of it") for one in story.consequences(view, error)]
    confidence = _SILENT if error.signature == "child_failed" else _SURE
    return facts.verdict(Cause.EXCEPTION, _sentence(error), confidence, *evidence, *facts.endings(view.run))


def _sentence(error: LogError) -> str:
    if error.signature == "child_failed":
        code = error.fields.get("exit_code")
        rank = f" rank {error.fields['rank']}" if "rank" in error.fields else " a process"
        how = f" with exit status {code}" if code is not None else ""
        return f"{rank.strip()} failed first{how}; its own words are not in the output"
    where = "a GPU failed" if error.signature == "gpu_fault" else "the job failed"
    return f"{where}{facts.on_ranks(error)}: {facts.first_line(error)}"


def _logged(view: RunView) -> Verdict | None:
    """Take the last error line of a job that is known to have failed."""
    if not view.run.exit_code:
        return None
    lines = [one for one in view.log_errors if one.level != "WARNING" and not one.survived]
    if not lines:
        return None
    return facts.verdict(
        Cause.EXCEPTION,
        f"the job failed; the last error it logged: {facts.first_line(lines[-1])}",
        _SILENT,
        facts.quoted(lines[-1], "the last error line"),
        *facts.endings(view.run),
    )

"""The job ended by itself and says that all is well."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.run import Run
from jobmeter.model.view import RunView


def judge(view: RunView) -> Verdict | None:
    """Say that the job completed."""
    if not facts.went_well(view):
        return None
    error = story.root(view)
    kills = facts.number(view, "cgroup_oom_kill")
    confidence, though = 0.99, ""
    evidence = list(facts.endings(view.run)) or [
        Evidence(sentence=_shown(view.run), source=view.run.provenance.origin)
    ]
    if error is not None:
        confidence, though = 0.8, f", though its output says: {facts.first_line(error)}"
        evidence.append(facts.quoted(error, "an error the job did not fail of"))
    elif view.run.exit_code is None:
        confidence = 0.8
    if kills:
        though += f", though the kernel killed {kills:.0f} of its processes for want of memory"
        confidence = min(confidence, 0.9)
        evidence.append(
            Evidence(sentence="the kernel counted kills", source="cgroup_oom_kill", value=int(kills))
        )
    return facts.verdict(Cause.COMPLETED, f"the job completed{though}", confidence, *evidence)


def _shown(run: Run) -> str:
    if facts.is_text(run):
        return "the output shows that the job came to its end"
    state = facts.accounted_state(run)
    return f"the imported record says {state}" if state else "the imported record came to its end"

"""What the scheduler's accounts say of the job's end: an event of the recorder, or the imported record itself."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.run import Status
from jobmeter.model.view import RunView

_CAUSES = {
    "OUT_OF_MEMORY": (Cause.OOM_CGROUP, "the job was killed because it reached the memory it had asked for"),
    "TIMEOUT": (Cause.TIMEOUT, "the job was ended at its time limit"),
    "DEADLINE": (Cause.TIMEOUT, "the job was ended at its deadline"),
    "CANCELLED": (Cause.KILLED_SIGNAL, "the job was cancelled"),
    "PREEMPTED": (Cause.KILLED_SIGNAL, "the job was stopped to make room for another one"),
    "NODE_FAIL": (Cause.KILLED_SIGNAL, "the node the job ran on failed"),
    "BOOT_FAIL": (Cause.KILLED_SIGNAL, "the node the job was to run on did not start"),
    "REVOKED": (Cause.KILLED_SIGNAL, "the job was withdrawn"),
}
_STATES = {Status.CANCELLED: "CANCELLED"}
_YIELDS = frozenset((Cause.TIMEOUT, Cause.KILLED_SIGNAL))


def judge(view: RunView) -> Verdict | None:
    """Say what the scheduler says, where it says more than that the job failed."""
    if not facts.went_wrong(view):
        return None
    state, evidence = _state(view)
    if state not in _CAUSES or evidence is None:
        return None
    cause, sentence = _CAUSES[state]
    error = story.root(view)
    if cause in _YIELDS and error is not None and error.signature not in story.STOPS:
        return None  # a rank had failed; the rest waited until the end
    if cause is Cause.OOM_CGROUP:
        sentence += facts.memory_words(view)
    return facts.verdict(cause, sentence, 0.95, evidence, *facts.endings(view.run))


def _state(view: RunView) -> tuple[str, Evidence | None]:
    for event in facts.events(view, "scheduler_state"):
        state = str(event.details.get("state", "")).split(" ")[0].rstrip("+").upper()
        said = Evidence(
            sentence=f"the scheduler's accounts say {state}",
            source="sacct",
            value=state,
            timestamp=event.timestamp,
        )
        return state, said
    if facts.is_recorded(view.run):
        return "", None
    state = facts.accounted_state(view.run) or _STATES.get(view.run.status, "")
    said = Evidence(
        sentence=f"the imported record says {state}", source=view.run.provenance.origin, value=state
    )
    return state, said if state else None

"""A signal ended the job, or a scheduler cancelled it, and nothing says why: who sent it is not in the evidence."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, LogError, Verdict
from jobmeter.model.view import RunView

_CRASHES = {
    "SIGSEGV": "it used memory that is not its own (a bug in native code)",
    "SIGBUS": "it used memory that was not there (often /dev/shm or a file cut short)",
    "SIGILL": "it ran an instruction this processor does not have",
    "SIGFPE": "it divided by zero in native code",
    "SIGABRT": "it aborted itself",
}
_REASONS = {
    "preemption": "to make room for another one",
    "preempt": "to make room for another one",
    "preempting": "to make room for another one",
    "node failure": "because its node failed",
    "evicted": "because its node had too little left for it",
    "memory": "because its node was low on memory",
    "ephemeral-storage": "because its node was low on disk",
}


def judge(view: RunView) -> Verdict | None:
    """Say by which signal, or by whose order, the job ended."""
    if not facts.went_wrong(view):
        return None
    error = story.root(view)
    if error is not None and error.signature == "cancelled":
        return _cancelled(view, error)
    name = facts.signal_name(view.run)
    if name is not None and _decides(view, error):
        return _by_signal(view, name, error)
    if error is not None and error.signature == "segfault":
        signal = str(error.fields.get("signal"))
        evidence = facts.quoted(error, "the output says so")
        sentence = f"a process crashed with {signal}: {_CRASHES.get(signal, '')}"
        return facts.verdict(Cause.KILLED_SIGNAL, sentence, 0.9, evidence, *facts.endings(view.run))
    if error is not None and story.was_signalled(error):
        return _signalled(view, error)
    if error is not None and error.signature == "oom_killed":
        sentence = "a process was killed (SIGKILL), often for want of memory, which nothing here proves"
        evidence = facts.quoted(error, "the output says so")
        return facts.verdict(Cause.KILLED_SIGNAL, sentence, 0.6, evidence, *facts.endings(view.run))
    return None


def _signalled(view: RunView, error: LogError) -> Verdict:
    signal = str(error.fields["signal"])
    who = f"rank {error.fields['rank']}" if "rank" in error.fields else "a process"
    why = _CRASHES.get(signal, "often for want of memory, which nothing here proves")
    evidence = facts.quoted(error, "the launcher says so")
    return facts.verdict(
        Cause.KILLED_SIGNAL, f"{who} was ended by {signal}: {why}", 0.7, evidence, *facts.endings(view.run)
    )


def _decides(view: RunView, error: LogError | None) -> bool:
    """Tell whether the signal says more than the output; an exception's own exit status is none."""
    if view.run.signal is None and error is not None:
        return error.signature in ("segfault", "oom_killed", "child_failed")
    return error is None or error.signature in ("segfault", "oom_killed", "child_failed", "exception")


def _cancelled(view: RunView, error: LogError) -> Verdict:
    evidence = facts.quoted(error, "the scheduler says so")
    reason = str(error.fields.get("reason", ""))
    if not reason and "job" in error.fields and view.run.wall_seconds is None:
        # a log alone: not every Slurm names the limit, so the line of both is the same
        sentence = (
            "Slurm ended the job: at its time limit, or because somebody cancelled it (sacct tells which)"
        )
        return facts.verdict(Cause.TIMEOUT, sentence, 0.5, evidence)
    why = (
        f" {_REASONS.get(reason, f'({reason})')}"
        if reason
        else "; no time limit is named, so somebody did it"
    )
    sentence = f"the job was cancelled{why}"
    return facts.verdict(Cause.KILLED_SIGNAL, sentence, 0.9, evidence, *facts.endings(view.run))


def _by_signal(view: RunView, name: str, error: LogError | None) -> Verdict:
    evidence = [*facts.endings(view.run), *facts.kernel_words(view)]
    if error is not None:
        evidence.append(facts.quoted(error, "the last its output says"))
    if name in _CRASHES:
        return facts.verdict(
            Cause.KILLED_SIGNAL, f"the job crashed with {name}: {_CRASHES[name]}", 0.9, *evidence
        )
    sentence = f"{name} from outside ended the job"
    counted = facts.number(view, "cgroup_oom_kill")
    if name == "SIGKILL" and counted == 0 and not facts.is_elsewhere(view.run):
        sentence += "; the kernel counted no kill for want of memory"
    return facts.verdict(Cause.KILLED_SIGNAL, sentence, 0.9, *evidence)

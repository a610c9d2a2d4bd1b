"""A signal from outside that ended the job: who may have sent it, because nothing in its code asks for a change."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Recommendation, Severity
from jobmeter.model.run import Run

_SENDERS = {
    "SIGHUP": "a terminal or a connection that was closed (nohup, setsid and tmux keep a job from that), a user's kill",
    "SIGKILL": "a scheduler or a container runtime that waited in vain after SIGTERM, systemd-oomd or earlyoom, "
    "a user's kill -9",
    "SIGTERM": "a scheduler's limit, a supervisor such as systemd, docker or Kubernetes, a shutdown, a user's kill",
}
_KERNEL = ", or the kernel for want of memory (dmesg | grep -i kill)"
_UNCHANGED = "The output tells of no error: as far as is known nothing in the job itself has to change"
_SAID = "What the output tells of came before the signal, or of it"


def advise(case: Case) -> Iterable[Recommendation]:
    """Say where to look for the sender."""
    view = case.view
    name = facts.signal_name(view.run) if case.verdict.cause is Cause.KILLED_SIGNAL else None
    error = story.root(view)
    if name not in _SENDERS or (error is not None and error.signature in story.STOPS):
        return  # no signal, or the output names who sent it
    is_counted = facts.number(view, "cgroup_oom_kill") is not None and not facts.is_elsewhere(view.run)
    kernel = name == "SIGKILL" and not is_counted
    yield Recommendation(
        rule="sent_signal",
        severity=Severity.WARNING,
        title=f"Find what sent {name}",
        action=f"Find what sent {name}: {_SENDERS[name]}{_KERNEL if kernel else ''}{_account(view.run)}",
        impact=_UNCHANGED if error is None else _SAID,
        evidence=advice.verdict_evidence(case.verdict),
    )


def _account(run: Run) -> str:
    """Name the command that tells whether Slurm did it."""
    if not configs.is_slurm(run):
        return ""
    environment = run.context.get("environment")
    job = environment.get("SLURM_JOB_ID") if isinstance(environment, dict) else None
    return f"; sacct{f' -j {job}' if isinstance(job, str) and job.isdigit() else ''} says whether Slurm did"

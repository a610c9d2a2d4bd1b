"""The kernel's own count of processes it killed in the job's cgroup: nothing is surer.

The counter does not say whose limit was hit: that the job was at its own limit, or had none, tells a limit from a full
machine. The counter of the enclosing cgroup may have counted somebody else's process, so it needs a kill beside it.
"""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, Verdict
from jobmeter.model.units import format_bytes
from jobmeter.model.view import RunView

_NEAR = 0.85
_OWN, _OUTER, _HOST = "cgroup_oom_kill", "cgroup_outer_oom_kill", "host_oom_kill"


def judge(view: RunView) -> Verdict | None:
    """Say that the kernel killed for want of memory, where it counted so."""
    if not facts.went_wrong(view):
        return None
    own, outer, host = _counted(view, _OWN), _counted(view, _OUTER), facts.number(view, _HOST)
    if own:
        return _verdict(view, _OWN, own, 0.98)
    if outer and _was_killed(view):
        return _verdict(view, _OUTER, outer, 0.95)
    if host and _was_killed(view) and facts.number(view, _OWN) is None:
        return _verdict(view, _HOST, host, 0.8)
    return None


def _counted(view: RunView, key: str) -> float:
    told = [
        event.details.get("count", 1)
        for event in facts.events(view, "oom_kill")
        if _key(event.details) == key
    ]
    return max(
        [facts.number(view, key) or 0.0, *(float(count) for count in told if isinstance(count, int | float))]
    )


def _key(details: dict[str, object]) -> object:
    """Name the counter; a scheduler's word for it is as good as the job's own."""
    return details.get("key", _OWN)


def _was_killed(view: RunView) -> bool:
    """Tell whether something of this job was killed, by its end or by what it says."""
    if facts.signal_name(view.run) == "SIGKILL":
        return True
    return any(
        error.signature in ("worker_killed", "oom_killed", "kernel_oom")
        or error.fields.get("exit_code") == -9
        for error in story.fatal(view)
    )


def _verdict(view: RunView, key: str, count: float, confidence: float) -> Verdict:
    victim = _victim(view)
    what = victim or ("a process" if count == 1 else f"{count:.0f} processes")
    cause = _cause(view, key)
    place = "" if cause is Cause.OOM_CGROUP else " because the machine had no memory left"
    moment = next((event.timestamp for event in facts.events(view, "oom_kill")), None)
    evidence = [
        Evidence(
            sentence=f"the kernel counted {count:.0f} kill{'s' if count != 1 else ''} for want of memory",
            source=key if not next(facts.events(view, "oom_kill"), None) else "event oom_kill",
            value=int(count),
            timestamp=moment,
        )
    ]
    limit, peak = view.run.limits.memory_bytes, facts.peak_bytes(view)
    if limit is not None and peak is not None:
        sentence = f"the job held {format_bytes(peak)} of {format_bytes(limit)}"
        evidence.append(Evidence(sentence=sentence, source="cgroup_mem_peak", value=int(peak)))
    evidence += facts.kernel_words(view)
    evidence += facts.endings(view.run)
    evidence += [
        facts.quoted(error, "the output says so too")
        for error in story.fatal(view)
        if _is_kill(error.signature)
    ]
    sentence = f"the kernel killed {what}{facts.memory_words(view)}{place}"
    return facts.verdict(cause, sentence, confidence, *evidence)


def _is_kill(signature: str | None) -> bool:
    return signature in ("worker_killed", "oom_killed", "kernel_oom")


def _victim(view: RunView) -> str | None:
    """Name who was killed, where the kernel's log or the job's output says it."""
    told = [
        (event.details.get("pid"), event.details.get("process"))
        for event in facts.events(view, "kernel_message")
    ]
    named = [
        (error.fields.get("pid"), error.fields.get("process"))
        for error in view.log_errors
        if error.signature == "kernel_oom"
    ]
    for pid, process in (*told, *named):
        if isinstance(pid, int) and isinstance(process, str):
            return f"{process} (pid {pid})"
    workers = [error.fields.get("pid") for error in view.log_errors if error.signature == "worker_killed"]
    worker = next((pid for pid in workers if pid is not None), None)
    return None if worker is None else f"a worker (pid {worker})"


def _cause(view: RunView, key: str) -> Cause:
    limit, peak = view.run.limits.memory_bytes, facts.peak_bytes(view)
    if key == _HOST:
        return Cause.OOM_HOST
    if facts.number(view, "cgroup_mem_max_events"):
        return Cause.OOM_CGROUP
    if limit is None:
        # a scheduler that says so speaks of its own limit
        return Cause.OOM_HOST if view.run.provenance.origin == "jobmeter" else Cause.OOM_CGROUP
    return Cause.OOM_HOST if peak is not None and peak < _NEAR * limit else Cause.OOM_CGROUP

"""The kernel's log, and what schedulers and container runtimes pass on of it: who was killed and for which limit."""

from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Evidence, LogError, Verdict
from jobmeter.model.run import Value
from jobmeter.model.units import format_bytes
from jobmeter.model.view import Event, RunView


def judge(view: RunView) -> Verdict | None:
    """Say that a process was killed for want of memory, where the kernel or the scheduler wrote so."""
    if not facts.went_wrong(view):
        return None
    told = [
        event
        for event in facts.events(view, "kernel_message")
        if "oom" in str(event.details.get("text", "")).lower()
    ]
    if told:
        return _from_event(view, told[0])
    error = story.root(view)
    if error is None or not story.is_memory_kill(error):
        return None
    return _from_kernel(view, error) if error.signature == "kernel_oom" else _from_scheduler(view, error)


def _from_event(view: RunView, event: Event) -> Verdict:
    text = str(event.details.get("text", ""))
    # `task_memcg=` stands in every report, also where the whole machine was short
    is_limit = any(word in text.lower() for word in ("constraint_memcg", "memory cgroup out of memory"))
    fields = {name: value for name, value in event.details.items() if isinstance(value, int | float | str)}
    evidence = Evidence(
        sentence="the kernel's log says so",
        source="event kernel_message",
        timestamp=event.timestamp,
        quote=text[:300],
    )
    cause = Cause.OOM_CGROUP if is_limit else Cause.OOM_HOST
    sentence = f"the kernel killed {_who(fields)}{facts.memory_words(view)}"
    return facts.verdict(cause, sentence, 0.97, evidence, *facts.endings(view.run))


def _from_kernel(view: RunView, error: LogError) -> Verdict:
    fields = error.fields
    is_limit = fields.get("constraint") == "CONSTRAINT_MEMCG"
    held = fields.get("anon_rss_bytes")
    size = f", which held {format_bytes(float(held))}," if isinstance(held, int) else ""
    limit = fields.get("limit_bytes")
    if is_limit:
        reach = f" of {format_bytes(float(limit))}" if isinstance(limit, int) else ""
        cgroup = f" of {fields['cgroup']}" if "cgroup" in fields else ""
        why = f"because the memory limit{reach}{cgroup} was reached"
    else:
        why = "because the machine had no memory left"
    cause = Cause.OOM_CGROUP if is_limit else Cause.OOM_HOST
    evidence = facts.quoted(error, "the kernel's log says so")
    return facts.verdict(
        cause, f"the kernel killed {_who(fields)}{size} {why}", 0.97, evidence, *facts.endings(view.run)
    )


def _who(fields: dict[str, Value]) -> str:
    if "pid" not in fields:
        return "a process"
    return f"{fields.get('process') or 'a process'} (pid {fields['pid']})"


def _from_scheduler(view: RunView, error: LogError) -> Verdict:
    workers = [one for one in story.fatal(view) if one.signature == "worker_killed"]
    limit = error.fields.get("limit_bytes")
    reach = f" of {format_bytes(float(limit))}" if isinstance(limit, int) else ""
    whom = (
        f"a worker (pid {workers[0].fields['pid']})" if workers and "pid" in workers[0].fields else "the job"
    )
    is_host = "host" in error.fields
    why = "the machine was short of memory" if is_host else f"the job reached its memory limit{reach}"
    sentence = f"{whom} was killed because {why}{facts.memory_words(view)}"
    evidence = [facts.quoted(error, "the scheduler or the container runtime says so")]
    evidence += [facts.quoted(one, "a process of the job saw its worker die") for one in workers]
    cause = Cause.OOM_HOST if is_host else Cause.OOM_CGROUP
    return facts.verdict(cause, sentence, 0.95, *evidence, *facts.endings(view.run))

"""The kernel's own report that it killed a process for want of memory, from dmesg, journald or syslog.

What misleads: the victim need not be ours; `constraint=` tells a limit that was hit from a machine that was full, and
kernels before 4.19 say it in other words.
"""

import re

from jobmeter.formats.errorlines.amounts import kilobytes
from jobmeter.formats.errorlines.sign import CRITICAL, Passage, Sign
from jobmeter.model.run import Value

WORDS = ("invoked oom-killer", "oom-kill:", "killed process", "kill process", "memory: usage", "oom_reaper")
_INVOKED = re.compile(r"(?P<process>\S.{0,40}?) invoked oom-killer")
_CONSTRAINT = re.compile(r"oom-kill:constraint=(?P<constraint>\w+)")
_MEMCG = re.compile(r"\boom_memcg=(?P<cgroup>[^,\s]+)")
_TASK = re.compile(r"\btask=(?P<process>[^,]+),pid=(?P<pid>\d+)")
_LIMIT = re.compile(r"\bmemory: usage (?P<usage>\d+)kB, limit (?P<limit>\d+)kB")
_KILLED = re.compile(
    r"(?P<memcg>Memory cgroup )?[Oo]ut of memory(?: \([^)]*\))?: Kill(?:ed)? process "
    r"(?P<pid>\d+),? \((?P<process>[^)]*)\)"
    r"|(?<!: )Killed process (?P<old_pid>\d+),? (?:\(|UID \d+,? \()(?P<old_process>[^)]*)\)"
)
_IN_CGROUP = re.compile(r"\bmem_cgroup_(?:out_of_memory|oom_synchronize)\b")
"""Functions of the kernel that are only called when a limit was reached."""
_IN_HOST = re.compile(r"\bout_of_memory\b[\s\S]{0,400}\b__alloc_pages")
"""These ask the machine as a whole."""
_SIZES = re.compile(r"total-vm:(?P<vm>\d+)kB, anon-rss:(?P<anon>\d+)kB")
_NO_LIMIT = 1 << 62
_KEPT = ("kernel_process", "kernel_limit", "kernel_usage", "kernel_constraint", "kernel_cgroup", "kernel_pid")


def read(passage: Passage) -> Sign | None:
    """Read one line of the report; lines of one report are one failure."""
    text, memory = passage.text, passage.memory
    if (limit := _LIMIT.search(text)) is not None:
        memory["kernel_limit"], memory["kernel_usage"] = kilobytes(limit["limit"]), kilobytes(limit["usage"])
        return None
    if (invoked := _INVOKED.search(text)) is not None:
        for name in _KEPT:
            memory.pop(name, None)
        memory["kernel_process"] = invoked["process"].split()[-1]
        return _traced(passage)
    if (constraint := _CONSTRAINT.search(text)) is not None:
        return _constrained(constraint["constraint"], text, memory)
    killed = _KILLED.search(text)
    return None if killed is None else _killed(killed, text, memory)


def _traced(passage: Passage) -> Sign | None:
    """Read from the calls below for which limit it is; who is killed is told far below, if it was not cut off."""
    calls = passage.following()
    if _IN_CGROUP.search(calls) is not None:
        passage.memory["kernel_constraint"] = "CONSTRAINT_MEMCG"
    elif _IN_HOST.search(calls) is None:
        return None
    return _sign(passage.text, {}, passage.memory)


def _constrained(constraint: str, text: str, memory: dict[str, Value]) -> Sign:
    memory["kernel_constraint"] = constraint
    if (cgroup := _MEMCG.search(text)) is not None:
        memory["kernel_cgroup"] = cgroup["cgroup"]
    task = _TASK.search(text)
    fields: dict[str, Value] = {} if task is None else {"pid": int(task["pid"]), "process": task["process"]}
    return _sign(text, fields, memory)


def _killed(killed: "re.Match[str]", text: str, memory: dict[str, Value]) -> Sign:
    fields: dict[str, Value] = {
        "pid": int(killed["pid"] or killed["old_pid"]),
        "process": killed["process"] or killed["old_process"] or "",
    }
    if killed["memcg"]:
        memory.setdefault("kernel_constraint", "CONSTRAINT_MEMCG")
    if (sizes := _SIZES.search(text)) is not None:
        fields["total_vm_bytes"], fields["anon_rss_bytes"] = kilobytes(sizes["vm"]), kilobytes(sizes["anon"])
    return _sign(text, fields, memory)


def _sign(text: str, fields: dict[str, Value], memory: dict[str, Value]) -> Sign:
    limit = memory.get("kernel_limit")
    known = {
        "constraint": memory.get("kernel_constraint"),
        "cgroup": memory.get("kernel_cgroup"),
        "limit_bytes": limit if isinstance(limit, int) and limit < _NO_LIMIT else None,
        "usage_bytes": memory.get("kernel_usage"),
    }
    fields |= {name: value for name, value in known.items() if value is not None}
    pid = fields.get("pid", "")
    is_more = memory.get("kernel_pid") == pid
    memory["kernel_pid"] = pid
    return Sign(
        type="kernel_oom",
        message=text,
        fields=fields,
        level=CRITICAL,
        same=f"kernel_oom {pid}",
        is_more=is_more,
    )

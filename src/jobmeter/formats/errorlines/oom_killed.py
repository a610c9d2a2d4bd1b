"""A scheduler, a container runtime or a shell says that a process was killed, mostly for want of memory.

What misleads: `Killed` in a shell's line and exit status 137 say SIGKILL, not why; only wordings that name memory carry
`memory` = 1 in their fields.
"""

import re

from jobmeter.formats.errorlines.sign import CRITICAL, Passage, Sign
from jobmeter.model.run import Value

WORDS = ("oom-kill event", "oom_kill event", "oom kill", "oomkilled", "oom-killed", "oom killed", "killed",
         "exit code 137", "exitcode 137", "exit status 137", "status 137", "exit code: 137",
         "exceeded memory limit",
         "memory limit exceeded", "term_memlimit", "exceeded job memory", "memory usage", "killing container",
         "low on memory", "exceeding memory")  # fmt: skip
_MEMORY = re.compile(
    r"Detected (?P<count>\d+) oom[-_]kill event"
    r"|(?:srun|slurmstepd)\S*: error: .{0,80}?(?:Out Of Memory|OUT_OF_MEMORY|oom[-_ ]?kill)"
    r"|\bOOMKilled\b|\bOOM[- ]?[Kk]illed\b|\boom[-_]kill(?:er)? killed"
    r"|Exceeded (?:job|step) memory limit"
    r"|exceeded memory limit \(\d+ > (?P<limit_kb>\d+)\), being killed"
    r"|job killed: (?:mem|vmem|pmem|pvmem) \S+ exceeded limit"
    r"|PBS: job killed: \w*mem\b.*exceeded"
    r"|TERM_MEMLIMIT"
    r"|[Kk]illing (?:container|executor|worker|task)\b.{0,60}memory|(?:[Cc]ontainer|[Ww]orker|[Tt]ask"
    r"|process)\b.{0,80}?"
    r"(?:running beyond|exceeded|exceeding|due to|killed (?:due|because)[^.]{0,20}) .{0,40}?"
    r"(?:(?:physical |virtual )?memory limit|memory pressure|node running low on memory|95% memory budget)"
    r"|(?:were|was) killed due to the node running low on memory",
)
_NOT_MEMORY = re.compile(
    r"(?P<line>line \d+:\s+)(?P<pid>\d+) Killed\b"
    r"|^(?:\[\d+\][+-]?\s+)?(?P<pid2>\d+ )?Killed(?:\s{2,}\S.*)?$"
    r"|\btask \d+[\d,-]*: Killed"
    r"|(?:exit(?:ed with)?(?: code| status)?|status|code)[ :=]+137\b"
    r"|\bterminated by signal SIGKILL\b|\(signal: 9, SIGKILL|signal 9 \(Killed\)|exited on signal 9\b"
)
_INDENTED = re.compile(r"\s{8,}")


def read(passage: Passage) -> Sign | None:
    """Read a line that says something was killed."""
    text = passage.text
    if (memory := _MEMORY.search(text)) is not None:
        fields: dict[str, Value] = {"memory": 1}
        if memory["count"]:
            fields["kills"] = int(memory["count"])
        if memory["limit_kb"]:
            fields["limit_bytes"] = int(memory["limit_kb"]) << 10
        return Sign(type="oom_killed", message=text, fields=fields, level=CRITICAL, same="oom")
    killed = _NOT_MEMORY.search(text)
    if killed is None or passage.level in ("INFO", "DEBUG"):
        return None
    pid = killed["pid"] or (killed["pid2"] or "").strip()
    return Sign(type="killed", message=text, fields={"pid": int(pid)} if pid else {}, same="killed")

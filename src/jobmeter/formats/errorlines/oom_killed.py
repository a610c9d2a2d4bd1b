"""A scheduler, a container runtime or a shell says that a process was killed, mostly for want of memory.

What misleads: `Killed` in a shell's line and exit status 137 say SIGKILL, not why; only wordings that name memory carry
`memory` = 1 in their fields.
"""

import re

from jobmeter.formats.errorlines.sign import CRITICAL, Passage, Sign
from jobmeter.model.run import Value

WORDS = ("oom-kill event", "oom_kill event", "oom kill", "oomkilled", "oom-killed", "oom killed", "killed",
         "exit code 137", "exitcode 137", "exit status 137", "status 137", "exit code: 137",
         "exceeded memory limit", "memory resource limit", "code: 137", "sent sigkill",
         "memory limit exceeded", "term_memlimit", "exceeded job memory", "memory usage", "killing container",
         "low on memory", "exceeding memory", "killed signal", "signal 9", "signal: 9", "status (137)", "oom-kill",
         "oomd", "earlyoom", "system memory low", "term_swap", "state:")  # fmt: skip
_MEMORY = re.compile(
    r"Detected (?P<count>\d+) oom[-_]kill event"
    r"|(?:srun|slurmstepd)\S*: error: .{0,80}?(?:Out Of Memory|OUT_OF_MEMORY|oom[-_ ]?kill)"
    r"|\bOOMKilled\b|\bOOM[- ]?[Kk]illed\b|\boom[-_]kill(?:er)? killed"
    r"|Exceeded (?:job|step) memory limit"
    r"|exceeded memory limit \(\d+ > (?P<limit_kb>\d+)\), being killed"
    r"|job killed: (?:mem|vmem|pmem|pvmem) \S+ exceeded limit"
    r"|PBS: job killed: \w*mem\b.*exceeded"
    r"|TERM_MEMLIMIT|TERM_SWAP\b|[Jj]ob exceeded (?:a|its) memory (?:resource )?limit"
    r"|(?P<host>systemd-oomd killed \d+ process|systemd-oomd\S*: Killed .{1,300} due to memory (?:pressure|used)"
    r"|earlyoom\S*: sending SIG(?:TERM|KILL) to process"
    r"|System memory low at node .{1,200}, killing |Failed with result 'oom-kill'"
    r"|killed due to the node running low on memory)"
    r"|[Kk]illing (?:container|executor|worker|task)\b.{0,60}memory|(?:[Cc]ontainer|[Ww]orker|[Tt]ask"
    r"|process)\b.{0,80}?"
    r"(?:running beyond|exceeded|exceeding|due to|killed (?:due|because)[^.]{0,20}) .{0,40}?"
    r"(?:(?:physical |virtual )?memory limit|memory pressure|95% memory budget)"
)
_NOT_MEMORY = re.compile(
    r"(?P<line>line \d+:\s+)(?P<pid>\d+) Killed\b"
    r"|^(?:\[\d+\][+-]?\s+)?(?P<pid2>\d+ )?Killed(?:\s{2,}\S.*)?$"
    r"|\btask \d+[\d,-]*: Killed"
    r"|(?:exit(?:ed with)?(?: code| status)?|status|code)[ :=]+137\b|\bwas sent SIGKILL\b"
    r"|\bterminated by signal SIGKILL\b|\(signal: 9, SIGKILL|signal 9 \(Killed\)|exited on signal 9\b"
    r"|\b[Kk]illed signal terminated program|internal compiler error: Killed|terminated with signal 9\b"
    r"|(?:it/s|s/it|B/s|eta [\d:]+)\S* ?\S?Killed$|^\S*make(?:\[\d+\])?: \*\*\* .{1,200}\] Killed$"
    r"|terminated with an error exit status \(137\)(?! -- (?:Execution is retried|Error is ignored))"
)
_STATE = re.compile(r"^(?:Last )?State:\s+Terminated$")
_CODE = re.compile(r"^\s*Reason:\s+Error\s*\n\s*Exit Code:\s+137\b")
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
        if memory["host"]:
            fields["host"] = 1
        return Sign(type="oom_killed", message=text, fields=fields, level=CRITICAL, same="oom")
    if _STATE.match(text) is not None:
        return _terminated(passage)
    killed = _NOT_MEMORY.search(text)
    if killed is None or passage.level in ("INFO", "DEBUG"):
        return None
    pid = killed["pid"] or (killed["pid2"] or "").strip()
    return Sign(type="killed", message=text, fields={"pid": int(pid)} if pid else {}, same="killed")


def _terminated(passage: Passage) -> Sign | None:
    """Read the end of a container that Kubernetes describes over several lines."""
    following = passage.following()
    if _CODE.match(following) is None:
        return None
    message = " ".join([passage.text, *(line.strip() for line in following.split("\n")[:2])])
    return Sign(type="killed", message=message, same="killed")

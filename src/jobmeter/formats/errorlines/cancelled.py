"""Somebody, or something other than a limit, told a scheduler or a builder to stop the job.

What misleads: Slurm writes the same line for `scancel` and, with a reason behind it, for a time limit, a preemption or
a lost node.
"""

import re

from jobmeter.formats.errorlines.sign import CRITICAL, Passage, Sign
from jobmeter.model.run import Value

WORDS = ("cancelled at", "cancelled by", "preempt", "term_owner", "term_preempt", "term_admin",
         "context canceled",
         "spot interruption", "operation was canceled", "spot instance", "received signal 15",
         "received sigterm",
         "node fail", "evicted", "terminated", "terminationreason", "qdel", "job deleted", "signal: terminated",
         "sigterm", "has been revoked")  # fmt: skip
_SAID = re.compile(
    r"\*\*\* (?P<what>JOB|STEP) (?P<id>\S+) ON \S+ CANCELLED AT (?P<at>\S+)"
    r"(?: DUE TO (?P<reason>[\w ]+?)(?:,[^*]*)?)? ?\*\*\*"
    r"|(?:error: |srun: )(?:Job|Step|JOB|STEP)\S* .{0,60}(?:CANCELLED|has been cancelled|was cancelled|Preempt)"
    r"|TERM_(?P<lsf>OWNER|PREEMPT|ADMIN|FORCE_OWNER|FORCE_ADMIN)"
    r"|context canceled|The operation was canceled"
    r"|[Ss]pot (?:instance|VM|node)?.{0,30}(?:interrupt|preempt|reclaim)\w*|[Pp]reempted\b.{0,40}(?:job"
    r"|node|instance|pod)"
    r"|(?:reason|Reason|status|Status)\W{1,4}(?P<k8s>Evicted|Preempting)\b"
    r"|The node was low on resource: (?P<low>[\w-]+)"
    r"|(?:[Rr]eceived|caught|Caught|got|Got)(?: the)? (?:signal )?(?:SIGTERM|15\b)"
    r"|line \d+:\s+(?P<pid>\d+) Terminated\b|^Terminated$|: task \d+[\d,-]*: Terminated"
    r"|(?:it/s|s/it|B/s|eta [\d:]+)\S* ?\S?Terminated$|^\S*make(?:\[\d+\])?: \*\*\* .{1,200}\] Terminated$"
    r"|error: (?P<revoked>Job allocation \d+ has been revoked)"
)
_RESTART = re.compile(r"Sending process \d+ closing signal")


def read(passage: Passage) -> Sign | None:
    """Read that the job was stopped from outside."""
    said = _SAID.search(passage.text)
    if said is None or _RESTART.search(passage.text) or passage.level == "DEBUG":
        return None
    fields: dict[str, Value] = {}
    reason = (
        (said["reason"] or "").lower()
        or (said["lsf"] or "").lower()
        or said["low"]
        or (said["k8s"] or "").lower()
    )
    if reason:
        fields["reason"] = reason
    if said["revoked"]:
        fields["reason"] = "revoked"
    if said["id"]:
        fields["job"] = said["id"]
    if said["what"] == "STEP":
        fields["step"] = 1
    if "context cancel" in said[0] or "operation was" in said[0]:
        fields["reason"] = "interrupt"
    same = f"cancelled {fields.get('job', '')}".strip()
    return Sign(
        type="cancelled",
        message=passage.text,
        fields=fields,
        level=CRITICAL,
        same=same,
        ends_attempt=bool(said["id"]),
    )

"""The time a scheduler had given the job was over."""

import re

from jobmeter.formats.errorlines.sign import CRITICAL, Passage, Sign
from jobmeter.model.run import Value

WORDS = ("due to time limit", "walltime", "runlimit", "run time limit", "deadlineexceeded", "deadline exceeded",
         "wall clock limit", "wallclock", "job_max_run_time", "exceeded the time limit", "max_run_time", "h_rt",
         "maxruntimeexceeded", "time limit exceeded", "exceeded the maximum execution time",
         "context deadline exceeded", "timed out after", "cputime", "time_limit", "wall clock")  # fmt: skip
_SAID = re.compile(
    r"CANCELLED (?:AT (?P<at>\S+) )?DUE TO TIME LIMIT"
    r"|(?:job|STEP|JOB) .{0,60}DUE TO TIME LIMIT"
    r"|PBS: job killed: walltime (?P<used>\d+) exceeded limit (?P<limit>\d+)"
    r"|job killed: (?:walltime|cput) "
    r"|TERM_RUNLIMIT|TERM_CPULIMIT|reaching LSF run time limit"
    r"|(?:reason|Reason|message)\W{1,4}DeadlineExceeded|Job was active longer than specified deadline"
    r"|MaxRuntimeExceeded"
    r"|(?:wall ?clock|[Ww]all[- ]?time) (?:time )?(?:limit )?(?:was )?(?:exceeded|reached)"
    r"|exceeded (?:hard )?wall(?:clock|time)"
    r"|exceeded its (?:wall ?time|wall ?clock|run ?time) limit"
    r"|(?:due to|hit|reached) (?:the |its )?(?:maximum )?wall[ -]?(?:clock|time) limit"
    r"|job \d+ exceeded .{0,30}h_rt|exceeded (?:the |its )?(?:maximum execution time|time limit)"
    r"|The job running on runner .{0,80}has exceeded the maximum execution time of (?P<minutes>\d+) minutes"
)


def read(passage: Passage) -> Sign | None:
    """Read that a scheduler ended the job at its time limit."""
    said = _SAID.search(passage.text)
    if said is None:
        return None
    fields: dict[str, Value] = {}
    if said["used"]:
        fields = {"elapsed_seconds": float(said["used"]), "timeout_seconds": float(said["limit"])}
    if said["minutes"]:
        fields["timeout_seconds"] = float(said["minutes"]) * 60
    return Sign(
        type="time_limit",
        message=passage.text,
        fields=fields,
        level=CRITICAL,
        same="time_limit",
        ends_attempt=True,
    )

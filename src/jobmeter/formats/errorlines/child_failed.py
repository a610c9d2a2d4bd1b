"""A launcher sums up which of its processes failed: torchrun, DeepSpeed, mpirun, srun, Lightning.

What misleads: it never says why. `Root Cause (first observed failure)` is who was seen first, which on one host is
mostly who it was.
"""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign
from jobmeter.model.run import Value

WORDS = ("childfailederror", "root cause (first observed failure)", "(exitcode:", "exits with return code",
         "exited with exit code", "returned non-zero exit status", "exited on signal",
         "primary job  terminated",
         "terminated with the following error", "exited with non-zero", "subprocess.calledprocesserror",
         "terminated with signal", "rank: ", "spawn.processexitedexception", "processraisedexception",
         "non-zero exit code", "actordiederror", "actor died", "processexited")  # fmt: skip
_TABLE = re.compile(
    r"rank\s*:\s*(?P<rank>\d+) \(local_rank: \d+\)\s*\n\s*exitcode\s*:\s*(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)"
)
_ONE = re.compile(
    r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<rank>\d+) \(pid: (?P<pid>\d+)\)"
    r"|Process \d+ exits with return code = (?P<deepspeed>-?\d+)|exits with return code = (?P<deepspeed2>-?\d+)"
    r"|srun: error: \S+: tasks? (?P<task>\d+)[\d,-]*: Exited with exit code (?P<srun>\d+)"
    r"|returned non-zero exit status (?P<sub>\d+)"
    r"|mpirun noticed that process rank (?P<mpi>\d+) .{0,200}exited on signal (?P<mpi_signal>\d+)"
    r"|Process \d+ terminated with (?:signal (?P<spawn>\w+)|exit code (?P<spawn_code>\d+)|the following error)"
    r"|ChildFailedError|CalledProcessError"
)
_DIED = re.compile(r"died with <Signals\.(?P<name>\w+)")
_SIGNALS = {"4": "SIGILL", "7": "SIGBUS", "8": "SIGFPE", "9": "SIGKILL", "11": "SIGSEGV"}
"""Those that a launcher does not send itself, and that no rank ends by because another one did."""
_SUMMARY = "Root Cause (first observed failure)"


def read(passage: Passage) -> Sign | None:
    """Read a launcher's summary."""
    if _SUMMARY in passage.text:
        return _summary(passage)
    said = _ONE.search(passage.text)
    if said is None:
        return None
    fields: dict[str, Value] = {}
    code = next(
        (
            said[name]
            for name in ("code", "deepspeed", "deepspeed2", "srun", "sub", "spawn_code")
            if said[name]
        ),
        None,
    )
    if code is not None:
        fields["exit_code"] = int(code)
    died = _DIED.search(passage.text)
    fields |= _signalled(died["name"] if died else None, said["mpi_signal"], code)
    rank = said["rank"] or said["task"] or said["mpi"]
    if rank:
        fields["rank"] = int(rank)
    if said["pid"]:
        fields["pid"] = int(said["pid"])
    return Sign(
        type="child_failed", message=passage.text, fields=fields, same="child_failed",
        ends_attempt=said["code"] is not None or "ChildFailedError" in said[0], is_more="ChildFailedError" in said[0],
    )  # fmt: skip


def _summary(passage: Passage) -> Sign:
    """Take the rank out of the table that follows."""
    found = _TABLE.search(passage.following())
    fields: dict[str, Value] = {}
    if found is not None:
        fields = {"rank": int(found["rank"]), "exit_code": int(found["code"]), "pid": int(found["pid"])}
        fields |= _signalled(None, None, found["code"])
    return Sign(
        type="child_failed",
        message=passage.text,
        fields=fields,
        same="child_failed",
        ends_attempt=True,
        is_more=True,
    )


def _signalled(died: str | None, number: str | None, code: str | None) -> dict[str, Value]:
    """Name the signal that ended the process, where it is told or its exit status is a negative one."""
    if number is None and code is not None and code.startswith("-"):
        number = code[1:]
    name = died if died in _SIGNALS.values() else _SIGNALS.get(number or "")
    return {} if name is None else {"signal": name}

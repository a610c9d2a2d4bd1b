"""Slurm's words in ours: states, exit codes, trackable resources, and the keys of its accounting.

What misleads: `CPUTime` is elapsed time times allocated CPUs, what the job burned is `TotalCPU`; `MaxRSS` is
sampled every 30 s and of the largest task only, and may still exceed the request of a job that completed;
0 joules means that the cluster does not measure energy; `0:125` is no signal but Slurm's word for OOM.
"""

import re

from jobmeter.formats import jobrecord, monitorlog, quantity
from jobmeter.model.measurement import Unit
from jobmeter.model.run import Status

TOOL = "slurm"

DEFINITIONS = monitorlog.table(
    (
        jobrecord.total(
            "slurm_cputime", Unit.SECONDS, "CPU time of all steps (TotalCPU); not of daemons that left"
        ),
        jobrecord.total("slurm_utime", Unit.SECONDS, "the part of it in user mode"),
        jobrecord.total("slurm_stime", Unit.SECONDS, "the part of it in the kernel"),
        jobrecord.total("slurm_elapsed", Unit.SECONDS, "wall time of the job"),
        jobrecord.total("slurm_alloc_cputime", Unit.SECONDS, "elapsed time times allocated CPUs (CPUTime)"),
        jobrecord.total("slurm_queued", Unit.SECONDS, "from submission to start"),
        jobrecord.largest(
            "slurm_maxrss", Unit.BYTES, "largest resident size of any one task, sampled by Slurm (MaxRSS)"
        ),
        jobrecord.largest("slurm_maxvmsize", Unit.BYTES, "largest virtual size of any one task (MaxVMSize)"),
        jobrecord.total("slurm_disk_read", Unit.BYTES, "bytes read by all tasks of all steps"),
        jobrecord.total("slurm_disk_write", Unit.BYTES, "bytes written by all tasks of all steps"),
        jobrecord.total("slurm_energy", Unit.JOULES, "energy of the nodes the job had (ConsumedEnergyRaw)"),
    )
)

SAMPLED = "sampled by Slurm, of the largest task only: a lower bound"

_STATES = {
    "BOOT_FAIL": Status.FAILED,
    "CANCELLED": Status.CANCELLED,
    "COMPLETED": Status.COMPLETED,
    "COMPLETING": Status.RUNNING,
    "CONFIGURING": Status.QUEUED,
    "DEADLINE": Status.KILLED,
    "ENDING": Status.RUNNING,
    "FAILED": Status.FAILED,
    "LAUNCH_FAILED": Status.FAILED,
    "NODE_FAIL": Status.FAILED,
    "OUT_OF_MEMORY": Status.KILLED,
    "PENDING": Status.QUEUED,
    "PREEMPTED": Status.KILLED,
    "RECONFIG_FAIL": Status.FAILED,
    "REQUEUED": Status.QUEUED,
    "REQUEUE_FED": Status.QUEUED,
    "REQUEUE_HOLD": Status.QUEUED,
    "RESIZING": Status.RUNNING,
    "RESV_DEL_HOLD": Status.QUEUED,
    "REVOKED": Status.CANCELLED,
    "RUNNING": Status.RUNNING,
    "SIGNALING": Status.RUNNING,
    "SPECIAL_EXIT": Status.FAILED,
    "STAGE_OUT": Status.RUNNING,
    "STOPPED": Status.PAUSED,
    "SUSPENDED": Status.PAUSED,
    "TIMEOUT": Status.KILLED,
}
_SHORT = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "S": "SUSPENDED",
    "ST": "STOPPED",
    "TO": "TIMEOUT",
}
OOM = "OUT_OF_MEMORY"
MIB = 1 << 20
_LARGEST_WORD = 4
_NO_VALUES = frozenset((2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2))
"""What Slurm stores for no value and for infinity."""

JOB_ID = re.compile(r"\d+(?:_(?:\d+|\[[^\]|]*\]?)|\+\d+)?(?:\.(?:\d+|[a-z]*)\+?)?\+?")
"""A job, a task of an array, or a step of either; a table cuts it anywhere (`2050690_20.+`)."""


def state_word(text: str) -> str:
    """Give the state alone: `CANCELLED by 2000886` and `CANCELLED+` are both `CANCELLED`; empty if it is none."""
    word = text.strip().split(" ")[0].rstrip("+").upper()
    word = _SHORT.get(word, word)
    if word in _STATES:
        return word
    cut = [known for known in _STATES if len(word) > _LARGEST_WORD and known.startswith(word)]
    return cut[0] if len(cut) == 1 else ""  # a table cuts `OUT_OF_ME+`


def status(state: str) -> Status:
    """Say where a job stands; a word this release does not know is lost."""
    return _STATES.get(state_word(state), Status.LOST)


def exit_pair(text: str) -> tuple[int, int] | None:
    """Take `0:15` apart: exit code and signal."""
    code, colon, signal = text.strip().partition(":")
    if not colon or not code.isdecimal() or not signal.isdecimal():
        return None
    return int(code), int(signal)


def resources(text: str) -> dict[str, str]:
    """Take `cpu=1,mem=1000M,gres/gpu=2` apart."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def requested_bytes(text: str, cpus: float | None, nodes: float | None) -> int | None:
    """Read ReqMem: `3840M` is the job's, `100Mc` per CPU, `48000Mn` per node; 0 asks for whole nodes."""
    word = text.strip()
    per = {"c": cpus, "n": nodes}.get(word[-1:].lower(), 1) if word else None
    number = word[:-1] if word[-1:].lower() in ("c", "n") else word
    each = quantity.size_bytes(number, bare=MIB)
    return round(each * per) if each and per else None


def joules(text: str) -> quantity.Number | None:
    """Read ConsumedEnergy in joules: `1.5M` counts in thousands; 0 was not measured."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text.strip())
    if found is None:
        return None
    digits, prefix = found.groups()
    whole = (
        quantity.tidy(float(digits) * 1000 ** " KMGT".index(prefix or " "))
        if prefix
        else quantity.number(digits)
    )
    return None if not whole or whole in _NO_VALUES else whole


def is_no_value(value: float) -> bool:
    """Tell the numbers that stand for none."""
    return value < 0 or value in _NO_VALUES

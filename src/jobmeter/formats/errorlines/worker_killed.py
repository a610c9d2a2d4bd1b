"""A worker process died under its parent: DataLoader, joblib, concurrent.futures, billiard.

What misleads: it is the parent's exception that is printed, long after; the reason is elsewhere, mostly memory.
"""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("dataloader worker", "bus error encountered in worker", "worker process managed by the executor",
         "process in the process pool was terminated", "terminatedworkererror", "workerlosterror",
         "brokenprocesspool",
         "worker died unexpectedly", "worker exited", "leaving the worker", "out of shared memory",
         "workercrashed", "connectionreseterror", "connectionrefusederror", "eoferror",
         "filenotfounderror")  # fmt: skip
_SAID = re.compile(
    r"DataLoader worker \(pid\(?s?\)? ?(?P<pid>\d+)[\d, ]*\)"
    r"(?: is killed by signal: (?P<signal>[\w ]+)|(?P<gone> exited unexpectedly))?"
    r"|Unexpected bus error encountered in worker|out of shared memory"
    r"|A worker process managed by the executor was unexpectedly terminated|TerminatedWorkerError"
    r"|A process in the process pool was terminated abruptly|BrokenProcessPool"
    r"|WorkerLostError(?:\('|: )(?:Worker exited prematurely: signal (?P<number>\d+))?"
    r"|WorkerCrashedError"
)
_FETCHING = ("multiprocessing/resource_sharer.py", "rebuild_storage", "object repr")
_GONE = frozenset(("ConnectionResetError", "ConnectionRefusedError", "EOFError", "FileNotFoundError"))
"""A worker that died leaves batches which cannot be fetched from it any more; often the loop meets one of them before
it hears of the death, and a traceback that the news cuts short is dumped as an object."""
_NAMES = {"2": "Interrupt", "7": "Bus error", "9": "Killed", "11": "Segmentation fault", "15": "Terminated"}


def read(passage: Passage) -> Sign | None:
    """Read a parent's complaint about a worker."""
    said = _SAID.search(passage.text)
    if said is None:
        return _lost(passage)
    fields: dict[str, Value] = {}
    if said["pid"]:
        fields["pid"] = int(said["pid"])
    signal = (said["signal"] or "").strip() or _NAMES.get(said["number"] or "")
    if "bus error" in passage.text.lower() or "shared memory" in passage.text.lower():
        signal, fields["shared_memory"] = "Bus error", 1
    if signal:
        fields["signal"] = signal
    return Sign(
        type=type_of(passage, "worker_killed"),
        message=passage.text,
        fields=fields,
        level=level_of(passage),
        same=f"worker {fields.get('pid', '')}",
    )


def _lost(passage: Passage) -> Sign | None:
    """Read that a batch could not be fetched from the worker that made it."""
    if passage.exception not in _GONE or not any(place in passage.trace for place in _FETCHING):
        return None
    return Sign(type="worker_killed", message=passage.text, level=level_of(passage), same="worker ")

"""A collective operation of several ranks did not come together in time: NCCL, Gloo, RCCL, the store, MPI.

What misleads: the ranks that complain are those that waited; who did not come says nothing. One timeout is told in
half a dozen lines per rank.
"""

import re

from jobmeter.formats.errorlines.amounts import seconds
from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("watchdog caught collective", "timeout at nccl work", "timed out waiting", "timed out after",
         "barrier timeout",
         "timeout waiting for", "watchdog got stuck", "unhandled timeout", "heartbeat monitor timed out",
         "terminating the process after attempting to dump debug info", "monitoredbarrier",
         "failed to pass monitoredbarrier", "wait timeout", "socket timeout", "store->get",
         "timed out in")  # fmt: skip
_WATCHDOG = re.compile(r"Watchdog caught collective operation timeout")
_OTHERS = re.compile(
    r"(?P<work>Timeout at NCCL work: (?P<at>\d+), last enqueued NCCL work: (?P<enqueued>-?\d+),"
    r" last completed NCCL work:"
    r" (?P<completed>-?\d+))"
    r"|monitoredBarrier|\[(?:\S*/)?gloo/\S*\] Timed out waiting (?P<gloo>\d+)ms"
    r"|Timed out waiting (?P<gloo2>\d+)ms for (?:recv|send|connect)"
    r"|(?:Socket|wait|Wait) timeout.{0,80}(?:store|key|rank|Broken)"
    r"|Timed out after \d+ seconds waiting for clients"
    r"|Terminating the process after attempting to dump debug info, due to .{0,20}(?:collective timeout"
    r"|watchdog)"
    r"|heartbeat monitor timed out|wait timeout after (?P<store>\d+)ms"
    r"|Rendezvous.{0,40}[Tt]ime(?:d )?out|RendezvousTimeoutError"
)
_OPERATION = re.compile(r"Op(?:Type|eration)?\s*=\s*(?P<op>\w+)")
_SEQUENCE = re.compile(r"(?:SeqNum|seq)\s*=\s*(?P<seq>\d+)")
_LIMIT = re.compile(r"Timeout\s*\(ms\)\s*=\s*(?P<ms>\d+)")
_RAN = re.compile(r"ran\s*for\s*(?P<ms>\d+)\s*milliseconds")


def read(passage: Passage) -> Sign | None:
    """Read a complaint that others did not come."""
    if _WATCHDOG.search(passage.text) is not None:
        whole = passage.unwrapped()
        fields = _fields(whole)
        end = _RAN.search(whole)
        message = whole[: end.end() + len(" before timing out.")] if end else passage.text
        return _sign(passage, message, fields, is_more="terminated with exception" in passage.text)
    said = _OTHERS.search(passage.text)
    if said is None:
        return None
    fields = {}
    if said["work"]:
        fields = {
            "seq": int(said["at"]),
            "last_enqueued": int(said["enqueued"]),
            "last_completed": int(said["completed"]),
        }
    limit = said["gloo"] or said["gloo2"] or said["store"]
    if limit:
        fields["timeout_seconds"] = seconds(limit, milli=True)
    return _sign(passage, passage.text, fields, is_more=said["work"] is not None)


def _fields(whole: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if (operation := _OPERATION.search(whole)) is not None:
        found["op"] = operation["op"]
    if (sequence := _SEQUENCE.search(whole)) is not None:
        found["seq"] = int(sequence["seq"])
    if (ran := _RAN.search(whole)) is not None:
        found["elapsed_seconds"] = seconds(ran["ms"], milli=True)
    if (limit := _LIMIT.search(whole)) is not None:
        found["timeout_seconds"] = seconds(limit["ms"], milli=True)
    return found


def _sign(passage: Passage, message: str, fields: dict[str, Value], *, is_more: bool) -> Sign:
    return Sign(
        type=type_of(passage, "nccl_timeout"),
        message=message,
        fields=fields,
        level=level_of(passage),
        same=f"nccl_timeout {fields.get('seq', '')}",
        is_more=is_more,
    )

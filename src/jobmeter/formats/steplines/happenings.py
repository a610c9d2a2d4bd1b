"""What a training log says happened beside its steps: memory ran out, a checkpoint was saved, the batch size changed.

What misleads: one failure is printed by every rank and again by each exception that follows from it, so running
out of memory is told once per step; a hint how to avoid it is none.
"""

import re
from dataclasses import dataclass

WORDS = (
    b"out of memory",
    b"oom during",
    b"saving at step",
    b"checkpoint to",
    b"checkpoint at iter",
    b"checkpoint from iter",
    b"batch size",
    b"batch_size",
)
"""A line without any of these, in lower case, says nothing of this kind."""

SAVED = "checkpoint_saved"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = r"(?P<{0}>\d+(?:\.\d+)?) (?P<{0}_unit>[KMGT])i?B"
_NO_MEMORY = re.compile(r"(?P<device>CUDA|HIP|XPU|MPS backend)(?: error:)? out of memory\b", re.IGNORECASE)
_ADVICE = re.compile(
    r"\b(?:avoid|prevent|against|if|case of|run(?:ning)? into)(?: an?| the)?\s*$", re.IGNORECASE
)
_WANTED = re.compile(r"Tried to allocate " + _SIZE.format("wanted"))
_GPU = re.compile(r"GPU (?P<gpu>\d+)(?:;| has)")
_CAPACITY = re.compile(
    _SIZE.format("before") + r" total capacity|total capacity of " + _SIZE.format("after"), re.IGNORECASE
)
_SKIPPED = re.compile(r"OOM during training step, skipping batch (?P<count>\d+)/\d+")
_SAVING = re.compile(r"^Saving at step (?P<step>\d+)\s*$")
_SAVED = re.compile(
    r"\b(?:saved|saving)(?: model)? checkpoint (?:(?:at|from) iteration\s+(?P<step>\d+)\s+)?to:?\s+(?P<path>\S.*?)\s*$",
    re.IGNORECASE,
)
_BATCH = re.compile(
    r"\b(?:decreas|reduc|increas|adjust|chang|rais|lower|updat)\w*\s+(?:the\s+)?(?:\w+\s+)?batch[ _]size"
    r"(?:\s+from:?\s+(?P<a>\d+))?\s*(?:to|->|=>):?\s*(?P<b>\d+)\b"
    r"|\bbatch[ _]size\s+(?:was\s+)?(?:adjusted|changed|reduced|increased|decreased|updated)"
    r"(?:\s+from\s+(?P<c>\d+))?\s*(?:to|:)\s*(?P<d>\d+)\b"
    r"|\bbatch[ _]size:?\s+(?P<e>\d+)\s*(?:->|=>|→)\s*(?P<f>\d+)\b"
    r"|\bbatch size (?P<g>\d+) (?:succeeded|failed), trying batch size (?P<h>\d+)\b",
    re.IGNORECASE,
)
_CHANGES = (
    "decreas",
    "reduc",
    "increas",
    "adjust",
    "chang",
    "rais",
    "lower",
    "updat",
    "->",
    "=>",
    "→",
    "trying",
)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened."""

    type: str
    details: dict[str, object]
    about: str | None = None
    """What is told once per step however often it is printed; None where every line counts."""


def parse(text: str) -> Happening | None:
    """Read what a line says happened; None where it says nothing."""
    lower = text.lower()
    if "memory" in lower or "oom" in lower:
        found = _memory(text)
        if found is not None:
            return found
    if "checkpoint" in lower:
        found = _checkpoint(text)
        if found is not None:
            return found
    # every line of some trainings tells the batch size; few tell that it changed
    return _batch_size(text) if any(word in lower for word in _CHANGES) else None


def saving_step(text: str) -> int | None:
    """Read the step whose checkpoint the next lines are about."""
    found = _SAVING.match(text)
    return int(found["step"]) if found else None


def _memory(text: str) -> Happening | None:
    skipped = _SKIPPED.search(text)
    if skipped is not None:
        return Happening("oom", {"skipped_batches": int(skipped["count"])})
    found = _NO_MEMORY.search(text)
    if found is None or _ADVICE.search(text, 0, found.start()):
        return None
    details: dict[str, object] = {"device": found["device"].partition(" ")[0].lower()}
    gpu, wanted, capacity = _GPU.search(text), _WANTED.search(text), _CAPACITY.search(text)
    if gpu is not None:
        details["gpu"] = int(gpu["gpu"])
    if wanted is not None:
        details["wanted_bytes"] = _bytes(wanted["wanted"], wanted["wanted_unit"])
    if capacity is not None:
        which = "before" if capacity["before"] else "after"
        details["capacity_bytes"] = _bytes(capacity[which], capacity[f"{which}_unit"])
    return Happening("oom", details, about="")


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit.upper()])


def _checkpoint(text: str) -> Happening | None:
    found = _SAVED.search(text)
    if found is None:
        return None
    step: dict[str, object] = {"step": int(found["step"])} if found["step"] else {}
    path = found["path"].rstrip(".")
    return Happening(SAVED, step | {"path": path}, about=path)


def _batch_size(text: str) -> Happening | None:
    found = _BATCH.search(text)
    if found is None:
        return None
    before = next((found[name] for name in "aceg" if found[name]), None)
    now = next(found[name] for name in "bdfh" if found[name])
    known: dict[str, object] = {} if before is None else {"from": int(before)}
    return Happening("batch_size_changed", {"batch_size": int(now)} | known)

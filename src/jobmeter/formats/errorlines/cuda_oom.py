"""The memory of a GPU ran out: three generations of PyTorch's message, JAX, TensorFlow, CUDA's own words.

What misleads: advice how to avoid it, TensorFlow's allocator that only asks (`not a failure`), and a terminal that
broke the message in the middle of a number.
"""

import re

from jobmeter.formats.errorlines.amounts import SIZE, sized
from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

_SAID = re.compile(
    r"(?:CUDA|HIP|XPU|NPU|MPS backend)(?: error:)? out of memory"
    r"|CUDA error(?: \d+)? at \S+: out of memory|cudaMalloc failed: out of memory"
    r"|CUDA_?ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
    r"|cuda runtime error \(2\)\s*: out of memory"
    r"|CU(?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS_ALLOC_FAILED"
    r"|RESOURCE[_ ]EXHAUSTED: .{0,80}?(?:out of memory|failed to allocate)"
    r"|OOM when allocating tensor(?!.{0,400}(?:device:CPU|allocator (?:mkl)?cpu))"
    r"|out of memory to allocate \d+ bytes|out of memory allocating [\d,]+ bytes \(allocated so far"
    r"|cupy\S*OutOfMemoryError|torch\.(?:cuda\.)?OutOfMemoryError: (?!.*avoid)",
    re.IGNORECASE | re.DOTALL,
)
_HINT = re.compile(
    r"(?:\b(?:avoid|prevent|against|if|in case of|case|run(?:ning)? into|due to|without|may cause"
    r"|likely)(?: an?| the)?|[\"'`(])\s*$",
    re.IGNORECASE,
)
_BENIGN = re.compile(
    r"not a failure|skipp|recover|retry|will try|trying (?:a )?smaller|reduc(?:e|ing) batch", re.I
)
_TRIED = re.compile(
    r"Tried to allocate\s*"
    + SIZE.format("tried")
    + r"|(?:trying to allocate|Failed to allocate(?: request for)?)\s*"
    + SIZE.format("asked"),
    re.IGNORECASE,
)
_TOTAL = re.compile(
    SIZE.format("before") + r"\s*total\s*capacity|total\s*capacity\s*of\s*" + SIZE.format("after"),
    re.IGNORECASE,
)
_FREE = re.compile(SIZE.format("free") + r"\s*(?:is\s*)?free\b")
_ALLOCATED = re.compile(
    SIZE.format("old")
    + r"\s*already\s*allocated|allocated\s*memory\s*"
    + SIZE.format("new")
    + r"\s*is\s*allocated\s*by|(?:MPS allocated|currently allocated)\s*:?\s*"
    + SIZE.format("mps")
)
_RESERVED = re.compile(SIZE.format("old") + r"\s*(?:reserved\s*in\s*total|cached\b)")
_UNALLOCATED = re.compile(r"and\s*" + SIZE.format("new") + r"\s*is\s*reserved\s*by")
_OTHER = re.compile(r"Process\s*(?P<pid>\d+)\s*has\s*" + SIZE.format("other") + r"\s*memory\s*in\s*use")
_OWN = re.compile(r"this\s*process\s*has\s*" + SIZE.format("own") + r"\s*memory\s*in\s*use")
_ALLOWED = re.compile(SIZE.format("allowed") + r"\s*allowed")
_GPU = re.compile(r"\bGPU\s*(?P<gpu>\d+)(?:;|\s*has)|/device:GPU:(?P<tf>\d+)|GPU_(?P<bfc>\d+)_bfc")

WORDS = (
    "out of memory",
    "outofmemory",
    "out_of_memory",
    "alloc_failed",
    "memoryallocation",
    "oom when",
    "failed to allocate",
    "resource_exhausted: error",
)


def read(passage: Passage) -> Sign | None:
    """Read a message that a GPU has no memory left."""
    said = _SAID.search(passage.text)
    if said is None or _HINT.search(passage.text, 0, said.start()):
        return None
    whole = passage.unwrapped()
    return Sign(
        type=type_of(passage, "cuda_oom"),
        message=_message(passage.text, whole),
        fields=_fields(whole[max(said.start() - 200, 0) :]),
        level="WARNING" if _BENIGN.search(passage.text) else level_of(passage),
        same="cuda_oom" if _TRIED.search(whole) is None else None,
    )


def _message(text: str, whole: str) -> str:
    """Take the broken lines in as long as the message goes on."""
    end = re.search(r"(?:fragmentation|PYTORCH_CUDA_ALLOC_CONF|PYTORCH_ALLOC_CONF)\.?", whole)
    return whole[: end.end()] if end and end.end() > len(text) else text


def _fields(whole: str) -> dict[str, Value]:
    found: dict[str, Value | None] = {
        "tried_bytes": _first(_TRIED, whole, "tried", "asked"),
        "total_bytes": _first(_TOTAL, whole, "before", "after"),
        "free_bytes": _first(_FREE, whole, "free"),
        "allocated_bytes": _first(_ALLOCATED, whole, "old", "new", "mps"),
        "reserved_bytes": _reserved(whole),
        "other_process_bytes": sum(sized(one, "other") or 0 for one in _OTHER.finditer(whole)) or None,
        "process_bytes": _first(_OWN, whole, "own"),
        "allowed_bytes": _first(_ALLOWED, whole, "allowed"),
    }
    gpu = _GPU.search(whole)
    if gpu is not None:
        found["gpu"] = int(gpu["gpu"] or gpu["tf"] or gpu["bfc"])
    return {name: value for name, value in found.items() if value is not None}


def _reserved(whole: str) -> int | None:
    """Give what PyTorch holds in all: the newer message tells the unallocated part alone."""
    old = _first(_RESERVED, whole, "old")
    unallocated, allocated = _first(_UNALLOCATED, whole, "new"), _first(_ALLOCATED, whole, "new")
    if old is not None or unallocated is None or allocated is None:
        return old
    return allocated + unallocated


def _first(pattern: "re.Pattern[str]", whole: str, *names: str) -> int | None:
    found = pattern.search(whole)
    if found is None:
        return None
    return next((size for name in names if (size := sized(found, name)) is not None), None)

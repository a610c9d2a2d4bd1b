"""A process asked for memory of the host and did not get it; it was not killed but told so."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of
from jobmeter.model.run import Value

WORDS = ("defaultcpuallocator", "memoryerror", "bad_alloc", "cannot allocate memory", "unable to allocate",
         "enomem",
         "outofmemoryerror", "java heap space", "gc overhead", "heap out of memory",
         "fatal error: runtime: out of memory",
         "out of memory", "can't allocate memory", "virtual memory exhausted", "memory allocation of",
         "allocation failed", "failed to allocate memory", "could not allocate", "allocate vector", "memory exhausted",
         "posix_memalign", "oom when allocating")  # fmt: skip
_SAID = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory)"
    r"|\b(?:numpy\.\S*)?_?(?:Array)?MemoryError\b(?!\s*(?:\)|,|as\b))"
    r"|std::bad_alloc|\bCannot allocate memory\b|\bENOMEM\b|\[Errno 12\]"
    r"|java\.lang\.OutOfMemoryError: (?P<java>Java heap space|GC overhead limit exceeded|Metaspace"
    r"|Direct buffer memory)"
    r"|JavaScript heap out of memory|fatal error: runtime: out of memory|fatal error: out of memory"
    r"|[Vv]irtual memory exhausted|memory allocation of \d+ bytes failed"
    r"|^(?:Fatal Python error: .*|fatal: |xmalloc: |\S+: )?out of memory(?:\s*\(.*\))?\.?$"
    r"|cc1(?:plus)?: out of memory|Error: cannot allocate vector of size|Out of memory\.? (?:Try|allocating)"
    r"|SystemError: out of memory|LLVM error ?: out of memory|LLVM ERROR: out of memory"
    r"|: [Mm]emory exhausted\b|posix_memalign\(.{0,80} == 0\. 12 vs 0"
    r"|OOM when allocating tensor.{0,400}(?:device:CPU|allocator (?:mkl)?cpu)"
)
_TRIED = re.compile(
    r"tried to allocate (?P<bytes>\d+) bytes|memory allocation of (?P<rust>\d+) bytes"
    r"|[Uu]nable to allocate (?P<size>\d+(?:\.\d+)?) (?P<unit>[KMGTP])iB"
    r"|vector of size (?P<r>\d+(?:\.\d+)?) (?P<r_unit>[KMGT])b"
    r"|allocating (?P<cc>\d+) bytes"
)
_POWERS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_THREADS = re.compile(r"native thread|new thread")


def read(passage: Passage) -> Sign | None:
    """Read that an allocation failed."""
    said = _SAID.search(passage.text)
    if said is None or _THREADS.search(passage.text):
        return None
    fields: dict[str, Value] = {}
    tried = _TRIED.search(passage.text)
    if tried is not None:
        fields["tried_bytes"] = _tried(tried)
    if said["java"]:
        fields["heap"] = said["java"]
    return Sign(
        type=type_of(passage, "cpu_oom"),
        message=passage.text,
        fields=fields,
        level=level_of(passage),
        same="cpu_oom",
    )


def _tried(found: "re.Match[str]") -> int:
    plain = found["bytes"] or found["rust"] or found["cc"]
    if plain:
        return int(plain)
    number, unit = (found["size"], found["unit"]) if found["size"] else (found["r"], found["r_unit"])
    return round(float(number) * _POWERS[unit])

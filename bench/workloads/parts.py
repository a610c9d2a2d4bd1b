"""What the workloads share: burning a known amount of CPU, holding memory, telling what was done.

Every workload is a script that runs by path, is deterministic, and ends by printing one JSON line with
what it knows of itself, so that the kernel's truth can be cross-checked. `cpu_seconds` is the script's own
rusage and that of the children it waited for: work of fork and exit that a process cannot see itself is
about 1 % more, and a child nobody waits for is missing.
"""

import hashlib
import json
import mmap
import os
import resource
import time
from argparse import ArgumentParser
from collections.abc import Callable

MIB = 1 << 20
_BLOCK = bytes(range(256)) * 256


def burn(seconds: float) -> float:
    """Keep this thread on the CPU for so many CPU-seconds; return what it took."""
    start = time.thread_time()
    # hashing 64 KiB releases the GIL, so that two threads are really two busy threads
    while time.thread_time() - start < seconds:
        hashlib.sha1(_BLOCK, usedforsecurity=False)
    return time.thread_time() - start


def hold(size_bytes: int, *, shared: bool = False) -> mmap.mmap:
    """Map anonymous memory and write to every page of it."""
    flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE)
    memory = mmap.mmap(-1, size_bytes, flags=flags)
    chunk = b"\x5a" * MIB
    for offset in range(0, size_bytes, MIB):
        memory[offset : offset + MIB] = chunk[: size_bytes - offset]
    return memory


def touch(memory: mmap.mmap) -> int:
    """Read one byte of every page, which maps a shared page into this process too."""
    return sum(memory[offset] for offset in range(0, len(memory), mmap.PAGESIZE))


def pause(seconds: float) -> None:
    """Do nothing for so long, in one sleep."""
    time.sleep(seconds)


def fork(work: Callable[[], object]) -> int:
    """Start a child that calls `work` and leaves without cleaning up; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def parser(text: str | None) -> ArgumentParser:
    """Make the argument parser of one workload."""
    return ArgumentParser(description=(text or "").partition("\n")[0])


def report(workload: str, **facts: float) -> None:
    """Print what the workload knows of itself, last thing before it ends."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime
    print(json.dumps({"workload": workload, "cpu_seconds": round(cpu, 6), **facts}), flush=True)

"""Pressure stall files (`/proc/pressure/*`, `*.pressure` of a cgroup): time tasks waited for a resource.

`some` counts while at least one task waits, `full` while no task gets on. Both are wall time, so two waiting
tasks count once. A kernel booted with `psi=0` has the files but refuses to read them.
"""

import os

RESOURCES = ("cpu", "memory", "io")


def parse_totals(text: bytes) -> dict[str, float]:
    """Return stalled seconds since boot by line: `some`, and `full` where the kernel has it."""
    totals: dict[str, float] = {}
    for line in text.splitlines():
        kind, _, _ = line.partition(b" ")
        _, found, microseconds = line.rpartition(b"total=")
        if found and kind in (b"some", b"full") and microseconds.strip().isdigit():
            totals[kind.decode()] = int(microseconds) / 1e6
    return totals


def open_trigger(path: str, stall_us: int, window_us: int) -> int | None:
    """Return a descriptor that polls POLLPRI when tasks stalled that long in a window; None if refused.

    Without CAP_SYS_RESOURCE the kernel takes only windows that are multiples of 2 s.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None  # no such file, read-only mount, or not permitted: sampling goes on by the clock
    try:
        # the kernel overwrites the last byte it is given: without the zero it would cut a digit off
        os.write(fd, b"some %d %d\0" % (stall_us, window_us))
    except OSError:
        os.close(fd)
        return None
    return fd

"""The two kernel calls Python does not wrap: prctl and perf_event_open.

Goes through `_ctypes`, the C half of ctypes, because the Python half costs 3 ms of start-up.
"""

import os
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_SIGKILL = 9
PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK = 1, 1
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV, _ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_PERF_FLAG_FD_CLOEXEC = 8
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}


def become_subreaper() -> bool:
    """Ask the kernel to hand orphaned descendants to this process; False where it cannot."""
    return _call("prctl", (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


def die_with_parent() -> bool:
    """Ask the kernel to kill this process when the one that started it ends; False where it cannot."""
    return _call("prctl", (PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)) == 0


def open_task_clock() -> int | None:
    """Open a counter of CPU time inherited by all future descendants, counting from their exec on.

    This process never execs, so its own time stays out. None where the kernel refuses.
    """
    number = _PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return None
    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV | _ENABLE_ON_EXEC
    # struct perf_event_attr, version 0: type, size, config, sample_period, sample_type, read_format, flags, ...
    words = (
        (PERF_TYPE_SOFTWARE, 4),
        (64, 4),
        (PERF_COUNT_SW_TASK_CLOCK, 8),
        (0, 8),
        (0, 8),
        (0, 8),
        (flags, 8),
        (0, 16),
    )
    attributes = b"".join(value.to_bytes(size, sys.byteorder) for value, size in words)
    fd = _call("syscall", (number, attributes, 0, -1, -1, _PERF_FLAG_FD_CLOEXEC))
    return fd if fd is not None and fd >= 0 else None


def read_counter(fd: int) -> int:
    """Read a perf counter: nanoseconds for the task clock."""
    return int.from_bytes(os.read(fd, 8), sys.byteorder)


def _call(function: str, arguments: tuple[int | bytes, ...]) -> int | None:
    try:
        import _ctypes

        # None means this very program, which libc is part of
        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), function)  # type: ignore[arg-type]  # typeshed forgot it
    except (ImportError, AttributeError, OSError):
        return None
    result: int = _ctypes.call_function(address, arguments)
    return result

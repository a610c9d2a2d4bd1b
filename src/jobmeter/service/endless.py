"""What a path may name that has no end, or no beginning yet: reading it would wait for ever."""

import os
import stat

PIPE = "a named pipe"
_KINDS = {stat.S_IFIFO: PIPE, stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_KERNEL = ("/proc", "/sys", "/sys/kernel/debug", "/sys/kernel/tracing")
"""A read of such a file may wait for the next message, and take it away from others."""


def kind_of(status: os.stat_result) -> str | None:
    """Say what it is where it may never end; None for a plain file."""
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        return kind
    is_kernels = any(os.path.ismount(root) and os.stat(root).st_dev == status.st_dev for root in _KERNEL)
    return "a file of the kernel" if is_kernels else None

"""Follow a process that is not our child: a descriptor that becomes readable when it ends."""

import fcntl
import os
import sys

# _IOWR(PIDFS_IOCTL_MAGIC, 11, struct pidfd_info), Linux 6.13; exit codes since 6.15:
# https://docs.kernel.org/admin-guide/pidfd or include/uapi/linux/pidfd.h
_GET_INFO = 0xC040FF0B
_INFO_SIZE, _INFO_EXIT, _EXIT_AT = 64, 1 << 3, 60


def open_pid(pid: int) -> int | None:
    """Open a descriptor of a running process; None if there is none, or the kernel is older than 5.3."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError, OverflowError):
        return None


def wait_status(fd: int) -> int | None:
    """Give the wait status of an ended process, whoever its parent is; None where the kernel does not tell."""
    asked = _INFO_EXIT.to_bytes(8, sys.byteorder) + bytes(_INFO_SIZE - 8)
    try:
        answer = fcntl.ioctl(fd, _GET_INFO, asked)
    except OSError:
        return None
    if not int.from_bytes(answer[:8], sys.byteorder) & _INFO_EXIT:
        return None  # not reaped yet
    return int.from_bytes(answer[_EXIT_AT : _EXIT_AT + 4], sys.byteorder, signed=True)

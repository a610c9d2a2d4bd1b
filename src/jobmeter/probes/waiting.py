"""What a process waits in: system call, file, wait channel and kernel stack, looked at when a job stands still.

What can mislead: all of it is of the process's first thread; other threads may wait elsewhere. The kernel shows the
system call to who may trace the process, the stack to root, and `0` for a wait channel it does not tell.
"""

import os

from jobmeter.probes import procfs

MOST_FRAMES = 12

_X86_64 = (
    "read 0 write 1 open 2 close 3 stat 4 fstat 5 lstat 6 poll 7 mmap 9 munmap 11 ioctl 16 pread64 17 pwrite64 18 "
    "readv 19 writev 20 select 23 madvise 28 pause 34 nanosleep 35 sendfile 40 connect 42 accept 43 sendto 44 "
    "recvfrom 45 sendmsg 46 recvmsg 47 wait4 61 semop 65 msgrcv 70 fcntl 72 flock 73 fsync 74 fdatasync 75 rename 82 "
    "mkdir 83 unlink 87 rt_sigtimedwait 128 rt_sigsuspend 130 statfs 137 sync 162 futex 202 io_getevents 208 "
    "getdents64 217 restart_syscall 219 semtimedop 220 clock_nanosleep 230 exit_group 231 epoll_wait 232 "
    "mq_timedreceive 243 waitid 247 openat 257 newfstatat 262 unlinkat 263 pselect6 270 ppoll 271 splice 275 "
    "epoll_pwait 281 accept4 288 recvmmsg 299 syncfs 306 io_uring_enter 426 epoll_pwait2 441 futex_waitv 449"
)
_AARCH64 = (
    "io_getevents 4 epoll_pwait 22 fcntl 25 ioctl 29 flock 32 mkdirat 34 unlinkat 35 renameat 38 statfs 43 openat 56 "
    "close 57 getdents64 61 read 63 write 64 readv 65 writev 66 pread64 67 pwrite64 68 sendfile 71 pselect6 72 "
    "ppoll 73 splice 76 newfstatat 79 fstat 80 sync 81 fsync 82 fdatasync 83 exit_group 94 waitid 95 futex 98 "
    "nanosleep 101 clock_nanosleep 115 restart_syscall 128 rt_sigsuspend 133 rt_sigtimedwait 137 mq_timedreceive 183 "
    "msgrcv 188 semtimedop 192 semop 193 accept 202 connect 203 sendto 206 recvfrom 207 sendmsg 211 recvmsg 212 "
    "munmap 215 mmap 222 madvise 233 accept4 242 recvmmsg 243 wait4 260 syncfs 267 io_uring_enter 426 "
    "epoll_pwait2 441 futex_waitv 449"
)
_TABLES = {"x86_64": _X86_64, "aarch64": _AARCH64}
"""The calls that a process can be seen waiting in; of others the number is told."""
_OF_A_FILE = frozenset(
    (
        *("read", "write", "pread64", "pwrite64", "readv", "writev", "ioctl", "fcntl", "flock", "fsync"),
        *(
            "fdatasync",
            "connect",
            "accept",
            "accept4",
            "sendto",
            "recvfrom",
            "sendmsg",
            "recvmsg",
            "recvmmsg",
        ),
        *("getdents64", "sendfile", "splice", "fstat", "close", "syncfs", "epoll_wait", "epoll_pwait"),
    )
)
"""Calls whose first argument is a descriptor."""


def look(proc: str, pid: int, machine: str) -> dict[str, object]:
    """Say what a process waits in; what the kernel does not tell is left out."""
    found: dict[str, object] = {}
    called = _system_call(procfs.read_file(f"{proc}/{pid}/syscall"), machine)
    if called is not None:
        name, descriptor = called
        found["syscall"] = name
        if descriptor is not None and (path := _target(proc, pid, descriptor)) is not None:
            found["file"] = path
    channel = (procfs.read_file(f"{proc}/{pid}/wchan") or b"").decode("ascii", "replace").strip()
    if channel not in ("", "0"):
        found["wchan"] = channel
    frames = _frames(procfs.read_file(f"{proc}/{pid}/stack"))
    if frames:
        found["kernel_stack"] = frames
    return found


def _system_call(text: bytes | None, machine: str) -> tuple[str, int | None] | None:
    """Read `/proc/PID/syscall`: the call's name, and its first argument where that is a descriptor."""
    words = (text or b"").split()
    if len(words) < 2 or not words[0].isdigit():
        return None  # running, in a page fault, or not ours to know
    name = _name(int(words[0]), machine)
    if name not in _OF_A_FILE:
        return name, None
    return name, int(words[1], 16) & 0xFFFFFFFF


def _name(number: int, machine: str) -> str:
    words = _TABLES.get(machine, "").split()
    named = dict(zip(words[1::2], words[::2], strict=True))
    return named.get(str(number), f"system call {number}")


def _target(proc: str, pid: int, descriptor: int) -> str | None:
    try:
        return os.readlink(f"{proc}/{pid}/fd/{descriptor}")
    except OSError:
        return None  # closed meanwhile, or another user's


def _frames(text: bytes | None) -> str:
    """Read `/proc/PID/stack`: one function a line, innermost first, addresses taken off."""
    frames = [line.split()[-1].split(b"+")[0] for line in (text or b"").splitlines() if b"+" in line]
    return b"\n".join(frames[:MOST_FRAMES]).decode("ascii", "replace")

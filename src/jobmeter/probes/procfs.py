"""Read `/proc/PID` files. A process may end between any two calls: everything returns None then.

`stat` truncates CPU times to 10 ms per field; the clock named by `clock_id` is exact to the nanosecond.
`io` of a process already contains its reaped children.
"""

import os
import resource

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
TICK_NS = round(1e9 * TICK)
PAGE = os.sysconf("SC_PAGE_SIZE")

ProcessStat = tuple[str, str, int, int, int, int, int, int, bytes]
"""command, state, ppid, children's ticks reaped so far, threads, start ticks, resident pages, address space,
where its stack begins: another place after each exec, the parent's after a fork, `0` of strangers."""

ProcessIo = tuple[int, int, int, int]
"""Characters read, characters written, bytes read from storage, bytes written to it less those cancelled."""


def parse_stat(text: bytes) -> ProcessStat | None:
    """Read the fields jobmeter uses of `/proc/PID/stat`."""
    # comm may hold spaces, parentheses and newlines: cut at the last one
    close = text.rfind(b")")
    fields = text[close + 2 :].split()
    if close < 0 or len(fields) < 26:
        return None
    return (
        os.fsdecode(text[text.find(b"(") + 1 : close]),
        fields[0].decode("ascii", "replace"),
        int(fields[1]),
        int(fields[13]) + int(fields[14]),
        int(fields[17]),
        int(fields[19]),
        int(fields[21]),
        int(fields[20]),
        fields[25],
    )


def parse_io(text: bytes) -> ProcessIo | None:
    """Read `/proc/PID/io`."""
    fields = text.split()
    if len(fields) < 14:
        return None
    return int(fields[1]), int(fields[3]), int(fields[9]), int(fields[11]) - int(fields[13])


def parse_status(text: bytes, name: bytes) -> int | None:
    """Find one number of `/proc/PID/status`, in its own unit (kB for Vm*)."""
    at = text.find(b"\n" + name + b":")
    if at < 0:
        return None
    words = text[at + len(name) + 2 : at + len(name) + 40].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else None


def parse_ignored_signals(text: bytes) -> int | None:
    """Read the mask of ignored signals of `/proc/PID/status`; bit n-1 is signal n."""
    at = text.find(b"\nSigIgn:")
    return None if at < 0 else int(text[at + 8 : at + 25], 16)


def parse_rollup(text: bytes) -> int | None:
    """Read the proportional set size of `/proc/PID/smaps_rollup` in bytes."""
    at = text.find(b"\nPss:")
    return None if at < 0 else int(text[at + 5 :].split(None, 1)[0]) * 1024


def read_file(path: str, size: int = 4096) -> bytes | None:
    """Read a small kernel file in one call; None if gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, size)
    except OSError:
        return None  # the process ended between open and read
    finally:
        os.close(fd)


def clock_id(pid: int) -> int:
    """Name the CPU clock of a process as the kernel encodes it: see clock_getcpuclockid(3).

    `time.clock_gettime_ns` of it is exact, needs no permission and no file, and raises OSError once the
    process is gone.
    """
    return ((~pid) << 3) | 2


def read_command_line(proc: str, pid: int, limit: int = 4096) -> str | None:
    """Read a process's command line joined by spaces; None for a kernel thread or a zombie."""
    text = read_file(f"{proc}/{pid}/cmdline", limit)
    if not text:
        return None
    return os.fsdecode(text.rstrip(b"\0").replace(b"\0", b" "))


def read_stat(proc: str, pid: int) -> ProcessStat | None:
    """Read `/proc/PID/stat`."""
    text = read_file(f"{proc}/{pid}/stat")
    return None if text is None else parse_stat(text)


def read_io(proc: str, pid: int | str) -> ProcessIo | None:
    """Read `/proc/PID/io`; only the owner may."""
    text = read_file(f"{proc}/{pid}/io")
    return None if text is None else parse_io(text)


def read_pss(proc: str, pid: int) -> int | None:
    """Read the proportional set size. Walks the page tables: 7 to 10 ms per GB of small pages."""
    text = read_file(f"{proc}/{pid}/smaps_rollup")
    return None if text is None else parse_rollup(text)


def read_peak_rss(proc: str, pid: int) -> int | None:
    """Read the largest resident size a process ever had (VmHWM), in bytes."""
    text = read_file(f"{proc}/{pid}/status")
    peak = None if text is None else parse_status(text, b"VmHWM")
    return None if peak is None else peak * 1024


def account_ns(clock_ns: int, reaped_ticks: int) -> int:
    """Add to a process's own CPU time what it reaped.

    User and system ticks are each cut to whole ticks: on average half a tick each is missing.
    """
    return clock_ns + ((reaped_ticks + 1) * TICK_NS if reaped_ticks else 0)


def reaped_ns() -> int:
    """CPU time of everything this process has reaped, and of what those had reaped."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)

"""The kernel's log, as far as it speaks of given processes: kills for want of memory, crashes, faults of a GPU.

Read once, at the end of a job that was killed: without waiting, for a moment at most, from the oldest record on. What
can mislead: others may not read it (`kernel.dmesg_restrict`), a container sees the log of its host or nothing, old
records are overwritten, and its clock drifts from the one that jobs are timed by.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PATH = "/dev/kmsg"
_RECORD_BYTES = 8192
_LONGEST_SECONDS = 0.25
_DRIFT_SECONDS = 60.0
MOST_LINES = 20


class Line:
    """One record that names a process."""

    __slots__ = ("pid", "process", "seconds", "text")

    def __init__(self, seconds: float, text: str, pid: int, process: str | None) -> None:
        self.seconds = seconds
        """Since boot, by the kernel's own clock."""
        self.text = text
        self.pid = pid
        self.process = process


def about(pids: "Collection[int]", cgroup: str | None, since_seconds: float, path: str = PATH) -> list[Line]:
    """Read the lines that name one of the processes, or one that was killed in the cgroup of that name."""
    known = set(pids)
    found: list[Line] = []
    for seconds, text in _records(path):
        named = _named(text)
        if named is None or seconds < since_seconds - _DRIFT_SECONDS:
            continue
        pid, process = named
        if cgroup is not None and cgroup in text:
            known.add(pid)
        if pid in known and len(found) < MOST_LINES:
            found.append(Line(seconds, text, pid, process))
    return found


def _records(path: str) -> "Iterator[tuple[float, str]]":
    """Go through the log: `priority,sequence,microseconds,flags;text`, one record a read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # not there, or not ours to read
    until = time.monotonic() + _LONGEST_SECONDS
    try:
        while time.monotonic() < until:
            try:
                record = os.read(fd, _RECORD_BYTES)
            except BrokenPipeError:
                continue  # overwritten while we read: the next one is
            except OSError:
                return  # nothing more
            if not record:
                return
            head, _, text = record.partition(b";")
            stamp = head.split(b",")
            if len(stamp) > 2 and stamp[2].isdigit():
                yield int(stamp[2]) / 1e6, text.partition(b"\n")[0].decode("utf-8", "replace")
    finally:
        os.close(fd)


def _named(text: str) -> tuple[int, str | None] | None:
    """Say which process a line names; None for a line that names none."""
    at = text.find("Killed process ")
    if at >= 0:
        number, _, rest = text[at + len("Killed process ") :].partition(" ")
        return (int(number), _in_brackets(rest)) if number.isdigit() else None
    at = text.find("pid=")
    if at >= 0:
        number = _digits(text[at + 4 :])
        return (int(number), _after(text, "task=") or _after(text, "name=")) if number else None
    # name[812]: segfault at ..., traps: name[812] trap invalid opcode
    before, bracket, rest = text.partition("[")
    number = _digits(rest)
    if not bracket or not number or rest[len(number) : len(number) + 1] != "]":
        return None
    return int(number), before.rpartition(" ")[2] or None


def _digits(text: str) -> str:
    end = 0
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[:end]


def _after(text: str, word: str) -> str | None:
    _, found, rest = text.partition(word)
    return (rest.partition(",")[0].strip("'<> ") or None) if found else None


def _in_brackets(text: str) -> str | None:
    return text[1 : text.find(")")] if text.startswith("(") and ")" in text else None

"""`/proc/stat`, its first line: CPU time of the whole machine in clock ticks since boot.

Columns grew over time: iowait, irq and softirq came with 2.6.0, steal with 2.6.11. `guest` is already part
of `user`. iowait is time a CPU was idle while a task it ran last waited for a disk; it can even go down.
"""


class CpuTicks:
    """Machine-wide CPU time; a column this kernel does not have is None."""

    __slots__ = ("busy", "iowait", "steal")

    def __init__(self, *, busy: int, iowait: int | None, steal: int | None) -> None:
        self.busy = busy
        self.iowait = iowait
        self.steal = steal


def parse_cpu(text: bytes) -> CpuTicks | None:
    """Read the summary line over all CPUs; None where the text does not begin with it."""
    line, _, _ = text.partition(b"\n")
    words = line.split()
    if len(words) < 5 or words[0] != b"cpu":
        return None
    try:
        ticks = [int(word) for word in words[1:9]]
    except ValueError:
        return None
    return CpuTicks(
        busy=sum(ticks[:3]) + sum(ticks[5:7]),
        iowait=ticks[4] if len(ticks) > 4 else None,
        steal=ticks[7] if len(ticks) > 7 else None,
    )

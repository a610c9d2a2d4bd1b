"""Network namespaces of processes: who lives in which, and what its interfaces moved.

Only where a job has a namespace of its own is its traffic known; in a shared one the kernel counts bytes by
interface and not by process.
"""

import os

from jobmeter.probes import netdev, procfs

_MOST_BYTES = 1 << 17


def of_process(proc: str, pid: int | str) -> str | None:
    """Name the namespace a process lives in; None if it is gone or not ours to look at."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/net")
    except OSError:
        return None


def traffic(proc: str, pid: int) -> dict[str, tuple[int, int]] | None:
    """Map the interfaces a process sees to bytes received and sent; None if it is gone."""
    text = procfs.read_file(f"{proc}/{pid}/net/dev", _MOST_BYTES)
    return None if text is None else netdev.parse(text)

"""The memory of one process over its life, looked at from outside.

`ru_maxrss` would not do: it is inherited over fork and exec, so a small recorder started by a large benchmark
would have the benchmark's size.
"""

from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread


@dataclass(frozen=True, slots=True)
class Footprint:
    """The largest memory a process had."""

    peak_rss_bytes: int
    """VmHWM, the kernel's high-water mark since exec."""
    pss_bytes: int
    """Largest proportional set size seen: pages shared with other processes count in part."""


class FootprintOracle:
    """Looks at a process twice a second until it ends or the watch is stopped."""

    def __init__(self, pid: int, interval_seconds: float = 0.5) -> None:
        self._proc = Path("/proc") / str(pid)
        self._interval_seconds = interval_seconds
        self._stop = Event()
        self._peak_rss_bytes = 0
        self._pss_bytes = 0
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> Footprint | None:
        """End the watch; None when the process was gone before the first look."""
        self._stop.set()
        self._thread.join()
        return Footprint(self._peak_rss_bytes, self._pss_bytes) if self._peak_rss_bytes else None

    def _watch(self) -> None:
        while not self._stop.wait(self._interval_seconds):
            try:
                status = (self._proc / "status").read_text()
                rollup = (self._proc / "smaps_rollup").read_text()
            except OSError:
                # the process has ended
                return
            peak, pss = _kib(status, "VmHWM:"), _kib(rollup, "Pss:")
            if peak is None or pss is None:
                # a zombie has no memory to tell of
                return
            self._peak_rss_bytes = peak * 1024
            self._pss_bytes = max(self._pss_bytes, pss * 1024)


def _kib(text: str, label: str) -> int | None:
    for line in text.splitlines():
        if line.startswith(label):
            return int(line.split()[1])
    return None

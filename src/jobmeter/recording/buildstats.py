"""Samples of the host for the log of a build: `jobmeter run --build-stats` as a step of a Dockerfile.

A build leaves nothing behind but its image and its log, so the samples go into both: a line each into
`build-stats.jsonl`, all of them into `build-stats.json` and, between markers, onto stdout when the job has ended.
`cpu` is percent of all CPUs of the host since the sample before, memory is the host's, io counts from boot. A place
that cannot be written costs a sentence, never the job.
"""

import os
import select
import sys
import time

from jobmeter.collectors.host import MonotoneSum
from jobmeter.probes import diskstats, kernelfile, kernelstat, meminfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.recording.clock import Clock

    Number = int | float
    Sample = dict[str, str | Number]

START, END = "BUILD_STATS_JSON_START", "BUILD_STATS_JSON_END"
_FIRST_SECONDS = 1.0
"""Over less than that, CPU time is a matter of chance."""
_GIBI, _MEBI = 1 << 30, 1 << 20
_MEMINFO_BYTES, _STAT_BYTES = 4096, 512


class Host:
    """The files of `/proc` that tell what the whole host uses."""

    __slots__ = ("_busy", "_cpus", "_disks", "_files", "_looked_at", "_ticks_per_second")

    def __init__(self, proc: str, now: float) -> None:
        names = ("stat", "meminfo", "diskstats")
        self._files = {name: kernelfile.open_file(f"{proc}/{name}") for name in names}
        self._ticks_per_second = os.sysconf("SC_CLK_TCK")
        self._cpus = os.cpu_count() or 1
        self._disks = MonotoneSum(diskstats.parse)
        self._looked_at = now
        self._busy = self._busy_ticks()

    def read(self, now: float) -> "Sample":
        """Say what is used now, and how busy the CPUs were since the last time; what is not known is left out."""
        found = {**self._cpu(now), **self._memory(), **self._io()}
        return {key: value for key, value in found.items() if value is not None}

    def _busy_ticks(self) -> int | None:
        fd = self._files["stat"]
        ticks = None if fd is None else kernelstat.parse_cpu(kernelfile.read_head(fd, _STAT_BYTES))
        return None if ticks is None else ticks.busy

    def _cpu(self, now: float) -> "dict[str, Number | None]":
        before, began = self._busy, self._looked_at
        self._busy, self._looked_at = self._busy_ticks(), now
        if before is None or self._busy is None or now <= began:
            return {}
        share = (self._busy - before) / self._ticks_per_second / (now - began) / self._cpus
        return {"cpu": _tidy(min(max(100 * share, 0.0), 100.0), 1)}

    def _memory(self) -> "dict[str, Number | None]":
        fd = self._files["meminfo"]
        text = b"" if fd is None else kernelfile.read_head(fd, _MEMINFO_BYTES)
        total = meminfo.field_bytes(text, b"MemTotal")
        available = meminfo.field_bytes(text, b"MemAvailable")
        used = None if total is None or available is None else _tidy((total - available) / _GIBI, 2)
        return {"mem_used_gb": used, "mem_total_gb": None if total is None else _tidy(total / _GIBI, 2)}

    def _io(self) -> "dict[str, Number | None]":
        fd = self._files["diskstats"]
        sums = None if fd is None else self._disks.add(kernelfile.read_file(fd))
        if sums is None:
            return {}
        return {"io_read_mb": sums[0] // _MEBI, "io_write_mb": sums[1] // _MEBI}


class BuildStats:
    """The samples of one build, and where they go."""

    __slots__ = ("_clock", "_due", "_fd", "_folder", "_host", "_interval", "_lines", "_sampled_at")

    def __init__(self, folder: str, interval: float, proc: str, clock: "Clock") -> None:
        now = clock.monotonic()
        self._clock = clock
        self._folder = folder
        self._interval = interval
        self._host = Host(proc, now)
        self._lines: list[str] = []
        self._sampled_at = now
        self._due = now + min(_FIRST_SECONDS, interval)
        self._fd = self._open()

    def _open(self) -> int | None:
        path = os.path.join(self._folder, "build-stats.jsonl")
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            _say(f"cannot write {path}: {error.strerror}: the samples go to the log only")
            return None

    def look(self, *, final: bool = False) -> None:
        """Take a sample if one is due; at the end, if the last one is not fresh."""
        now = self._clock.monotonic()
        if now < self._due and not (final and self._is_stale(now)):
            return
        while self._due <= now:
            self._due += self._interval
        self._sampled_at = now
        sample: Sample = {"ts": _stamp(self._clock.wall()), **self._host.read(now)}
        self._lines.append(_encode(sample))
        self._append(f"{self._lines[-1]}\n")

    def _is_stale(self, now: float) -> bool:
        return not self._lines or now - self._sampled_at >= min(_FIRST_SECONDS, self._interval / 2)

    def _append(self, line: str) -> None:
        if self._fd is None:
            return
        try:
            os.write(self._fd, line.encode())
        except OSError as error:
            _say(f"cannot write build-stats.jsonl: {error.strerror}")
            os.close(self._fd)
            self._fd = None

    def finish(self) -> None:
        """Write all samples to their file and, between the markers, to stdout."""
        document = '{"samples":[\n' + ",\n".join(self._lines) + "\n]}\n"
        if self._fd is not None:  # else it was said already that the place cannot be written
            self._replace(os.path.join(self._folder, "build-stats.json"), document)
        # the job's last line may have no end
        _print(f"\n{START}\n{document}{END}\n".encode())

    def _replace(self, path: str, document: str) -> None:
        partial = f"{path}.{os.getpid()}.part"
        try:
            fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            with open(fd, "wb") as file:
                file.write(document.encode())
            os.replace(partial, path)
        except OSError as error:
            _say(f"cannot write {path}: {error.strerror}")
            _remove(partial)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # it was never there, or the place is closed to us


def _tidy(value: float, digits: int) -> "Number":
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def _stamp(wall: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(wall))


def _encode(sample: "Sample") -> str:
    """Write a sample as one line of JSON; all its texts are ours."""
    pairs = [
        f'"{key}":"{value}"' if isinstance(value, str) else f'"{key}":{value!r}'
        for key, value in sample.items()
    ]
    return "{" + ",".join(pairs) + "}"


def _say(sentence: str) -> None:
    print(f"jobmeter: {sentence}", file=sys.stderr, flush=True)


def _print(block: bytes) -> None:
    """Write to stdout as the job did; where nobody reads any more, that is that."""
    if not os.get_inheritable(1):
        return  # the caller closed it, and another file fills its place
    while block:
        try:
            block = block[os.write(1, block) :]
        except BlockingIOError:
            room = select.poll()
            room.register(1, select.POLLOUT)
            room.poll()
        except OSError:
            return

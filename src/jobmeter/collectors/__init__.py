"""One source of measurements per file; the file name is the registry name and the key prefix.

A collector is a module with the names of `Collector`. It is imported only when selected, so that
recording a short job never pays for sources it does not read.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from resource import struct_rusage
    from typing import Protocol

    from jobmeter.model.measurement import Measurement
    from jobmeter.probes.cgroupfs import OwnCgroup
    from jobmeter.probes.command import Usage
    from jobmeter.probes.paths import Paths

    Value = int | float | str
    Reading = tuple[str, str, Value]
    """Key, instance (empty for job and host scope), value."""
    Told = tuple[str, dict[str, object]]
    """Type and details of an event."""

    class Process(Protocol):
        """A live process of the job, as the recorder's table knows it."""

        pid: int
        instance: str
        ppid: int
        command: str
        program: tuple[str, bytes]
        """Its name and where its stack begins: another one after each exec."""
        state: str
        threads: int
        rss_bytes: int
        vsz_bytes: int
        cpu_ns: int
        """Exact CPU time so far, children not included."""
        start_ticks: int
        io: tuple[int, int, int, int] | None
        """Characters read and written, bytes read and written; contains reaped children."""
        moved: bool
        """Whether it used CPU since the last sample; if not, nothing else of it changed either."""
        looked: bool
        """Whether it was read again at this sample, because it moved or a report is due."""
        fresh: bool
        """Whether this is the first sample that sees it."""

    class ReapedUsage(Protocol):
        """Accounts of reaped processes."""

        maxrss_bytes: int
        minflt: int
        majflt: int

    class Helper(Protocol):
        """A tool a source starts; its calls are reaped by the recorder like processes of the job."""

        @property
        def usage(self) -> Usage:
            """What all its calls used."""

        @property
        def strays(self) -> tuple[int, ...]:
            """Calls that are still running."""

        def reaped(self, pid: int, rusage: struct_rusage) -> None:
            """Hear that the recorder has waited for one of them."""

    class Job(Protocol):
        """What a source may know of the job it measures."""

        paths: Paths
        pid: int
        """The job's first process; its descendants are in `processes`."""
        ours: bool
        """Whether the job is a child of the recorder, which then reaps it and its orphans."""
        own_cgroup: OwnCgroup | None
        task_clock_fd: int | None
        """An inherited perf counter, where there is no own cgroup to count CPU time."""
        recorder_rss_bytes: int
        """The recorder's own size when it forked the job."""
        gpus: str
        """`job` for the GPUs the job uses or was given, `all` for every one of the machine."""

        @property
        def cpu_ns(self) -> int:
            """CPU time of the whole job by the telescoping sum."""

        def redact(self, text: str) -> str:
            """Hide secrets in a command line before it is written down."""

        def reaped(self) -> ReapedUsage:
            """What ended processes of the job left in our accounts; helpers of our own are taken out."""

        def lend(self, tool: Helper) -> None:
            """Say that a source starts helpers: what they use is ours, not the job's."""

        def io(self) -> list[int] | None:
            """What the whole job read and wrote: characters, then bytes of storage."""

        @property
        def processes(self) -> Mapping[int, Process]:
            """Live processes of the job by pid, refreshed before every sample."""

    class Source(Protocol):
        """A collector bound to a job."""

        def read(self) -> Iterable[Reading]:
            """Read the source once; a vanished process is skipped, a broken source raises OSError."""

        def close(self) -> None:
            """Give descriptors and helpers back."""

    class Witness(Source, Protocol):
        """A source that has more to say than numbers."""

        def tell(self) -> Iterable[Told]:
            """Hand over the events since the last call."""

        def standing(self) -> dict[str, object]:
            """Say how the source fared, for the provenance."""

        def doubts(self) -> dict[str, str]:
            """Say which keys are only bounds or not the job's alone, and why."""

    class Collector(Protocol):
        """What a module in this folder must define."""

        MEASUREMENTS: tuple[Measurement, ...]

        def missing(self, paths: Paths) -> str | None:
            """Say why this source cannot be read here, or None when it can."""

        def attach(self, job: Job, keys: frozenset[str]) -> Source:
            """Bind the source to a job; only the selected keys need to be read."""


ALL: dict[str, str] = {
    "apple": "jobmeter.collectors.apple",
    "cgroup": "jobmeter.collectors.cgroup",
    "host": "jobmeter.collectors.host",
    "netns": "jobmeter.collectors.netns",
    "nvml": "jobmeter.collectors.nvml",
    "nvsmi": "jobmeter.collectors.nvsmi",
    "proc": "jobmeter.collectors.proc",
    "ps": "jobmeter.collectors.ps",
    "psi": "jobmeter.collectors.psi",
    "psutil": "jobmeter.collectors.psutil",
    "rapl": "jobmeter.collectors.rapl",
    "rocm": "jobmeter.collectors.rocm",
    "wait": "jobmeter.collectors.wait",
}

DEFAULT_LINUX = ("wait", "cgroup", "proc", "host", "psi", "netns", "nvml", "rapl")
WHERE_FOUND: dict[str, str] = {"rocm": "kfd"}
"""Sources of hardware few machines have, by the device file that shows it: where it is absent nothing is said."""

IF_MISSING: dict[str, str] = {"nvml": "nvsmi"}
"""What takes the place of a source that cannot be read here, should it be there."""

DEFAULT_ELSEWHERE = ("psutil", "host", "apple")


def load(name: str) -> "Collector":
    """Import a collector by its registry name."""
    # importlib.import_module would import `warnings` first
    module: Collector = __import__(ALL[name], fromlist=["MEASUREMENTS"])
    return module

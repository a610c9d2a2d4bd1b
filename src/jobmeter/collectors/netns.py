"""Network traffic of a job that has a network namespace of its own: a container, a sandbox, `unshare -n`.

A job in the namespace of everyone else has no traffic of its own that the kernel would tell to an ordinary reader:
there `host_net_rx` and `host_net_tx` say what the whole machine moved. A namespace counts from the first look on,
and its last moment is lost with its last process. Loopback is left out; RDMA is not counted by the kernel.
"""

from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.probes import netns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobmeter.collectors import Job, Reading, Source
    from jobmeter.probes.paths import Paths


def _counter(key: str, about: str) -> Measurement:
    return Measurement(key, Kind.COUNTER, Unit.BYTES, Scope.JOB, (Reduce.DELTA,), (Stat.TOTAL,), about)


MEASUREMENTS = (
    _counter("netns_rx", "bytes received in network namespaces that are the job's own"),
    _counter("netns_tx", "bytes sent in network namespaces that are the job's own"),
)

_MOST_LOOKS = 256
"""Processes whose namespace is looked up in one sample: 3 µs each."""


def missing(paths: "Paths") -> str | None:
    """Say why namespaces cannot be told apart here."""
    if netns.of_process(paths.proc, "self") is None:
        return f"no {paths.proc}/self/ns/net: not Linux, or built without network namespaces"
    return None


class NetnsSource:
    """Follows the namespaces of the job's processes."""

    __slots__ = ("_job", "_keys", "_last", "_looked", "_members", "_ours", "_sums")

    def __init__(self, job: "Job", keys: frozenset[str]) -> None:
        self._job = job
        self._keys = keys
        self._ours = netns.of_process(job.paths.proc, "self")
        self._looked: dict[int, str] = {}
        self._members: dict[str, set[int]] = {}
        self._last: dict[tuple[str, str], tuple[int, int]] = {}
        self._sums: list[int] | None = None

    def read(self) -> "list[Reading]":
        """Add what moved in each namespace; nothing where the job has none of its own."""
        self._look_for_namespaces()
        for name, members in self._members.items():
            self._add(name, members)
        if self._sums is None:
            return []
        pairs = zip(("netns_rx", "netns_tx"), self._sums, strict=True)
        return [(key, "", total) for key, total in pairs if key in self._keys]

    def _look_for_namespaces(self) -> None:
        """Look at processes that are new, or became another program: joining a namespace comes before exec."""
        proc, processes, left = self._job.paths.proc, self._job.processes, _MOST_LOOKS
        unchanged = self._looked.keys() == processes.keys()
        # one that was not read again did not run, and is the program it was
        if unchanged and not any(process.looked for process in processes.values()):
            return
        for pid in [pid for pid in self._looked if pid not in processes]:
            del self._looked[pid]
        for pid, process in processes.items():
            if not left or self._looked.get(pid) == process.command:
                continue
            left -= 1
            self._looked[pid] = process.command
            name = netns.of_process(proc, pid)
            if name is not None and name != self._ours:
                self._members.setdefault(name, set()).add(pid)
        alive = {name: members & processes.keys() for name, members in self._members.items()}
        self._members = {name: members for name, members in alive.items() if members}
        if len(self._members) < len(alive):
            # the kernel gives the number of a namespace that is gone to another
            self._last = {at: moved for at, moved in self._last.items() if at[0] in self._members}

    def _add(self, name: str, members: set[int]) -> None:
        found = None
        for pid in members:
            if netns.of_process(self._job.paths.proc, pid) != name:
                continue  # it ended, or went elsewhere
            found = netns.traffic(self._job.paths.proc, pid)
            if found is not None:
                break
        if found is None:
            return
        sums = self._sums or [0, 0]
        for interface, now in found.items():
            before = self._last.get((name, interface), now)
            sums = [total + max(0, after - ago) for total, after, ago in zip(sums, now, before, strict=True)]
            self._last[name, interface] = now
        self._sums = sums

    def close(self) -> None:
        """Nothing is kept open."""


def attach(job: "Job", keys: frozenset[str]) -> "Source":
    """Bind the source to a job."""
    return NetnsSource(job, keys)

"""Who used it: CPU time and memory by command name, as far as sampling saw it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmeter.collectors import Process

_MOST = 20


class Share:
    """What the processes of one name used."""

    __slots__ = ("cpu_ns", "peak_rss_bytes", "processes")

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.peak_rss_bytes = 0
        self.processes = 0


class Attribution:
    """Adds each process's CPU time to the name it had when it used it: exec changes the name."""

    __slots__ = ("_cpu_ns", "_named", "shares")

    def __init__(self) -> None:
        self.shares: dict[str, Share] = {}
        self._cpu_ns: dict[str, int] = {}
        self._named: dict[str, str] = {}

    def begin(self, processes: "Iterable[Process]", used_before_ns: "Callable[[Process], int]") -> None:
        """Leave out what processes used before the run."""
        for process in processes:
            self._cpu_ns[process.instance] = used_before_ns(process)
            self._take(process)

    def update(self, processes: "Iterable[Process]") -> None:
        """Take in what moved since the last sample."""
        for process in processes:
            if process.moved:
                self._take(process)

    def forget(self, alive: "set[str]") -> None:
        """Drop what is remembered of processes that are gone."""
        self._cpu_ns = {name: used for name, used in self._cpu_ns.items() if name in alive}
        self._named = {name: command for name, command in self._named.items() if name in alive}

    def _take(self, process: "Process") -> None:
        share = self.shares.get(process.command)
        if share is None:
            share = self.shares[process.command] = Share()
        if self._named.get(process.instance) != process.command:
            self._named[process.instance] = process.command
            share.processes += 1
        share.cpu_ns += process.cpu_ns - self._cpu_ns.get(process.instance, 0)
        share.peak_rss_bytes = max(share.peak_rss_bytes, process.rss_bytes)
        self._cpu_ns[process.instance] = process.cpu_ns

    def records(self) -> list[dict[str, object]]:
        """Render the largest users first."""
        ranked = sorted(
            self.shares.items(), key=lambda item: (-item[1].cpu_ns, -item[1].peak_rss_bytes, item[0])
        )
        return [
            {
                "command": command,
                "cpu_seconds": round(share.cpu_ns / 1e9, 6),
                "peak_rss_bytes": share.peak_rss_bytes,
                "processes": share.processes,
            }
            for command, share in ranked[:_MOST]
        ]

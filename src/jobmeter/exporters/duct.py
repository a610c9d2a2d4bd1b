"""con-duct's files of a run: `info.json` of schema 0.2.3 and `usage.jsonl`, for its ls, pp and plot.

Keys that con-duct always writes are null where nothing was measured, because its readers look for them.
`peak_rss` is the sum of resident sizes, as everywhere in con-duct: shared pages count once per process.
What the job needed is jobmeter's own headline, which has no place in this schema.
"""

import json

from jobmeter.exporters import duct_lines
from jobmeter.model.measurement import PROCESS_TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Protocol

    from jobmeter.exporters.duct_lines import Readings
    from jobmeter.model.run import Value
    from jobmeter.model.view import RunView

    class Exactness(Protocol):
        """What a run's provenance says of its numbers."""

        @property
        def inexact(self) -> Mapping[str, str]: ...

    class Facts(Protocol):
        """What is asked of a run here: `model.run.Run`, or what the drop-in reads of a folder."""

        @property
        def command(self) -> tuple[str, ...]: ...
        @property
        def cwd(self) -> str | None: ...
        @property
        def message(self) -> str | None: ...
        @property
        def host(self) -> str | None: ...
        @property
        def exit_code(self) -> int | None: ...
        @property
        def started_at(self) -> float | None: ...
        @property
        def ended_at(self) -> float | None: ...
        @property
        def wall_seconds(self) -> float | None: ...
        @property
        def samples(self) -> int | None: ...
        @property
        def summary(self) -> Mapping[str, Value]: ...
        @property
        def provenance(self) -> Exactness: ...
        @property
        def context(self) -> Mapping[str, object]: ...


SCHEMA_VERSION = "0.2.3"
INFO, USAGE = "info.json", "usage.jsonl"
ENVIRONMENT_PREFIXES = ("PBS_", "SLURM_", "OSG")
"""The only variables con-duct records."""

Document = dict[str, object]

_SYSTEM = {
    "cpu_total": "cpus",
    "memory_total": "memory_bytes",
    "hostname": "hostname",
    "os_name": "system",
    "os_release": "release",
    "os_version": "version",
    "arch": "machine",
    "processor": "processor",
    "distro_id": "distribution_id",
    "distro_version_id": "distribution_version",
    "distro_pretty_name": "distribution",
}
"""con-duct's name to the name in a run folder's host record."""
_ALWAYS_TEXT = (
    "os_name", "os_release", "os_version", "arch", "processor", "distro_id", "distro_id_like", "distro_name",
    "distro_version", "distro_version_id", "distro_codename", "distro_variant_id", "distro_pretty_name",
    "distro_build_id",
)  # fmt: skip


def render(view: "RunView", windows: "Iterable[Readings]", *, prefix: str) -> "Mapping[str, Iterable[bytes]]":
    """Render a run as con-duct's info and usage files."""
    run = view.run
    return {
        INFO: encoded(_only(run, windows, prefix)),
        USAGE: encoded(usage(run, windows)),
    }


def usage(run: "Facts", windows: "Iterable[Readings]") -> "Iterator[Document]":
    """Build con-duct's usage lines."""
    report_seconds = _number(run.context.get("report_interval"))
    return duct_lines.lines(windows, _memory_bytes(run), report_seconds)


def _only(run: "Facts", windows: "Iterable[Readings]", prefix: str) -> "Iterator[Document]":
    yield info(run, execution_summary(run, windows, prefix=prefix), prefix=prefix)


def encoded(documents: "Iterable[Document]") -> "Iterator[bytes]":
    """Encode documents as lines; what is not ASCII is escaped, so that any argument can be written."""
    for document in documents:
        yield json.dumps(document).encode("ascii") + b"\n"


def info(run: "Facts", summary: Document, *, prefix: str) -> Document:
    """Build con-duct's info document around a summary, for files that begin with `prefix`."""
    context = run.context
    environment = _mapping(context.get("environment"))
    paths = {"stdout": "stdout", "stderr": "stderr", "usage": USAGE, "info": INFO}
    return {
        "command": " ".join(run.command),
        "system": _system(run),
        "env": {key: value for key, value in environment.items() if key.startswith(ENVIRONMENT_PREFIXES)},
        "gpu": context.get("gpu"),
        "duct_version": _recorder(context),
        "schema_version": SCHEMA_VERSION,
        "execution_summary": summary,
        "output_paths": {name: prefix + suffix for name, suffix in paths.items()} | {"prefix": prefix},
        "working_directory": run.cwd or "",
        "message": run.message or "",
    }


def execution_summary(run: "Facts", windows: "Iterable[Readings]", *, prefix: str) -> Document:
    """Build con-duct's summary of a run; null is what was not measured."""
    seen = _Statistics()
    for line in usage(run, windows):
        seen.add(line)
    figures: Document = {}
    for name in ("rss", "vsz", "pmem", "pcpu"):
        figures[f"peak_{name}"] = _summary(run, "peak", name, seen.peaks.get(name))
        figures[f"average_{name}"] = _summary(run, "mean", name, seen.mean(name))
    busy = _busy_percent(run)
    if busy is not None:
        figures["average_pcpu"] = busy
        figures["peak_pcpu"] = max(busy, _number(figures["peak_pcpu"]) or 0.0)
    return {
        "exit_code": run.exit_code,
        "command": " ".join(run.command),
        "logs_prefix": prefix,
        "wall_clock_time": run.wall_seconds,
        **figures,
        "num_samples": run.samples,
        "num_reports": seen.lines,
        "start_time": run.started_at,
        "end_time": run.ended_at,
        "working_directory": run.cwd or "",
    }


class _Statistics:
    """Peaks and means over all lines, where the run's own summary has none."""

    def __init__(self) -> None:
        self.lines = 0
        self.peaks: dict[str, int | float] = {}
        self._weighted: dict[str, float] = {}
        self._samples: dict[str, int] = {}

    def add(self, line: "Document") -> None:
        self.lines += 1
        totals, averages = _mapping(line["totals"]), _mapping(line["averages"])
        samples = int(_number(line["num_samples"]) or 0)
        for name in duct_lines.FIELDS:
            peak, mean = _number(totals.get(name)), _number(averages.get(name))
            if peak is not None:
                self.peaks[name] = max(peak, self.peaks.get(name, peak))
            if mean is not None:
                self._weighted[name] = self._weighted.get(name, 0.0) + mean * samples
                self._samples[name] = self._samples.get(name, 0) + samples

    def mean(self, name: str) -> float | None:
        return self._weighted[name] / self._samples[name] if self._samples.get(name) else None


def _summary(run: "Facts", stat: str, name: str, otherwise: float | None) -> float | None:
    for tool in PROCESS_TOOLS:
        value = _number(run.summary.get(f"{tool}_{stat}_{name}_total"))
        if value is not None:
            return value
    return otherwise


def _busy_percent(run: "Facts") -> float | None:
    """CPU seconds of record over the run's length; con-duct has only the mean of its samples."""
    for key in duct_lines.CPU_COUNTERS:
        used = _number(run.summary.get(key))
        if used is not None and run.wall_seconds and key not in run.provenance.inexact:
            return 100 * used / run.wall_seconds
    return None


def _system(run: "Facts") -> Document:
    host, user = _mapping(run.context.get("host")), _mapping(run.context.get("user"))
    recorded = _mapping(_mapping(run.context.get("duct")).get("system"))
    system: Document = {ours: host.get(theirs) for ours, theirs in _SYSTEM.items()}
    system |= {"hostname": run.host or host.get("hostname"), "uid": user.get("uid"), "user": user.get("name")}
    system |= {name: system.get(name) or "" for name in _ALWAYS_TEXT}
    return {**system, **recorded}


def _memory_bytes(run: "Facts") -> int | float | None:
    return _number(_mapping(run.context.get("host")).get("memory_bytes"))


def _recorder(context: "Mapping[str, object]") -> str:
    theirs = _mapping(context.get("duct")).get("version")
    ours = _mapping(context.get("recorder")).get("version")
    return str(theirs) if theirs else f"jobmeter {ours}" if ours else "jobmeter"


def _mapping(value: object) -> "Mapping[str, object]":
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

"""The columns of `ls`: how each field of a run is titled, aligned and written.

Numbers of one column may come from different methods in different runs (memory by cgroup here, by PSS
there). Where they do, every cell names its method and the legend says which key it is; where all agree
the legend alone says it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jobmeter.cli.render import local_time, spans, statuses
from jobmeter.cli.render.screen import Style
from jobmeter.cli.render.table import Cell, Column
from jobmeter.model import text, units
from jobmeter.model.run import LIVE, Run
from jobmeter.service import energy, explain, fields
from jobmeter.service.fields import Type

DEFAULT = (
    "id",
    "status",
    "started",
    "wall",
    "cpu_seconds",
    "cores",
    "memory_peak",
    "gpu_util",
    "gpu_memory",
    "steps.last_step",
    "loss",
    "io_read",
    "io_write",
    "disk",
    "name",
    "command",
)

_TITLES = {
    "id": "RUN", "cpu_seconds": "CPU", "memory_peak": "MEMORY", "memory_limit": "LIMIT", "exit_code": "EXIT",
    "io_read": "READ", "io_write": "WRITTEN", "job_id": "JOB",
    "gpu_util": "GPU", "gpu_memory": "GPU MEM", "energy": "ENERGY", "loss": "LOSS",
    "steps.count": "STEPS", "steps.last_step": "STEP", "steps.per_second": "STEPS/S",
}  # fmt: skip
_OPTIONAL = {
    "io_read": 13, "io_write": 12, "disk": 11, "cores": 10, "gpu_memory": 9, "started": 8,
    "steps.last_step": 7, "gpu_util": 6, "name": 5, "loss": 4, "cpu_seconds": 3, "wall": 2, "memory_peak": 1,
}  # fmt: skip
_FLEXIBLE = {"command": 12, "name": 8, "cwd": 12, "message": 12, "host": 8, "project": 8, "user": 8}
_WORDS = (fields.TAG, fields.CONFIG)
"""Fields whose values are words more often than numbers."""
_NUMBERS = (Type.BYTES, Type.SECONDS, Type.NUMBER, Type.METRIC, Type.ANY)
_LONGEST_COMMAND = 2000
"""A command line can be 2 MB; nobody reads that in a table."""


def column(field: str, *, chosen: bool) -> Column:
    """Describe a field's column; one the user chose never gives way."""
    kind = fields.type_of(field)
    return Column(
        title=_TITLES.get(field, text.clean(field).upper() if field in fields.FIELDS else text.clean(field)),
        right=kind in _NUMBERS and not field.startswith(_WORDS),
        flexible=_FLEXIBLE.get(field, 8 if field.startswith(_WORDS) else 0),
        optional=0 if chosen else _OPTIONAL.get(field, 0),
    )


@dataclass(frozen=True, slots=True)
class Methods:
    """Which keys the headline numbers of a listing came from, by field."""

    by_field: dict[str, dict[tuple[str, ...], str]]

    def tag(self, field: str, run: Run) -> str:
        """Name the method of one cell, where the column mixes several."""
        tags = self.by_field.get(field, {})
        headline = run.headline.get(fields.HEADLINES.get(field, ""))
        if headline is None or len(tags) < 2:
            return ""
        # padded, so that the numbers before it line up
        return f" {tags[headline.keys]:<{max(map(len, tags.values()))}}"

    def legend(self, shown: Sequence[str]) -> str:
        """Say which key the numbers of each shown column are, in one sentence."""
        parts = []
        for field, tags in self.by_field.items():
            title = _TITLES.get(field, field)
            if field not in shown:
                continue
            if len(tags) == 1:
                parts += [f"{title} by {_joined(field, keys)}" for keys in tags]
            else:
                named = ", ".join(f"{tag} = {_joined(field, keys)}" for keys, tag in tags.items())
                parts.append(f"{title} by {named}")
        return text.clean("; ".join(parts))


def _joined(field: str, keys: Sequence[str]) -> str:
    """Name the keys of a number by how it was made of them: needed memory is what was charged less the cache."""
    return (" - " if field == "memory_peak" else " + ").join(keys)


def methods(runs: Sequence[Run], chosen: Sequence[str]) -> Methods:
    """Collect the methods behind the listed numbers."""
    by_field: dict[str, dict[tuple[str, ...], str]] = {}
    for field in chosen:
        name = fields.HEADLINES.get(field)
        if name is None:
            continue
        seen = dict.fromkeys(run.headline[name].keys for run in runs if name in run.headline)
        if seen:
            by_field[field] = _tags(seen)
    return Methods(by_field)


def _tags(seen: Mapping[tuple[str, ...], None]) -> dict[tuple[str, ...], str]:
    tags: dict[tuple[str, ...], str] = {}
    for keys in seen:
        word = _method_word(keys[0] if keys else "")
        number = sum(tag.rstrip("0123456789") == word for tag in tags.values()) + 1
        tags[keys] = word if number == 1 else f"{word}{number}"
    return tags


def _method_word(key: str) -> str:
    for word in ("pss", "rss"):
        if word in key.split("_"):
            return word
    return {"cgroup": "cg"}.get(key.partition("_")[0], text.clean(key.partition("_")[0]) or "?")


def _cores(value: float) -> str:
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


_OWN_WORDS: dict[str, Callable[[float], str]] = {
    "cores": _cores,
    "energy": energy.joules,
    "gpu_util": units.format_percent,
}
"""Fields that are written another way than their type is."""


def cell(field: str, run: Run, known: Mapping[str, object], found: Methods, now: float) -> Cell:
    """Write one field of one run; what is not known is left empty."""
    if field == "status":
        return Cell(statuses.word(run), statuses.STYLES[run.status])
    if field == "command":
        return Cell(text.cut(text.command_line(run.command), _LONGEST_COMMAND))
    if field == "wall" and run.status in LIVE and "wall" not in known and run.started_at is not None:
        return Cell(f"{compact_seconds(max(0.0, now - run.started_at))}+", Style.LIVE)
    value = fields.look_up(known, field)
    if value is None:
        return Cell("")
    if isinstance(value, list):
        return Cell(spans.written(value))
    written = _written(field, value, run, now) + found.tag(field, run)
    headline = run.headline.get(fields.HEADLINES.get(field, ""))
    return Cell(f"~{written}" if headline is not None and not headline.exact else written)


def short_command(run: Run) -> Cell:
    """Write a command without the folder its program lies in."""
    program = run.command[0].rpartition("/")[2] if run.command else ""
    command = (program, *run.command[1:]) if program else run.command
    return Cell(text.cut(text.command_line(command), _LONGEST_COMMAND))


def _written(field: str, value: object, run: Run, now: float) -> str:
    kind = fields.type_of(field)
    if isinstance(value, int | float):
        if kind is Type.ANY and field in run.summary:
            return explain.explain_key(field, run).text
        if field in _OWN_WORDS:
            return _OWN_WORDS[field](value)
        match kind:
            case Type.MOMENT:
                return local_time.short(value, now)
            case Type.SECONDS:
                return compact_seconds(value)
            case Type.BYTES:
                return units.format_bytes(value)
            case Type.ANY | Type.METRIC:
                return units.format_metric(value)
            case Type.NUMBER | Type.TEXT | None:
                return units.format_count(value)
    return text.cut(text.clean(str(value)), _LONGEST_COMMAND)


def compact_seconds(seconds: float) -> str:
    """Write a span of time in as few letters as a column has: `1h02m`, `12.3s`."""
    return units.format_seconds(seconds).replace(" min", "m").replace(" ", "")

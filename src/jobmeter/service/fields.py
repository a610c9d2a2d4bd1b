"""What one may ask of a run by name: the fields that filter, sort and fill the columns of `ls`.

A field the run does not have is absent from `of_run`, never 0 and never empty.
"""

from collections.abc import Mapping
from enum import Enum

from jobmeter.model import metrics, query, units
from jobmeter.model.measurement import TOOLS
from jobmeter.model.query import Field
from jobmeter.model.run import Run
from jobmeter.model.steps import StepSummary
from jobmeter.service import throughput


class Type(Enum):
    """What a field holds, and so which values and comparisons it takes."""

    TEXT = "text"
    MOMENT = "a time"
    BYTES = "a size"
    SECONDS = "a span of time"
    NUMBER = "a number"
    METRIC = "a number, or NaN"
    ANY = "anything"


FIELDS: dict[str, Type] = {
    "cause": Type.TEXT,
    "command": Type.TEXT,
    "cores": Type.NUMBER,
    "cpu_seconds": Type.SECONDS,
    "cwd": Type.TEXT,
    "disk": Type.BYTES,
    "ended": Type.MOMENT,
    "energy": Type.NUMBER,
    "exit_code": Type.NUMBER,
    "gpu_memory": Type.BYTES,
    "gpu_util": Type.ANY,
    "group": Type.TEXT,
    "host": Type.TEXT,
    "id": Type.TEXT,
    "io_read": Type.BYTES,
    "io_write": Type.BYTES,
    "job_id": Type.TEXT,
    "memory_limit": Type.BYTES,
    "memory_peak": Type.BYTES,
    "message": Type.TEXT,
    "name": Type.TEXT,
    "origin": Type.TEXT,
    "project": Type.TEXT,
    "rank": Type.NUMBER,
    "ranks": Type.NUMBER,
    "samples": Type.NUMBER,
    "signal": Type.TEXT,
    "started": Type.MOMENT,
    "status": Type.TEXT,
    "steps.count": Type.NUMBER,
    "steps.last_step": Type.NUMBER,
    "steps.per_second": Type.NUMBER,
    "throughput": Type.NUMBER,
    "user": Type.TEXT,
    "wall": Type.SECONDS,
    "world_size": Type.NUMBER,
}
"""Besides these: `tag.KEY`, `config.KEY`, any key of a run's summary, and what a training loop logged: a quantity
everybody knows by its name (`loss`), any other as `metric.NAME`, each also with `.first`, `.last`, `.min`, `.max`."""

PERCENT_OF = {"memory_peak": "memory_limit"}
"""Where a percentage means a share of another field."""

HEADLINES = {
    "cpu_seconds": "cpu_seconds",
    "memory_peak": "memory_peak_bytes",
    "io_read": "io_read_bytes",
    "io_write": "io_write_bytes",
    "gpu_util": "gpu_util_percent",
    "gpu_memory": "gpu_memory_peak_bytes",
    "energy": "energy_joules",
}
"""Fields that are the value of a headline number."""


METRIC, CONFIG, TAG = "metric.", "config.", query.TAG
_STATISTICS = (".first", ".last", ".min", ".max")
_MOST_METRICS = 100
_MOST_CONFIG = 200
"""Lists read the fields of every run: a config of thousands of keys is in the run, not in them."""


def type_of(field: str) -> Type | None:
    """Say what a field holds; None for a name no run can have."""
    if field in FIELDS:
        return FIELDS[field]
    if field.startswith(METRIC) and len(field) > len(METRIC):
        return Type.METRIC
    if any(field.startswith(prefix) and len(field) > len(prefix) for prefix in (CONFIG, TAG)):
        return Type.ANY
    if _is_quantity(_without_statistic(field)):
        return Type.METRIC
    return Type.ANY if is_summary_key(field) else None


def is_summary_key(field: str) -> bool:
    """Tell a key of a run's summary from all other fields."""
    tool, _, quantity = field.partition("_")
    return tool in TOOLS and bool(quantity) and not _is_quantity(_without_statistic(field))


def normal(field: str) -> str:
    """Give the one name a field is kept under: `metric.loss` and `loss.last` are `loss`."""
    if field in FIELDS or field.startswith((CONFIG, TAG)):
        return field
    short = field.removeprefix(METRIC)
    known = _is_quantity(_without_statistic(short))
    if not known and short == field:
        return field
    return (short if known else field).removesuffix(".last")


def ref(field: str) -> Field:
    """Say how to find a field: a metric also under the name of its quantity, in the unit of the name it is asked by."""
    if not field.startswith(METRIC):
        return Field(field)
    name = _without_statistic(field.removeprefix(METRIC))
    quantity = metrics.canonical(name)
    kept = quantity if _is_quantity(quantity) else f"{METRIC}{quantity}"
    return Field(field, f"{kept}{field[len(METRIC) + len(name) :]}", unit_of(field))


def look_up(known: Mapping[str, object], field: str) -> object:
    """Find a field of a run; None where it does not have it."""
    return ref(field).of(known)


def unit_of(field: str) -> float:
    """Say how many base units one of a metric is: 0.001 for `metric.time_ms`."""
    return metrics.in_base_units(_without_statistic(field.removeprefix(METRIC)), 1.0)


def _without_statistic(field: str) -> str:
    return next((field.removesuffix(word) for word in _STATISTICS if field.endswith(word)), field)


def _is_quantity(name: str) -> bool:
    """Tell the names of what training loops log that need no `metric.` before them."""
    return name not in FIELDS and metrics.is_known(name) and metrics.canonical(name) == name


def nearest(field: str) -> str:
    """Suggest what a mistyped field may have meant."""
    from difflib import get_close_matches

    close = get_close_matches(field, FIELDS, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return (
        f"use one of {', '.join(FIELDS)}, tag.KEY, config.KEY, a summary key such as proc_peak_rss_total,"
        f" or what a training logged: loss, lr.min, metric.{field}"
    )


def of_run(run: Run, *, summary: bool = True) -> dict[str, object]:
    """Lay a run out as named fields, its summary's keys among them or not; only what is known is present."""
    known: dict[str, object] = {f"{TAG}{key}": value for key, value in run.tags.items()}
    if summary:
        known.update(run.summary)
    known.update(_config(run.context.get("config")))
    if run.steps is not None:
        known.update(_steps(run.steps))
    known.update(
        id=run.run_id,
        job_id=run.job_id,
        status=run.status.value,
        command=" ".join(run.command),
        name=run.name,
        project=run.project,
        message=run.message,
        cwd=run.cwd,
        host=run.host,
        user=run.user,
        exit_code=run.exit_code,
        signal=run.signal,
        started=run.started_at,
        ended=run.ended_at,
        wall=run.wall_seconds,
        samples=run.samples,
        disk=run.disk_bytes,
        memory_limit=run.limits.memory_bytes,
        origin=run.provenance.origin,
        group=run.group,
        rank=list(run.ranks) if len(run.ranks) > 1 else next(iter(run.ranks), None),
        ranks=len(run.ranks) or None,
        world_size=run.world_size,
    )
    known.update(_headlines(run))
    known["throughput"] = throughput.of_fields(known)
    return {field: value for field, value in known.items() if value is not None}


def _headlines(run: Run) -> dict[str, object]:
    known: dict[str, object] = {
        field: run.headline[name].value for field, name in HEADLINES.items() if name in run.headline
    }
    cpu = run.headline.get("cpu_seconds")
    if cpu is not None and (cores := units.mean_cores(cpu.value, run.wall_seconds)) is not None:
        known["cores"] = cores
    return known


def _steps(summary: StepSummary) -> dict[str, object]:
    known: dict[str, object] = {
        "steps.count": summary.count,
        "steps.last_step": summary.last_step,
        "steps.per_second": summary.steps_per_second,
    }
    for name, found in list(summary.metrics.items())[:_MOST_METRICS]:
        field = name if _is_quantity(name) else f"{METRIC}{name}"
        values = {"": found.last, ".first": found.first, ".min": found.low, ".max": found.high}
        # a loss that is NaN is text here: neither above nor below anything, but found by `loss=NaN`
        known |= {f"{field}{word}": value for word, value in values.items()}
    return known


def _config(config: object, prefix: str = CONFIG) -> dict[str, object]:
    """Lay a config out flat: `config.optimizer.lr`."""
    known: dict[str, object] = {}
    for key, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, dict):
            known |= _config(value, f"{prefix}{key}.")
        elif isinstance(value, bool):
            known[f"{prefix}{key}"] = "true" if value else "false"
        elif isinstance(value, int | float | str):
            known[f"{prefix}{key}"] = value
        if len(known) >= _MOST_CONFIG:
            break
    return known

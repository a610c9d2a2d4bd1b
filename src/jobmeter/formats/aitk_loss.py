"""ai-toolkit's `loss_log.db`: every metric of every step with its time, and the job's config beside it.

What misleads: SQLite keeps NaN as NULL, so a loss that became NaN is absent here; on resume ai-toolkit deletes the
steps beyond the checkpoint, so only the last life of a step is there.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import checkpoints, content, figures, loose_json, sqlite_file, training, yaml_text
from jobmeter.model.imported import Imported
from jobmeter.model.view import Event, Step

FORMAT = "aitk_loss"
NAME = "loss_log.db"
_CONFIGS = (".job_config.json", "config.yaml")
_ROWS = """
    SELECT m.step, s.wall_time, m.key, m.value_real FROM metrics AS m LEFT JOIN steps AS s ON s.step = m.step
    WHERE m.value_real IS NOT NULL ORDER BY m.step, m.key
"""
_ABSENT = "SELECT count(*) FROM metrics WHERE value_real IS NULL AND value_text IS NULL"
_WEIGHTS = r"{name}(?:_(?P<step>\d{{4,}}))?(?:\.safetensors)?"


@dataclass(frozen=True, slots=True)
class Log:
    """What the database holds."""

    steps: list[Step]
    absent: int
    """Values that are NULL: None, or NaN."""


def sniff(head: bytes, name: str) -> float:
    """Claim an SQLite file by its name, or by the tables in its first page."""
    if not head.startswith(sqlite_file.MAGIC):
        return 0.0
    marked = b"metric_keys" in head and b"value_real" in head
    return 1.0 if marked else 0.5 if name == NAME else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the steps with the config and weights beside them."""
    log = read(path)
    if not log.steps:
        raise training.nothing("no step was logged")
    config = config_beside(path.parent)
    told = training.Told(
        format=FORMAT,
        digest=digest(log.steps),
        sources=content.existing(path, *map(path.with_name, _CONFIGS)),
        steps=log.steps,
        events=weights_beside(path.parent),
        name=_name(config) or path.parent.name or None,
        context={"config": config},
        missing=missing(log),
    )
    return (training.imported(told),)


def digest(steps: Iterable[Step]) -> str:
    """Hash the steps, not the file: a checkpoint of the write-ahead log moves its bytes."""
    total = hashlib.sha256()
    for step in steps:
        total.update(json.dumps([step.step, step.timestamp, sorted(step.metrics.items())]).encode())
    return total.hexdigest()


def missing(log: Log) -> dict[str, str]:
    """Say what the database could not keep."""
    if not log.absent:
        return {}
    return {"values": f"{log.absent} values are NULL: SQLite keeps NaN as that"}


def read(path: Path) -> Log:
    """Read all steps; rows of one step are one."""
    with sqlite_file.opened(path) as database:
        if not {"step", "key", "value_real", "value_text"} <= database.columns("metrics"):
            raise UsageError(f"{path.name}: no metrics table in it", hint="give ai-toolkit's loss_log.db")
        rows = database.rows(_ROWS)
        ((absent,),) = database.rows(_ABSENT)
    return Log(list(_steps(rows)), figures.whole(absent) or 0)


def _steps(rows: list[sqlite_file.Row]) -> Iterator[Step]:
    for (number, moment), group in groupby(rows, key=lambda row: (row[0], row[1])):
        metrics = figures.metrics({str(row[2]): row[3] for row in group})
        step = figures.whole(number)
        if step is not None and metrics:
            stamp = figures.moment(moment)
            yield Step(timestamp=stamp, step=step, rank=0, source=FORMAT, metrics=metrics)


def config_beside(folder: Path) -> dict[str, object]:
    """Read the job's config, which the trainer and the UI leave in the output folder."""
    for path in content.existing(*(folder / name for name in _CONFIGS)):
        as_json = loose_json.parse_object(content.text(path)) if path.suffix == ".json" else None
        found = as_json or yaml_text.mapping(path)
        if found:
            return loose_json.mapping(training.plain(found))
    return {}


def _name(config: dict[str, object]) -> str | None:
    return loose_json.text(loose_json.mapping(config.get("config")).get("name"))


def weights_beside(folder: Path) -> list[Event]:
    """Find the weights of a job: `<name>_000002000.safetensors`, and `<name>.safetensors` at the end."""
    pattern = _WEIGHTS.format(name=re.escape(folder.name)) if folder.name else r"(?!)"
    return checkpoints.beside([folder], re.compile(pattern))

"""Any other table of training metrics: CSV or JSON lines with a step (or epoch) and a loss. The last resort.

What misleads: a table without a step column has only epochs, which then are the steps; a column named `time` may be
a duration, so only one that holds dates is taken for a clock.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import (
    content,
    csv_table,
    figures,
    lightning_csv,
    loose_json,
    training,
    ugro,
    ultralytics,
)
from jobmeter.model.imported import Imported
from jobmeter.model.view import Step

FORMAT = "step_table"
_STEPS = (
    "step",
    "global_step",
    "_step",
    "train_step",
    "training_step",
    "iteration",
    "iter",
    "num_updates",
    "current_steps",
    "current_step",
    "trainer/global_step",
    "update",
    "epoch",
)
_MOMENTS = ("timestamp", "_timestamp", "wall_time", "time", "created_at", "datetime", "date")
_RANKS = ("rank", "global_rank")
_METRIC = re.compile(
    r"(?:^|[^a-z])(?:\w*loss|acc|accuracy|lr|learning_rate|perplexity|ppl|reward|grad_norm|f1|bleu|mfu)(?:$|[^a-z])",
    re.IGNORECASE,
)

_MODES = ("train", "val", "test")
_FEWEST_METRICS = 2
_MMCV = b'{"env_info": '
_MM_ROW = '{"step": 1, "loss": 1}'

Record = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim weakly, and only a table that names both its steps and a metric of training and is no other's."""
    if any(known.sniff(head, name) for known in (lightning_csv, ugro, ultralytics)):
        return 0.0
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return 0.3 if _is_step_line(head) else 0.0
    if not name.lower().endswith((".csv", ".tsv", ".txt", ".log")):
        return 0.0
    found = csv_table.sniffed(head)
    step = found[0].find(*_STEPS) if found is not None else None
    if found is None or step is None or not any(_METRIC.search(each) for each in found[0].names):
        return 0.0
    first = found[1]
    return 0.3 if not first or figures.whole(first.get(step)) is not None else 0.0


def _is_step_line(head: bytes) -> bool:
    lines = [line for line in content.whole_lines(head) if line.strip()]
    if head.lstrip().startswith(_MMCV):
        lines = lines[1:] or [_MM_ROW]  # what it says of the machine may fill the head alone
    first = loose_json.parse_object(lines[0]) if lines else None
    if first is None:
        return False
    metrics = figures.metrics(first)
    return _number(first) is not None and any(_METRIC.search(name) for name in metrics)


def parse(path: Path) -> Iterable[Imported]:
    """Read the table."""
    with path.open("rb") as file:
        is_json = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    steps = training.Again(lambda: _json_steps(path)) if is_json else training.Again(_table(path).steps)
    seen = training.survey(steps)
    if not seen.count:
        raise training.nothing("no row has a step and a number")
    lines = sum(1 for line in content.lines(path) if line.strip())
    told = training.Told(
        format=FORMAT,
        digest=content.digest([path]),
        sources=(path,),
        steps=steps,
        seen=seen,
        dropped={"rows": max(0, lines - seen.count - (not is_json))},
    )
    return (training.imported(told),)


def _table(path: Path) -> csv_table.Table:
    table = csv_table.table(path, FORMAT, *_STEPS)
    if table is None:
        raise UsageError(f"{path.name}: no table with a step column", hint=f"name one of {', '.join(_STEPS)}")
    return table


def _json_steps(path: Path) -> Iterator[Step]:
    without = frozenset((*_MOMENTS, *_RANKS))
    epochs = _Epochs()
    for line in content.lines(path):
        row = loose_json.parse_object(line) or {}
        if row.get("mode") in _MODES:
            step = epochs.step(row)
            if step is not None:
                yield step
            continue
        found = _number(row)
        if found is None:
            continue
        name, number = found
        metrics = figures.metrics(row, without=without | {name})
        if not metrics:
            continue
        moment = next((m for each in _MOMENTS if (m := figures.moment(row.get(each))) is not None), None)
        rank = next((r for each in _RANKS if (r := figures.whole(row.get(each))) is not None), 0)
        yield Step(timestamp=moment, step=number, rank=rank, source=FORMAT, metrics=metrics)


def _number(row: Record) -> tuple[str, int] | None:
    for name in _STEPS:
        number = figures.whole(row.get(name))
        if number is not None:
            return name, number
    return None


@dataclass(slots=True)
class _Epochs:
    """Numbers the rows of mmcv, which count within the epoch and are of training or of validation."""

    before: int = 0
    last: int = 0
    epoch: int = 0

    def step(self, row: Record) -> Step | None:
        """Make the step of one row; a validation belongs to the training step before it."""
        number, epoch = figures.whole(row.get("iter")), figures.whole(row.get("epoch"))
        metrics = figures.metrics(row, without=frozenset(("iter", *_RANKS)))
        if number is None or len(metrics) < _FEWEST_METRICS:
            return None
        if row["mode"] != "train":
            metrics = {name if name == "epoch" else f"val/{name}": metrics[name] for name in metrics}
        else:
            self.before += (
                self.last if epoch is not None and epoch > self.epoch and number <= self.last else 0
            )
            self.last, self.epoch = number, epoch or self.epoch
        return Step(timestamp=None, step=self.before + self.last, rank=0, source=FORMAT, metrics=metrics)

"""ultralytics (YOLO) `results.csv`: one row per epoch, with `args.yaml` and `weights/` beside it.

YOLOv7 and the first YOLOv5 write `results.txt` instead, without names: they are known by their number. What
misleads: the names are padded with blanks; a row is an epoch, so the step of a run is its epoch; `time` counts
seconds since the training began and is no clock; older releases count epochs from 0, newer from 1.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import checkpoints, content, csv_table, figures, loose_json, training, yaml_text
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Step

FORMAT = "ultralytics"
ARGUMENTS = ("args.yaml", "opt.yaml")
_WEIGHTS = re.compile(r"(?:best|last|epoch(?P<step>\d+))\.pt")
_MARKS = ("lr/pg0", "x/lr0")
_PREFIXES = ("train/", "metrics/")


_NAMELESS = re.compile(r"\s*(?P<epoch>\d+)/\d+\s+(?P<memory>[\d.]+)G(?P<values>(?:\s+[-+.\deEnaif]+){13})\s*")
_COLUMNS = (
    "train/box_loss train/obj_loss train/cls_loss train/total_loss labels img_size metrics/precision metrics/recall "
    "metrics/mAP_0.5 metrics/mAP_0.5:0.95 val/box_loss val/obj_loss val/cls_loss"
)


def sniff(head: bytes, name: str) -> float:
    """Claim a table that begins with the epoch and has the trainer's groups of columns."""
    if name and not name.endswith((".csv", ".txt")):
        return 0.0
    lines = content.whole_lines(head)
    if lines and all(map(_NAMELESS.fullmatch, lines)):
        return 0.9
    found = csv_table.sniffed(head)
    if found is None or found[0].names[0] != "epoch":
        return 0.0
    names = found[0].names
    grouped = all(any(name.startswith(prefix) for name in names) for prefix in _PREFIXES)
    if not grouped:
        return 0.0
    return 1.0 if any(mark in names for mark in _MARKS) else 0.7


def parse(path: Path) -> Iterable[Imported]:
    """Read the table with the arguments and weights beside it."""
    steps, dropped = _steps(path)
    if not steps:
        raise training.nothing("no epoch was finished")
    arguments = next(iter(content.existing(*map(path.with_name, ARGUMENTS))), None)
    config = yaml_text.mapping(arguments) if arguments is not None else {}
    seconds = steps[-1].metrics.get("time")
    planned = figures.whole(config.get("epochs"))
    told = training.Told(
        format=FORMAT,
        digest=content.digest([path]),
        sources=(path, *content.existing(*map(path.with_name, ARGUMENTS))),
        steps=steps,
        events=checkpoints.beside([path.with_name("weights")], _WEIGHTS),
        name=loose_json.text(config.get("name")),
        project=loose_json.text(config.get("project")),
        status=Status.COMPLETED if planned is not None and len(steps) >= planned else None,
        wall_seconds=None if seconds is None else float(seconds),
        context={"config": config},
        dropped={"rows": dropped},
        inexact=_inexact(seconds, planned),
    )
    return (training.imported(told),)


def _steps(path: Path) -> tuple[list[Step], int]:
    """Read the epochs, and count the lines that are none."""
    lines = [line for line in content.lines(path) if line.strip()]
    nameless = [_nameless(found) for found in map(_NAMELESS.fullmatch, lines) if found]
    if nameless:
        return nameless, len(lines) - len(nameless)
    table = csv_table.table(path, FORMAT, "epoch")
    if table is None:
        raise UsageError(f"{path.name}: no table with an epoch column", hint="give ultralytics' results.csv")
    steps = [_with_epoch(step) for step in table.steps()]
    return steps, table.dropped(len(steps))


def _nameless(found: re.Match[str]) -> Step:
    metrics = figures.metrics(dict(zip(_COLUMNS.split(), found["values"].split(), strict=True)))
    metrics |= {"epoch": int(found["epoch"]), "gpu_mem_g": float(found["memory"])}
    return Step(timestamp=None, step=int(found["epoch"]), rank=0, source=FORMAT, metrics=metrics)


def _inexact(seconds: float | None, planned: int | None) -> dict[str, str]:
    found = {} if seconds is None else {"wall_seconds": "up to the end of the last epoch"}
    if planned is not None:
        found["status"] = "by the planned epochs alone: the file does not say how the training ended"
    return found


def _with_epoch(step: Step) -> Step:
    metrics: dict[str, int | float] = {"epoch": step.step, **step.metrics}
    return Step(timestamp=None, step=step.step, rank=0, source=FORMAT, metrics=metrics)

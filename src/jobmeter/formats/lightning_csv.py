"""Lightning's CSVLogger: `metrics.csv`, the hyper-parameters beside it, and the checkpoints.

What misleads: training and validation write rows of their own with the other's cells empty; the file has no
clock; older releases put the columns in any order.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import checkpoints, content, csv_table, training, yaml_text
from jobmeter.model.imported import Imported

FORMAT = "lightning_csv"
NAME = "metrics.csv"
HPARAMS = "hparams.yaml"
_VERSION = re.compile(r"version_\d+")
_CHECKPOINT = re.compile(r".*?(?:step=(?P<step>\d+).*)?\.ckpt")


def sniff(head: bytes, name: str) -> float:
    """Claim a `metrics.csv` with a step column; the name is the logger's own."""
    if not name.endswith(NAME):
        return 0.0
    found = csv_table.sniffed(head)
    if found is None or found[0].find("step") is None:
        return 0.0
    return 0.9 if found[0].find("epoch") else 0.6


def parse(path: Path) -> Iterable[Imported]:
    """Read the table with what lies beside it."""
    table = csv_table.table(path, FORMAT, "step")
    if table is None:
        raise UsageError(f"{path.name}: no table with a step column", hint="give the CSVLogger's metrics.csv")
    steps = training.Again(table.steps)
    seen = training.survey(steps)
    if not seen.count:
        raise training.nothing("no row was logged before the training ended")
    hparams = path.with_name(HPARAMS)
    versioned = _VERSION.fullmatch(path.parent.name) is not None
    told = training.Told(
        format=FORMAT,
        digest=content.digest([path]),
        sources=content.existing(path, hparams),
        steps=steps,
        seen=seen,
        events=checkpoints.beside([path.with_name("checkpoints")], _CHECKPOINT),
        name=path.parent.name if versioned else None,
        project=path.parent.parent.name or None if versioned else None,
        context={"config": yaml_text.mapping(hparams)},
        dropped={"rows": table.dropped(seen.count)},
    )
    return (training.imported(told),)

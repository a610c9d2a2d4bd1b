"""What `scontrol show node` prints: the nodes of a cluster at one moment, a block or (with `-o`) a line each.

What misleads: `RealMemory` is what the scheduler may give, `FreeMem` what the system says is free, in MiB; with
`CPUEfctv` fewer CPUs can be given than the node has.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import monitorlog, quantity, sinfo
from jobmeter.model.imported import Imported

ORIGIN = "scontrol_nodes"
_BEGINNING = re.compile(r"\s*NodeName=\S")
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=(\S*)")
_MIB = 1 << 20
_NUMBERS = {"CPUTot": ("cpus", 1), "CPUAlloc": ("alloc_cpus", 1), "CPULoad": ("load", 1)} | {
    "RealMemory": ("mem", _MIB), "AllocMem": ("alloc_mem", _MIB), "FreeMem": ("free_mem", _MIB),
}  # fmt: skip


def sniff(head: bytes, _name: str) -> float:
    """Claim text that begins with the fields of a node."""
    text = monitorlog.head_text(head)
    return 0.95 if _BEGINNING.match(text) and "CPUTot=" in text else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the nodes as one window."""
    return [sinfo.of_nodes(path, [row for fields in _blocks(path) if (row := _row(fields))], ORIGIN)]


def _blocks(path: Path) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    for line in monitorlog.text_lines(path):
        if _BEGINNING.match(line):
            yield fields
            fields = {}
        for name, value in _PAIR.findall(line):
            fields.setdefault(name, value)
    yield fields


def _row(fields: dict[str, str]) -> sinfo.Row:
    if "NodeName" not in fields or "CPUTot" not in fields:
        return {}
    row: sinfo.Row = {"name": fields["NodeName"]}
    if fields.get("State"):
        row["state"] = fields["State"]
    for name, (key, factor) in _NUMBERS.items():
        number = quantity.number(fields.get(name, ""))
        if number is not None:
            row[key] = number * factor
    return row

"""Files of other tools in, one format per entry: whatever is read becomes an `Imported` run.

A format is a module with the names of `Format`. A reader never guesses: what the file does not say is absent.
"""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from jobmeter.model.imported import Imported

HEAD_BYTES = 4096
"""How much of a file `sniff` gets to see."""


class Format(Protocol):
    """What a format module must define."""

    def sniff(self, head: bytes, name: str) -> float:
        """Say from 0 (not mine) to 1 (surely mine) whether a file is of this format."""

    def parse(self, path: Path) -> Iterable[Imported]:
        """Read a file, with the files that belong to it; raise UsageError where it cannot be one."""


ALL: dict[str, str] = {
    "dcgm": "jobmeter.formats.dcgm",
    "duct": "jobmeter.formats.duct",
    "intel_gpu_top": "jobmeter.formats.intel_gpu_top",
    "nextflow": "jobmeter.formats.nextflow",
    "rocm_smi": "jobmeter.formats.rocm_smi",
    "sacct": "jobmeter.formats.sacct",
    "scontrol": "jobmeter.formats.scontrol",
    "sdiag": "jobmeter.formats.sdiag",
    "seff": "jobmeter.formats.seff",
    "sinfo": "jobmeter.formats.sinfo",
    "slurm_json": "jobmeter.formats.slurm_json",
    "squeue": "jobmeter.formats.squeue",
    "tegrastats": "jobmeter.formats.tegrastats",
    "time_output": "jobmeter.formats.time_output",
}


def load(name: str) -> Format:
    """Import a format by its registry name."""
    module: Format = import_module(ALL[name])
    return module


def recognise(path: Path) -> str | None:
    """Name the format that claims a file most strongly, or None when no format does."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    claims = {name: load(name).sniff(head, path.name) for name in ALL}
    best = max(claims, key=lambda name: claims[name])
    return best if claims[best] > 0 else None

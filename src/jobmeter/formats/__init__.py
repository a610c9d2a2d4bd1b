"""Files of other tools in, one format per entry: whatever is read becomes an `Imported` run.

A format is a module with the names of `Format`. A reader never guesses: what the file does not say is absent.
"""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from jobmeter.model.imported import Imported

HEAD_BYTES = 4096
"""How much of a file `sniff` gets to see."""
_SURE = 0.3
"""A claim from here on needs no second look."""


class Format(Protocol):
    """What a format module must define."""

    def sniff(self, head: bytes, name: str) -> float:
        """Say from 0 (not mine) to 1 (surely mine) whether a file is of this format."""

    def parse(self, path: Path) -> Iterable[Imported]:
        """Read a file, with the files that belong to it; raise UsageError where it cannot be one."""


ALL: dict[str, str] = {
    "aitk_db": "jobmeter.formats.aitk_db",
    "aitk_loss": "jobmeter.formats.aitk_loss",
    "cloudbuild": "jobmeter.formats.cloudbuild",
    "codecarbon": "jobmeter.formats.codecarbon",
    "dcgm": "jobmeter.formats.dcgm",
    "docker_stats": "jobmeter.formats.docker_stats",
    "dstat": "jobmeter.formats.dstat",
    "duct": "jobmeter.formats.duct",
    "hf_trainer": "jobmeter.formats.hf_trainer",
    "htcondor": "jobmeter.formats.htcondor",
    "intel_gpu_top": "jobmeter.formats.intel_gpu_top",
    "iostat": "jobmeter.formats.iostat",
    "lightning_csv": "jobmeter.formats.lightning_csv",
    "log": "jobmeter.formats.log",
    "lsf": "jobmeter.formats.lsf",
    "mlflow": "jobmeter.formats.mlflow",
    "mlflow_db": "jobmeter.formats.mlflow_db",
    "nextflow": "jobmeter.formats.nextflow",
    "nvidia_smi_csv": "jobmeter.formats.nvidia_smi_csv",
    "nvidia_smi_dmon": "jobmeter.formats.nvidia_smi_dmon",
    "nvidia_smi_query": "jobmeter.formats.nvidia_smi_query",
    "nvidia_smi_table": "jobmeter.formats.nvidia_smi_table",
    "nvidia_smi_xml": "jobmeter.formats.nvidia_smi_xml",
    "pbs": "jobmeter.formats.pbs",
    "power_csv": "jobmeter.formats.power_csv",
    "progress_json": "jobmeter.formats.progress_json",
    "ps_table": "jobmeter.formats.ps_table",
    "rapl_csv": "jobmeter.formats.rapl_csv",
    "rocm_smi": "jobmeter.formats.rocm_smi",
    "sacct": "jobmeter.formats.sacct",
    "scontrol": "jobmeter.formats.scontrol",
    "scontrol_nodes": "jobmeter.formats.scontrol_nodes",
    "sdiag": "jobmeter.formats.sdiag",
    "seff": "jobmeter.formats.seff",
    "sge": "jobmeter.formats.sge",
    "sinfo": "jobmeter.formats.sinfo",
    "slurm_json": "jobmeter.formats.slurm_json",
    "squeue": "jobmeter.formats.squeue",
    "step_table": "jobmeter.formats.step_table",
    "sysstat": "jobmeter.formats.sysstat",
    "tegrastats": "jobmeter.formats.tegrastats",
    "tensorboard": "jobmeter.formats.tensorboard",
    "time_output": "jobmeter.formats.time_output",
    "ugro": "jobmeter.formats.ugro",
    "ultralytics": "jobmeter.formats.ultralytics",
    "vmstat": "jobmeter.formats.vmstat",
    "wandb": "jobmeter.formats.wandb",
}


def load(name: str) -> Format:
    """Import a format by its registry name."""
    module: Format = import_module(ALL[name])
    return module


def read(path: Path, name: str, *, is_named: bool) -> Iterable[Imported]:
    """Read a file; a format that a person named may take what it would not claim by itself."""
    module = load(name)
    parse: Callable[[Path], Iterable[Imported]] = module.parse
    return getattr(module, "parse_named", parse)(path) if is_named else parse(path)


def claims(path: Path, name: str) -> bool:
    """Tell whether a format takes a file for its own; a pipe, or what cannot be read, is nobody's."""
    if not os.path.isfile(path):  # pathlib raises in a folder that may not be entered
        return False
    try:
        return load(name).sniff(_head(path), path.name) > 0
    except OSError:
        return False


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def recognise(path: Path) -> str | None:
    """Name the format that claims a file most strongly, or None when no format does."""
    head = _head(path)
    strengths = {name: load(name).sniff(head, path.name) for name in ALL}
    best = max(strengths, key=lambda name: strengths[name])
    if strengths[best] < _SURE and b"\0" not in head and _holds_build_samples(path):
        return "cloudbuild"
    return best if strengths[best] > 0 else None


def _holds_build_samples(path: Path) -> bool:
    """Look through a whole text: the samples of a build stand at the end of its log."""
    from jobmeter.formats import cloudbuild

    return cloudbuild.found_in(path)

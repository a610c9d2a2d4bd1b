"""The workloads of a comparison: what each runs, and which of its numbers a tool is judged by."""

import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"


class Judged(Enum):
    """The number a tool must get right on a workload."""

    CPU = "CPU"
    MEMORY = "memory"
    WRITTEN = "bytes written"
    NOTHING = "start-up"


@dataclass(frozen=True, slots=True)
class Workload:
    """One job; `script` is empty for the plain command `true`."""

    name: str
    about: str
    script: tuple[str, ...]
    judged: Judged
    wait_for_children: bool = False

    def command(self, interpreter: str = sys.executable, folder: Path = WORKLOADS) -> list[str]:
        """Give the command line, with the step that joins the truth cgroup in front."""
        if not self.script:
            return ["/bin/true"]
        script, *options = self.script
        return ["/bin/sh", str(folder / "join.sh"), interpreter, str(folder / script), *options]


def _listed(*workloads: Workload) -> dict[str, Workload]:
    return {workload.name: workload for workload in workloads}


ALL: dict[str, Workload] = _listed(
    Workload("true", "start-up", (), Judged.NOTHING),
    Workload("w1", "1,500 processes of 5 to 20 ms", ("storm.py",), Judged.CPU),
    Workload("w2", "8 processes share 512 MiB by fork", ("share.py", "--by", "fork"), Judged.MEMORY),
    Workload("w2m", "8 processes share 512 MiB by MAP_SHARED", ("share.py", "--by", "map"), Judged.MEMORY),
    Workload("w3", "1.5 GiB for 150 ms", ("spike.py",), Judged.MEMORY),
    Workload(
        "w3b", "4 x 400 MiB at once", ("spike.py", "--processes", "4", "--size-mib", "400"), Judged.MEMORY
    ),
    Workload("w4", "2 busy threads", ("busy.py",), Judged.CPU),
    Workload("w4p", "2 busy processes", ("busy.py", "--by", "processes"), Judged.CPU),
    Workload("w5", "300 MB written, fsync", ("write.py",), Judged.WRITTEN),
    Workload("w6", "daemonised child", ("daemonise.py",), Judged.CPU),
    Workload(
        "w6b",
        "orphan outlives the command",
        ("daemonise.py", "--orphan", "--parent-seconds", "0", "--daemon-seconds", "2"),
        Judged.CPU,
        wait_for_children=True,
    ),
    Workload("w7", "200 idle processes for 10 s", ("idle.py",), Judged.CPU),
)

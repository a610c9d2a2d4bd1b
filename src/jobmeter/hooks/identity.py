"""Which run a process writes to, and which part of it the process is."""

import os

from jobmeter.model import ranks
from jobmeter.probes import jobids, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Identity:
    """Names and numbers that do not change while the run lasts."""

    __slots__ = ("first_step", "group", "job_id", "name", "place", "project", "run_id")

    def __init__(
        self,
        run_id: str,
        job_id: str,
        place: ranks.Place,
        *,
        named: "Mapping[str, str | None]",
        first_step: int = 0,
    ) -> None:
        self.run_id = run_id
        self.job_id = job_id
        self.place = place
        self.name = named.get("name")
        self.project = named.get("project")
        self.group = named.get("group")
        self.first_step = first_step

    @property
    def rank(self) -> int:
        """Which process of the job this is."""
        return self.place.rank

    @property
    def world_size(self) -> int:
        """How many processes the job has."""
        return self.place.world_size


def place(environ: "Mapping[str, str]") -> ranks.Place:
    """Find this process's rank; the only one of its job where no launcher says otherwise."""
    return ranks.place(environ) or ranks.Place(0, 1)


def label(here: ranks.Place) -> str:
    """Give the rank as file names carry it: nothing where there is one process only."""
    return str(here.rank) if here.world_size > 1 else ""


def launched_job_id(environ: "Mapping[str, str]", here: ranks.Place) -> str | None:
    """Name the job as its launcher does; None for a job of one process, which is named after its run."""
    if here.world_size < 2:
        return None
    return jobids.shared(environ, _parent())


def _parent() -> str:
    """Name the launcher that the processes of one host have in common; a pid alone comes back."""
    parent = os.getppid()
    stat = procfs.read_stat("/proc", parent)
    began = f"@{stat[5]}" if stat is not None else ""
    return f"{os.uname().nodename}-{parent}{began}"

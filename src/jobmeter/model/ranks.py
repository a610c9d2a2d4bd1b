"""Which part of a distributed job a process is, told by the variables its launcher gave it.

A batch script inside Slurm carries SLURM_PROCID=0 and the allocation's SLURM_NTASKS although it is one
process: Slurm's word counts only inside a step. Launchers nest, and the innermost speaks last: torchrun
inside a Slurm step sets RANK, which wins.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = frozenset(
    (
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "GROUP_RANK",
        "NODE_RANK",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_NODE_RANK",
        "PMI_RANK",
        "PMI_SIZE",
        "MPI_LOCALRANKID",
        "SLURM_STEP_ID",
        "SLURM_PROCID",
        "SLURM_STEP_NUM_TASKS",
        "SLURM_NTASKS",
        "SLURM_LOCALID",
        "SLURM_NODEID",
    )
)
"""Every variable that is asked here."""

_MARK = "SLURM_STEP_ID"
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", ""),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "", ""),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "", ""),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NODEID", _MARK),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID", _MARK),
)
"""Rank, size, rank on the node, node, and what must be set beside them; the innermost launcher first."""


class Place:
    """A rank among `world_size`; the place on its node where the launcher says it."""

    __slots__ = ("local_rank", "node_rank", "rank", "world_size")

    def __init__(
        self, rank: int, world_size: int, local_rank: int | None = None, node_rank: int | None = None
    ) -> None:
        self.rank = rank
        self.world_size = world_size
        self.local_rank = local_rank
        self.node_rank = node_rank


def place(environ: "Mapping[str, str]") -> Place | None:
    """Read a process's place from its environment; None where no launcher gave it one."""
    for rank_name, size_name, local_name, node_name, mark in _LAUNCHERS:
        rank, size = _number(environ, rank_name), _number(environ, size_name)
        if rank is None or size is None or rank >= size or (mark and mark not in environ):
            continue
        return Place(rank, size, _number(environ, local_name), _number(environ, node_name))
    return _lightning(environ)


def _lightning(environ: "Mapping[str, str]") -> Place | None:
    """Lightning names the node and the place on it; on the first node that is the rank."""
    size, local = _number(environ, "WORLD_SIZE"), _number(environ, "LOCAL_RANK")
    if size is None or local is None or _number(environ, "NODE_RANK") != 0 or local >= size:
        return None
    return Place(local, size, local, 0)


def _number(environ: "Mapping[str, str]", name: str) -> int | None:
    text = environ.get(name, "") if name else ""
    return int(text) if text.isascii() and text.isdigit() else None

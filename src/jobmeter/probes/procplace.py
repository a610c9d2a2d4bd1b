"""The rank and the role of processes, by what `/proc` shows of their environment and command line.

`/proc/PID/environ` is the environment a process was started with: a rank that a program sets itself later
is not seen. It is read once per program a process runs, and only of processes that outlived a sample, so
that a storm of short ones costs nothing.
"""

import os

from jobmeter.model import ranks, roles
from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

ENVIRON_BYTES = 1 << 18


def read_environ(proc: str, pid: int, names: "Collection[str]") -> dict[str, str]:
    """Read the named variables of a process; none where it is gone or not ours to read."""
    text = procfs.read_file(f"{proc}/{pid}/environ", ENVIRON_BYTES) or b""
    found: dict[str, str] = {}
    for entry in text.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if (decoded := os.fsdecode(name)) in names:
            found[decoded] = os.fsdecode(value)
    return found


class Placed:
    """What is known of one process while it runs one program."""

    __slots__ = ("known", "program", "rank", "world_size")

    def __init__(self, program: tuple[str, bytes], known: roles.Known, place: ranks.Place | None) -> None:
        self.program = program
        self.known = known
        self.rank = None if place is None else place.rank
        self.world_size = None if place is None else place.world_size


class Places:
    """Ranks and roles of the processes of one job."""

    __slots__ = ("_by_instance", "_proc")

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._by_instance: dict[str, Placed] = {}

    def known(self, instance: str, program: tuple[str, bytes]) -> Placed | None:
        """Give what is known of a process as long as it runs the same program."""
        placed = self._by_instance.get(instance)
        return placed if placed is not None and placed.program == program else None

    def put(self, instance: str, program: tuple[str, bytes], line: str, parent: Placed | None) -> Placed:
        """Place a process by its name, its command line, its environment and its parent."""
        role = roles.role(program[0], line, None if parent is None else parent.known)
        place = ranks.place(read_environ(self._proc, int(instance.partition("@")[0]), ranks.NAMES))
        placed = Placed(program, roles.Known(line, role), place)
        self._by_instance[instance] = placed
        return placed

    def forget(self, alive: "Collection[str]") -> None:
        """Drop what is known of processes that are gone."""
        self._by_instance = {name: placed for name, placed in self._by_instance.items() if name in alive}

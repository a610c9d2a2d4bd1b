"""What a process does in a training job: the loop itself, a worker that loads data for it, or neither.

Told by names and command lines alone, so only Python processes have a role. A worker is a fork of its parent
(same command line, nothing executed), a `spawn` of multiprocessing, or says so itself; what the training
starts beside it (compilers, trackers, `git`) is `other`, however many there are.
"""

MAIN = "main"
WORKER = "worker"
OTHER = "other"

_WORKER_NAME = "pt_data_worker"
_SPAWNED = "from multiprocessing.spawn import spawn_main"
_FORK_SERVER = "from multiprocessing.forkserver import"
_HELPERS = (
    "from multiprocessing.resource_tracker import",
    "from multiprocessing.semaphore_tracker import",
    "torch/_inductor/compile_worker",
)
_LAUNCHERS = (
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch/distributed/run.py",
    "accelerate launch",
    "accelerate-launch",
    "accelerate.commands.launch",
    "bin/deepspeed",
    "deepspeed.launcher",
    "horovodrun",
)


class Known:
    """What is known of the process that started another."""

    __slots__ = ("line", "role")

    def __init__(self, line: str, role: str | None) -> None:
        self.line = line
        self.role = role


def role(name: str, line: str, parent: Known | None) -> str | None:
    """Tell what a process does; None for programs other than Python."""
    if name.startswith(_WORKER_NAME):
        return WORKER
    if not _is_python(name, line):
        return None
    if _SPAWNED in line:
        return WORKER
    if any(mark in line for mark in _HELPERS):
        return OTHER  # their forks too: the compiler has a pool of its own
    if parent is not None and parent.line == line:
        # a fork: of the training, of a fork server, or of another worker
        return WORKER
    if _FORK_SERVER in line or any(mark in line for mark in _LAUNCHERS):
        return OTHER
    inside = parent is not None and parent.role in (MAIN, WORKER)
    return OTHER if inside else MAIN


def _is_python(name: str, line: str) -> bool:
    program = line.partition(" ")[0].rpartition("/")[2]
    return name.startswith(("python", "pt_main_thread")) or program.startswith("python")

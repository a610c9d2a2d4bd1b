"""Find the run this process is already part of: one of its ancestors is being recorded, or records itself.

Nothing is put into a job's environment, so the way up is the process tree: `jobmeter run` holds the
`run.jsonl` of its folder open, a training process that called `jobmeter.init()` its `sdk.jsonl`. In a container
the tree ends at its wall: there `JOBMETER_RUN` names the folder.
"""

import os

from jobmeter.probes import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_ANCESTORS = 64
_OPEN_FOR_WRITING = 0o200


def find(environ: "Mapping[str, str]", pid: int, proc: str = "/proc") -> str | None:
    """Name the folder of the run to join; None where this process is a run of its own."""
    named = environ.get("JOBMETER_RUN")
    if named and usable(named):
        return os.path.abspath(named)
    for ancestor in _ancestors(proc, pid):
        folder = _folder_of(proc, ancestor)
        if folder is not None:
            return folder
    return None


def usable(folder: str) -> bool:
    """Tell whether a folder is a run's, and ours to add to."""
    return os.path.exists(os.path.join(folder, "run.jsonl")) and os.access(folder, os.W_OK | os.X_OK)


def _ancestors(proc: str, pid: int) -> list[int]:
    found: list[int] = []
    for _ in range(_MOST_ANCESTORS):
        stat = procfs.read_stat(proc, pid)
        if stat is None or not stat[2]:
            break
        pid = stat[2]
        found.append(pid)
    return found


def _folder_of(proc: str, pid: int) -> str | None:
    """Look for the run folder that a process writes to."""
    descriptors = f"{proc}/{pid}/fd"
    try:
        names = os.listdir(descriptors)
    except OSError:
        return None  # it ended, or belongs to somebody else
    for name in names:
        try:
            target = os.readlink(f"{descriptors}/{name}")
            if not _is_record(target) or not os.lstat(f"{descriptors}/{name}").st_mode & _OPEN_FOR_WRITING:
                continue
        except OSError:
            continue  # closed between listing and reading
        folder = os.path.dirname(target)
        if usable(folder):
            return folder
    return None


def _is_record(path: str) -> bool:
    """Recognise `.../runs/YYYY-MM/<run id>/run.jsonl`, and `sdk*.jsonl` beside it."""
    parts = path.rsplit("/", 4)
    if len(parts) != 5 or parts[1] != "runs" or not parts[4].endswith(".jsonl"):
        return False
    return parts[4].startswith(("run.", "sdk."))

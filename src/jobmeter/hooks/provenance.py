"""Where a training run came from: commit, packages, command line, interpreter; cheap enough for every start.

Packages are read from the names of their metadata folders: asking `importlib.metadata` takes 59 ms.
"""

import os
import sys

from jobmeter.config import home, redaction
from jobmeter.probes import procfs
from jobmeter.recording import context, setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Record = dict[str, object]

_METADATA = (".dist-info", ".egg-info")


def gather() -> "Record":
    """Describe this process and its surroundings; what is not known is left out."""
    found: Record = {
        "pid": os.getpid(),
        "host": os.uname().nodename,
        "argv": setup.stored_command(list(sys.orig_argv)),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "packages": packages(sys.path),
        "environment": redaction.allowed_environment(os.environ),
        "git": context.git(home.working_directory()),
    }
    stat = procfs.read_stat("/proc", os.getpid())
    if stat is not None:
        found["start_ticks"] = stat[5]
    return {key: value for key, value in found.items() if value}


def packages(folders: "Iterable[str]") -> dict[str, str]:
    """Read names and versions of the installed packages; the first folder that has one wins, as for imports."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue  # a zip file, or a folder that is not there
        for name in names:
            if name.endswith(_METADATA):
                package, _, version = name[: -len(_METADATA[0])].partition("-")
                found.setdefault(package.lower().replace("_", "-"), version.partition("-")[0])
    return dict(sorted(found.items()))

"""Decide where runs are kept."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def working_directory() -> str:
    """Name the directory we are in; one that was deleted under us is `/`, and the job may still run."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def find_home(cwd: str, environ: "Mapping[str, str]", explicit: str | None) -> str:
    """Choose the home: `--home`, `JOBMETER_HOME`, a `.jobmeter/` upwards of `cwd`, the XDG data dir."""
    given = explicit or environ.get("JOBMETER_HOME")
    if given:
        return os.path.join(cwd, os.path.expanduser(given))
    found = project_folder(cwd)
    if found is not None:
        return found
    data = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "jobmeter")


def project_folder(cwd: str) -> str | None:
    """Find `.jobmeter/` in `cwd` or above it; another user's is not ours to trust."""
    folder = cwd
    while True:
        candidate = os.path.join(folder, ".jobmeter")
        if _trusted_directory(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _trusted_directory(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_mode & 0o170000 == 0o040000 and status.st_uid in (os.getuid(), 0)

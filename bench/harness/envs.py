"""Install jobmeter and its peers, each into an environment of its own below `bench/.envs`, at fixed versions.

An environment is reused while its pins have not changed. jobmeter itself is installed anew from the working
tree every time, as a user would have it: a plain install, not an editable one.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from harness import launch

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
ENVS = BENCH / ".envs"

PINS: dict[str, tuple[str, ...]] = {
    "aim": ("aim==3.29.1", "setuptools<81"),
    "con-duct": ("con-duct==0.23.0",),
    "mlflow": ("mlflow==3.17.2",),
    "procpath": (
        "procpath==1.15.1",
        "importlib-metadata==8.7.0",
        "jsonpyth==0.1.3",
        "pygal==3.0.5",
        "pyparsing==3.2.5",
        "zipp==3.23.0",
    ),
    "psrecord": ("psrecord==1.4", "psutil==7.2.2"),
    "resource-tracker": ("resource-tracker==0.5.0",),
    "tensorboardX": ("tensorboardX==2.6.5", "tensorboard==2.21.0", "setuptools<81"),
    "trackio": ("trackio==0.43.0",),
    "wandb": ("wandb==0.31.0",),
}


class InstallError(Exception):
    """A peer could not be installed; carries what the installer said."""


def peer(name: str) -> Path:
    """Give the `bin` folder of a peer's environment, made if it is missing or has other versions."""
    folder = ENVS / name
    stamp = folder / "pins.txt"
    wanted = "\n".join((*PINS[name], sys.version))
    if not stamp.exists() or stamp.read_text() != wanted:
        _make(folder)
        _pip(folder, *PINS[name])
        stamp.write_text(wanted)
    return folder / "bin"


@cache
def jobmeter() -> Path:
    """Give the `bin` folder of an environment with this working tree's jobmeter installed."""
    folder = ENVS / "jobmeter"
    stamp = folder / "pins.txt"
    if not stamp.exists() or stamp.read_text() != sys.version:
        _make(folder)
        stamp.write_text(sys.version)
    # recording needs the standard library only, so nothing else is installed beside it
    _pip(folder, "--no-deps", "--force-reinstall", str(ROOT))
    return folder / "bin"


@cache
def jobmeter_whole() -> Path:
    """Give the `bin` folder of an environment with this working tree's jobmeter and all it depends on."""
    folder = ENVS / "jobmeter-whole"
    stamp = folder / "pins.txt"
    locked = ROOT / "requirements" / "run.txt"
    wanted = sys.version + locked.read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        _make(folder)
        _pip(folder, "-r", str(locked))
        stamp.write_text(wanted)
    _pip(folder, "--no-deps", "--force-reinstall", str(ROOT))
    return folder / "bin"


def gnu_time() -> str:
    """Give the path of GNU time, installed from the distribution if it is missing."""
    path = shutil.which("time")
    if path is None:
        _call("apt-get", "install", "-y", "-q", "time")
        path = shutil.which("time")
    if path is None:
        raise InstallError("GNU time is missing and could not be installed: apt-get install time")
    return path


def unprivileged_interpreter() -> str:
    """Find a Python that `nobody` may run: this one if not below a private folder, else the system's."""
    candidates = [os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"]
    for candidate in candidates:
        if _runs_as_nobody(candidate):
            return candidate
    raise InstallError(f"nobody can run none of {', '.join(candidates)} (Python 3.11 or later is needed)")


def unprivileged_copy(folder: Path) -> tuple[Path, Path]:
    """Copy the jobmeter package and the workloads to where `nobody` may read them."""
    package = folder / "package"
    shutil.copytree(
        ROOT / "src" / "jobmeter", package / "jobmeter", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "scripts" / "jobmeter", package / "jobmeter-script")
    workloads = folder / "workloads"
    shutil.copytree(BENCH / "workloads", workloads, ignore=shutil.ignore_patterns("__pycache__"))
    interpreter = unprivileged_interpreter()
    # compiled now: nobody could not keep the result, and would pay for it at every start
    _call(interpreter, "-m", "compileall", "-q", str(package), str(workloads))
    _call("chmod", "-R", "a+rX", str(folder))
    return package, workloads


def _runs_as_nobody(interpreter: str) -> bool:
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(launch.NOBODY)
            os.setuid(launch.NOBODY)
            check = "import sys, select, ctypes; sys.exit(sys.version_info < (3, 11))"
            os.execv(interpreter, [interpreter, "-c", check])  # noqa: S606  # no shell is wanted
        finally:
            os._exit(98)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _call(sys.executable, "-m", "venv", str(folder))


def _pip(folder: Path, *arguments: str) -> None:
    _call(
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        *arguments,
    )


def _call(*argv: str) -> None:
    print("bench:", " ".join(argv[:9]), file=sys.stderr)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")

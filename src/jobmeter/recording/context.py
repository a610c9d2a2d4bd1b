"""What was true when the job began: host, user, limits, commit, allowed environment.

Worth knowing, but not worth delaying the start for: gathered while the job runs.
"""

import os

from jobmeter.probes import procfs
from jobmeter.runfolder import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmeter.probes.cgroupfs import Places
    from jobmeter.probes.paths import Paths
    from jobmeter.recording.accounts import Accounts
    from jobmeter.recording.capture import Plan as Outputs
    from jobmeter.recording.clock import Clock
    from jobmeter.recording.job import Job
    from jobmeter.recording.selection import Selection
    from jobmeter.recording.setup import Plan

_SLURM_MEGABYTE = 1 << 20
_NOWHERE = "refs/heads/.invalid"
"""What HEAD names where references are kept in tables (`reftable`), which only git reads."""


def build(
    plan: "Plan", job: "Job", outputs: "Outputs", chosen: "Selection | Accounts", clock: "Clock"
) -> dict[str, object]:
    """Gather the context of a run."""
    from jobmeter.config import redaction

    own = job.own_cgroup
    places = None if own is None else own.outer
    missing = dict(chosen.missing)
    if plan.no_own_cgroup:
        missing["own_cgroup"] = plan.no_own_cgroup
    for stream in outputs.uncaptured:
        missing[stream] = "not captured"
    _follow_training_log(plan, outputs)
    cwd = plan.start.get("cwd")
    commit = git(str(cwd)) if cwd else None
    return {
        "type": "context",
        "timestamp": writer.timestamp(clock.wall()),
        "pid": job.pid,
        "host": host(plan.paths),
        "user": user(),
        "limits": limits(plan.paths, os.environ, places),
        **({"git": commit} if commit else {}),
        "environment": redaction.allowed_environment(os.environ),
        "options": _options(plan),
        **_training(plan),
        "outputs": outputs.records(),
        "measurements": [definition.as_record() for definition in chosen.definitions.values()],
        "provenance": {
            "selected": sorted(chosen.definitions),
            "missing": missing,
            **({"own_cgroup": list(own.directories)} if own is not None else {}),
        },
    }


def _options(plan: "Plan") -> dict[str, object]:
    names = (
        "capture",
        "energy_price",
        "gpus",
        "measurements",
        "on_memory",
        "own_cgroup",
        "pty",
        "timeout",
        "wait_for_children",
    )
    return {name: value for name in names if (value := getattr(plan.options, name)) is not None}


def _training(plan: "Plan") -> dict[str, object]:
    """Keep the config of an ai-toolkit job: analysis says where in it to change what."""
    from jobmeter.config import redaction

    wishes = plan.options.aitk
    if wishes is None:
        return {}
    return {
        "config": redaction.redact_tree(wishes.config),
        "config_path": wishes.path,
        "monitoring": wishes.monitoring,
    }


def _follow_training_log(plan: "Plan", outputs: "Outputs") -> None:
    """Follow the log that ai-toolkit writes itself, where nothing else of its output is kept."""
    from jobmeter.recording import capture

    wishes = plan.options.aitk
    if wishes is None or wishes.log is None or "stdout" not in outputs.uncaptured:
        return
    path = os.path.join(str(plan.start.get("cwd", "")), wishes.log)
    outputs.inherited.append(capture.Followed("log", path))


def host(paths: "Paths") -> dict[str, object]:
    """Describe the machine."""
    system = os.uname()
    facts: dict[str, object] = {
        "hostname": system.nodename,
        "system": system.sysname,
        "release": system.release,
        "machine": system.machine,
        "cpus": os.cpu_count() or 0,
    }
    memory = host_memory(paths)
    if memory is not None:
        facts["memory_bytes"] = memory
    distribution = _distribution()
    if distribution:
        facts["distribution"] = distribution
    return facts


def host_memory(paths: "Paths") -> int | None:
    """Read how much memory the machine has."""
    text = procfs.read_file(f"{paths.proc}/meminfo") or b""
    words = text.partition(b"\n")[0].split()
    if len(words) >= 2 and words[0] == b"MemTotal:" and words[1].isdigit():
        return int(words[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _distribution() -> str:
    for line in (procfs.read_file("/etc/os-release") or b"").splitlines():
        if line.startswith(b"PRETTY_NAME="):
            return line.partition(b"=")[2].strip(b"\"'").decode("utf-8", "replace")
    return ""


def user() -> dict[str, object]:
    """Name who runs the job; a uid without a name stays a number."""
    uid = os.getuid()
    # the local file answers at once; the name service may have to load libraries and ask a server
    for line in (procfs.read_file("/etc/passwd", 1 << 16) or b"").splitlines():
        fields = line.split(b":", 3)
        if len(fields) == 4 and fields[2] == str(uid).encode():
            return {"uid": uid, "name": fields[0].decode("utf-8", "replace")}
    import pwd

    try:
        return {"uid": uid, "name": pwd.getpwuid(uid).pw_name}
    except KeyError:
        return {"uid": uid}


def limits(paths: "Paths", environ: "Mapping[str, str]", places: "Places | None" = None) -> dict[str, object]:
    """Find the tightest of what cgroup, scheduler, affinity and machine allow."""
    from jobmeter.probes import cgroupfs

    places = cgroupfs.locate(paths) if places is None else places
    memory = _tightest(
        cgroup=cgroupfs.memory_limit(places), slurm=_slurm_memory(environ), host=host_memory(paths)
    )
    cpus = _tightest(
        cgroup=cgroupfs.cpu_quota(places),
        slurm=_number(environ.get("SLURM_CPUS_PER_TASK")),
        affinity=_affinity(),
    )
    found: dict[str, object] = {}
    if memory is not None:
        found["memory_bytes"], found["memory_source"] = int(memory[0]), memory[1]
    if cpus is not None:
        found["cpus"], found["cpus_source"] = cpus
    return found


def _tightest(**limits: float | None) -> tuple[float, str] | None:
    known = [(limit, source) for source, limit in limits.items() if limit]
    return min(known, default=None)


def _affinity() -> float | None:
    if hasattr(os, "sched_getaffinity"):
        return float(len(os.sched_getaffinity(0)))
    return float(os.cpu_count() or 0) or None


def _slurm_memory(environ: "Mapping[str, str]") -> float | None:
    per_node = _number(environ.get("SLURM_MEM_PER_NODE"))
    per_cpu = _number(environ.get("SLURM_MEM_PER_CPU"))
    cpus = _number(environ.get("SLURM_CPUS_ON_NODE"))
    if per_node:
        return per_node * _SLURM_MEGABYTE
    return per_cpu * cpus * _SLURM_MEGABYTE if per_cpu and cpus else None


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None


def git(cwd: str) -> dict[str, object] | None:
    """Read the commit of the working tree, by files alone: starting git would cost more than the job may."""
    folder = cwd
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    directory = _git_directory(os.path.join(folder, ".git"))
    head = _text(os.path.join(directory, "HEAD"))
    if not head.startswith("ref: "):
        return {"commit": head} if head else None
    reference = head[5:]
    if reference == _NOWHERE:
        return None
    common = os.path.join(directory, _text(os.path.join(directory, "commondir")) or ".")
    commit = _text(os.path.join(directory, reference)) or _text(os.path.join(common, reference))
    commit = commit or _packed(common, reference)
    return {"branch": reference.removeprefix("refs/heads/"), **({"commit": commit} if commit else {})}


def _git_directory(path: str) -> str:
    """Follow the file that a worktree or submodule has instead of a folder."""
    pointer = _text(path) if os.path.isfile(path) else ""
    if not pointer.startswith("gitdir: "):
        return path
    return os.path.join(os.path.dirname(path), pointer[8:])


def _packed(directory: str, reference: str) -> str:
    packed = procfs.read_file(os.path.join(directory, "packed-refs"), 1 << 20) or b""
    for line in packed.splitlines():
        if line.endswith(b" " + os.fsencode(reference)):
            return line.partition(b" ")[0].decode("ascii", "replace")
    return ""


def _text(path: str) -> str:
    return (procfs.read_file(path) or b"").decode("utf-8", "replace").strip()

"""Advice as lines to paste where a job is described: `sbatch`, Kubernetes, Nextflow, `docker run`.

Units as each of them reads them: Slurm's M and docker's m are 2^20 bytes, so are Nextflow's MB, and
Kubernetes' Mi. Times are whole minutes, except where seconds are asked for.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from jobmeter.model import text
from jobmeter.model.sizing import JobSizing, Resource

_MIB = 1 << 20
_GIB_IN_MIB = 1024
_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def slurm(jobs: Sequence[JobSizing]) -> list[str]:
    """Write `#SBATCH` lines for each job."""
    lines: list[str] = []
    for job in jobs:
        found = list(_slurm_lines(job))
        lines += [_comment(job), *found] if found and len(jobs) > 1 else found
    return lines


def _slurm_lines(job: JobSizing) -> Iterator[str]:
    memory, cpus, seconds, gpus = _amounts(job)
    if memory is not None:
        yield f"#SBATCH --mem={memory}M"
    if cpus is not None:
        yield f"#SBATCH --cpus-per-task={cpus}"
    if seconds is not None:
        yield f"#SBATCH --time={_slurm_time(seconds)}"
    if gpus:
        yield f"#SBATCH --gres=gpu:{gpus}"


def _slurm_time(seconds: int) -> str:
    days, rest = divmod(seconds, _DAY)
    clock = f"{rest // _HOUR:02d}:{rest % _HOUR // _MINUTE:02d}:00"
    return f"{days}-{clock}" if days else clock


def kubernetes(jobs: Sequence[JobSizing]) -> list[str]:
    """Write the `resources` of a container for each job."""
    lines: list[str] = []
    for job in jobs:
        memory, cpus, seconds, gpus = _amounts(job)
        requests = [f"    memory: {memory}Mi"] if memory is not None else []
        limits = list(requests)
        if cpus is not None:
            # a limit on CPU only throttles: a request is enough
            requests.append(f'    cpu: "{cpus}"')
        if gpus:
            limits.append(f"    nvidia.com/gpu: {gpus}")
        if not requests and not limits:
            continue
        lines += [_comment(job)] if len(jobs) > 1 else []
        lines.append("resources:")
        lines += ["  requests:", *requests] if requests else []
        lines += ["  limits:", *limits] if limits else []
        if seconds is not None:
            lines.append(f"# in the spec of the Job: activeDeadlineSeconds: {seconds}")
    return lines


def nextflow(jobs: Sequence[JobSizing]) -> list[str]:
    """Write a `process` scope; a task that fails for memory or time is repeated with what is asked for now."""
    blocks = [line for job in jobs for line in _nextflow_block(job)]
    return ["process {", *blocks, "}"] if blocks else []


def _nextflow_block(job: JobSizing) -> Iterator[str]:
    memory, cpus, seconds, gpus = _amounts(job)
    if memory is None and cpus is None and seconds is None:
        return
    name = job.job.replace("\\", "\\\\").replace("'", "\\'")
    yield f"    withName: '{text.clean(name)}' {{"
    if cpus is not None:
        yield f"        cpus = {cpus}"
    if memory is not None:
        yield f"        memory = {_first_then(f'{memory}.MB', _asked_memory(job))}"
    if seconds is not None:
        yield f"        time = {_first_then(f'{seconds // _MINUTE}.min', _asked_time(job))}"
    if gpus:
        yield f"        accelerator = {gpus}"
    yield "        errorStrategy = { task.exitStatus in 137..140 ? 'retry' : 'finish' }"
    yield "        maxRetries = 2"
    yield "    }"


def _first_then(advised: str, asked: str | None) -> str:
    if asked is None:
        return f"{{ {advised} * task.attempt }}"
    return advised if asked == advised else f"{{ task.attempt == 1 ? {advised} : {asked} }}"


def _asked_memory(job: JobSizing) -> str | None:
    one = job.advice[Resource.MEMORY]
    if one.asked is None or one.asked < one.advised:
        return None
    mebibytes = math.ceil(one.asked / _MIB)
    advised = math.ceil(one.advised / _MIB)
    whole = mebibytes % _GIB_IN_MIB == 0 and mebibytes != advised
    return f"{mebibytes // _GIB_IN_MIB}.GB" if whole else f"{mebibytes}.MB"


def _asked_time(job: JobSizing) -> str | None:
    one = job.advice[Resource.TIME]
    if one.asked is None or one.asked < one.advised:
        return None
    return f"{math.ceil(one.asked / _MINUTE)}.min"


def docker(jobs: Sequence[JobSizing]) -> list[str]:
    """Write the options of `docker run` for each job; docker knows no time limit."""
    lines: list[str] = []
    for job in jobs:
        memory, cpus, _, gpus = _amounts(job)
        options = [f"--memory={memory}m"] if memory is not None else []
        options += [f"--cpus={cpus}"] if cpus is not None else []
        options += [f"--gpus={gpus}"] if gpus else []
        if options:
            lines += [_comment(job)] if len(jobs) > 1 else []
            lines.append(" ".join(["docker run", *options]))
    return lines


def _amounts(job: JobSizing) -> tuple[int | None, int | None, int | None, int | None]:
    """Give mebibytes, cores, seconds and GPUs, whole numbers all of them."""
    units = {Resource.MEMORY: _MIB, Resource.CPUS: 1, Resource.TIME: _MINUTE, Resource.GPUS: 1}
    memory, cpus, minutes, gpus = (
        math.ceil(job.advice[resource].advised / unit) if resource in job.advice else None
        for resource, unit in units.items()
    )
    return memory, cpus, None if minutes is None else minutes * _MINUTE, gpus


def _comment(job: JobSizing) -> str:
    return f"# {text.clean(job.job)}"


TARGETS: dict[str, Callable[[Sequence[JobSizing]], list[str]]] = {
    "docker": docker,
    "k8s": kubernetes,
    "nextflow": nextflow,
    "slurm": slurm,
}
"""By the word that follows `--for`."""

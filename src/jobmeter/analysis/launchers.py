"""Programs that only start another one: where in a command line the job itself begins.

An option that is not known to stand alone takes the next word with it: a launcher's options mostly have
values (`--nproc_per_node 8`), and a value taken for the job would make every run a job of its own.
"""

import re
from dataclasses import dataclass, replace

Words = tuple[str, ...]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
JOINED = re.compile(r"-[A-Za-z]?\d\S*")
"""`-n4`, `-10`: an option that carries its value with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """How to get past one of them."""

    alone: frozenset[str] = frozenset()
    """Options without a value."""
    words: int = 0
    """Words of its own before the job: the seconds of `timeout`, the image of `apptainer exec`."""
    command: str | None = None
    """It launches only as `accelerate launch`, `conda run`."""
    script: bool = False
    """What follows is a Python file, not a program."""
    module: bool = False
    """`-m` and `--module` say that a Python module follows."""


def _alone(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCRIPT = Launcher(
    script=True,
    module=True,
    alone=_alone(
        "--standalone --no-python --no_python --run-path --run_path -m --module --no_local_rank --use_env"
    ),
)
_CONTAINER = Launcher(
    command="run",
    words=1,
    alone=_alone(
        "--rm -i -t -it -ti -d --detach --init --privileged --read-only --tty --interactive --no-healthcheck"
    ),
)
_MPI = Launcher(
    alone=_alone(
        "--allow-run-as-root --oversubscribe -oversubscribe --tag-output -tag-output --verbose -v -q --quiet"
        " --bind-to-none --report-bindings -report-bindings --display-map -l -prepend-rank"
    )
)
LAUNCHERS: dict[str, Launcher] = {
    "accelerate": Launcher(
        command="launch",
        script=True,
        module=True,
        alone=_alone(
            "--cpu --multi_gpu --tpu --use_deepspeed --use_fsdp --use_megatron_lm -m --module --no_python --debug"
            " --quiet -q --same_network --standalone"
        ),
    ),
    "apptainer": Launcher(
        command="exec",
        words=1,
        alone=_alone("--nv --rocm --cleanenv -e --contain -c --containall -C --writable-tmpfs --no-home"),
    ),
    "conda": Launcher(
        command="run", alone=_alone("--no-capture-output --live-stream -v --verbose --no-capture")
    ),
    "coverage": Launcher(
        command="run",
        script=True,
        module=True,
        alone=_alone("-a --append --branch -p --parallel-mode -m --module -L --pylib --timid"),
    ),
    "deepspeed": Launcher(
        script=True, module=True, alone=_alone("--module --no_python --no_local_rank --force_multi")
    ),
    "docker": _CONTAINER,
    "env": Launcher(alone=_alone("-i --ignore-environment -0 --null -v --debug")),
    "horovodrun": Launcher(alone=_alone("--verbose --gloo --mpi --disable-cache")),
    "ionice": Launcher(alone=_alone("-t --ignore")),
    "jobmeter": Launcher(command="run", alone=_alone("-q --quiet --wait-for-children --build-stats")),
    "micromamba": Launcher(command="run"),
    "mpiexec": _MPI,
    "mpirun": _MPI,
    "nextflow": Launcher(command="run", alone=_alone("-resume -stub -stub-run -latest")),
    "nice": Launcher(),
    "nohup": Launcher(),
    "numactl": Launcher(alone=_alone("--localalloc -l --show --hardware --all -a")),
    "pipenv": Launcher(command="run"),
    "podman": _CONTAINER,
    "poetry": Launcher(command="run"),
    "prun": _MPI,
    "sbatch": Launcher(
        alone=_alone(
            "--parsable --exclusive --hold -H --requeue --no-requeue --wait -W --quiet -Q --test-only"
        )
    ),
    "setsid": Launcher(alone=_alone("-c --ctty -f --fork -w --wait")),
    "singularity": Launcher(
        command="exec",
        words=1,
        alone=_alone("--nv --rocm --cleanenv -e --contain -c --containall -C --writable-tmpfs --no-home"),
    ),
    "srun": Launcher(
        alone=_alone(
            "--exclusive --pty --label -l --unbuffered -u --quiet -Q --verbose -v --overlap --exact -O --overcommit"
            " --no-kill -k -K -s --oversubscribe --contiguous --spread-job -W --preserve-env -E --multi-prog"
        )
    ),
    "stdbuf": Launcher(alone=_alone("-i0 -iL -o0 -oL -e0 -eL")),
    "sudo": Launcher(alone=_alone("-E --preserve-env -H -n -S -b -i -s")),
    "taskset": Launcher(words=1, alone=_alone("-a --all-tasks")),
    "time": Launcher(alone=_alone("-v --verbose -p --portability -a --append -q --quiet -l")),
    "timeout": Launcher(words=1, alone=_alone("--foreground --preserve-status -v --verbose")),
    "torchrun": _SCRIPT,
    "unbuffer": Launcher(),
    "uv": Launcher(
        command="run",
        script=True,
        alone=_alone("--frozen --no-sync --locked --isolated --no-project -q -v --offline"),
    ),
    "xvfb-run": Launcher(alone=_alone("-a --auto-servernum -l --listen-tcp")),
}
MODULES: dict[str, Launcher] = {
    "accelerate.commands.launch": replace(LAUNCHERS["accelerate"], command=None),
    "coverage": LAUNCHERS["coverage"],
    "torch.distributed.launch": _SCRIPT,
    "torch.distributed.run": _SCRIPT,
}
"""Python modules that launch: `python -m torch.distributed.run train.py`."""


def without_assignments(words: Words) -> Words:
    """Drop `NAME=value` in front of a command."""
    place = 0
    while place < len(words) and _ASSIGNMENT.match(words[place]):
        place += 1
    return words[place:]


def launched(launcher: Launcher, arguments: Words) -> tuple[Words, bool] | None:
    """Find what a launcher starts and whether that is a Python module; None where it starts nothing."""
    if launcher.command is None:
        return _past_options(launcher, arguments)
    if arguments[:1] != (launcher.command,):
        return None
    return _past_options(launcher, arguments[1:])


def _past_options(launcher: Launcher, arguments: Words) -> tuple[Words, bool] | None:
    """Get past a launcher's options and its own words."""
    place, is_module = 0, False
    while place < len(arguments) and arguments[place].startswith("-"):
        option = arguments[place]
        place += 1
        if option == "--":
            break
        is_module = is_module or (launcher.module and option in ("-m", "--module"))
        place += _takes_next(launcher, option)
    # an image without a command is the job itself
    rest = arguments[place + launcher.words :] or arguments[place:]
    return (rest, is_module) if rest else None


def _takes_next(launcher: Launcher, option: str) -> bool:
    return option not in launcher.alone and "=" not in option and JOINED.fullmatch(option) is None

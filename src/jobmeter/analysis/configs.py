"""Where a job's settings stand, whatever framework it is written in: its config, its command line, its request.

One quantity has many names (`num_workers`, `dataloader_num_workers`, `data.workers`): they are asked for by the
first of them. A path is written as people write it: `config.process[0].datasets[0].num_workers` in a file,
`--num_workers` on a command line, `data.num_workers` as an override, `--mem` of a scheduler.

What can mislead: a config that the script itself told is what it ran with, not the file one would edit; a name is
taken for what it mostly means.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from jobmeter.model.run import Run

NAMES: dict[str, tuple[str, ...]] = {
    "batch_size": (
        *("per_device_train_batch_size", "train_micro_batch_size_per_gpu", "micro_batch_size"),
        *("train_batch_size", "batch_size", "max_batch_size", "batch_size_per_gpu", "imgs_per_batch"),
        *("samples_per_gpu", "batch", "bs", "bsz"),
    ),
    "ema": ("use_ema", "ema", "with_ema"),
    "gradient_checkpointing": (
        *("gradient_checkpointing", "activation_checkpointing", "grad_checkpointing", "use_checkpoint"),
        *("enable_gradient_checkpointing", "recompute_activations"),
    ),
    "learning_rate": ("learning_rate", "lr", "base_lr", "max_lr", "peak_lr"),
    "num_workers": (
        *("dataloader_num_workers", "num_workers", "num_data_workers", "n_workers", "data_workers"),
        *("workers_per_gpu", "dataloader_workers", "workers", "max_data_loader_n_workers"),
    ),
    "persistent_workers": ("dataloader_persistent_workers", "persistent_workers"),
    "pin_memory": ("dataloader_pin_memory", "pin_memory", "pin_mem"),
    "prefetch_factor": ("dataloader_prefetch_factor", "prefetch_factor"),
    "qtype": ("qtype",),
    "quantise": ("quantize", "load_in_8bit", "load_in_4bit", "quantization"),
    "resolution": ("resolution", "image_size", "img_size", "imgsz", "input_size", "crop_size"),
    "sequence_length": ("max_seq_length", "max_length", "seq_length", "block_size", "model_max_length"),
}
"""By what we call it: the names it has, the most telling first."""

_AI_TOOLKIT: dict[str, tuple[str, object]] = {
    "batch_size": ("train.batch_size", 1),
    "ema": ("train.ema_config.use_ema", False),
    "gradient_checkpointing": ("train.gradient_checkpointing", True),
    "num_workers": ("datasets[0].num_workers", 2),
    "quantise": ("model.quantize", False),
    "resolution": ("datasets[0].resolution", 512),
}
"""What ai-toolkit takes where its config says nothing, and where to say it, under `config.process[0]`."""

_APART = frozenset(
    ("model_config", "peft_config", "sample", "eval", "evaluation", "val", "valid", "test", "meta")
)
"""Parts of a config that speak of something else than the training."""
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w./@]*)=(.*)", re.DOTALL)
_WORDS: dict[str, object] = {"true": True, "false": False, "none": None, "null": None}
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a job."""

    path: str
    value: object

    @property
    def number(self) -> float | None:
        """Give its value where it is a number."""
        plain = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return float(self.value) if plain and abs(self.value) < 1e15 else None  # type: ignore[arg-type]

    @property
    def count(self) -> int | None:
        """Give its value where it is a whole number."""
        number = self.number
        return int(number) if number is not None and number == int(number) else None


def find(run: Run, name: str) -> Setting | None:
    """Look a setting up: in the config file of the job, on its command line, in what the script told."""
    told = run.context.get("config")
    from_file = "config_path" in run.context
    in_config, on_command_line = _in_tree(told, name), _on_command_line(run.command, name)
    return (in_config or on_command_line) if from_file else (on_command_line or in_config)


def values_of(run: Run, name: str) -> list[object]:
    """Give the value of a setting under every name it has; two of them may say different things."""
    in_config = [
        setting.value for _, key, setting in _leaves(run.context.get("config"), "", 0) if key in NAMES[name]
    ]
    on_command_line = _on_command_line(run.command, name)
    return [*in_config, *([] if on_command_line is None else [on_command_line.value])]


def canonical(path: str) -> str | None:
    """Tell which setting a path or an option leads to; None for one that is not known."""
    last = re.split(r"[./@]", path.lstrip("-+"))[-1].replace("-", "_").lower()
    return next((ours for ours, names in NAMES.items() if last in names), None)


def value_of(run: Run, name: str) -> object:
    """Give the value a setting had, as the script itself told it where it did; None where it is not known."""
    found = _in_tree(run.context.get("config"), name) or _on_command_line(run.command, name)
    return None if found is None else found.value


def _in_tree(tree: object, name: str) -> Setting | None:
    found = written(tree, name)
    if found is None and name in _AI_TOOLKIT and _is_ai_toolkit(tree):
        path, value = _AI_TOOLKIT[name]
        return Setting(f"config.process[0].{path}", value)
    return found


def _is_ai_toolkit(tree: object) -> bool:
    body = tree.get("config") if isinstance(tree, Mapping) else None
    processes = body.get("process") if isinstance(body, Mapping) else None
    return isinstance(processes, list) and bool(processes) and isinstance(processes[0], Mapping)


def written(tree: object, name: str) -> Setting | None:
    """Look a setting up in a config as it stands there, without what a framework takes unasked."""
    leaves = sorted(_leaves(tree, "", 0), key=lambda leaf: leaf[0])
    for alias in NAMES[name]:
        for _, key, setting in leaves:
            if key == alias and not isinstance(setting.value, Mapping):
                return setting
    return None


def _leaves(tree: object, path: str, depth: int) -> Iterator[tuple[int, str, Setting]]:
    """Go through every named value, with how deep it stands."""
    if depth > _DEEPEST:
        return
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if not isinstance(key, str) or key in _APART:
                continue
            below = f"{path}.{key}" if path else key
            yield depth, key.lower(), Setting(below, value)
            yield from _leaves(value, below, depth + 1)
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from _leaves(value, f"{path}[{place}]", depth + 1)


def _on_command_line(command: Sequence[str], name: str) -> Setting | None:
    for place, word in enumerate(command):
        option, override = _OPTION.fullmatch(word), _OVERRIDE.fullmatch(word)
        if option is not None and _is_called(option[1], name):
            return Setting(word.partition("=")[0], _option_value(option[2], command[place + 1 : place + 2]))
        if option is None and override is not None and _is_called(override[1], name):
            return Setting(override[1], _parsed(override[2]))
    return None


def _is_called(given: str, name: str) -> bool:
    return canonical(given) == name


def _option_value(joined: str | None, following: Sequence[str]) -> object:
    if joined is not None:
        return _parsed(joined)
    # an option without a value is a switch
    return _parsed(following[0]) if following and not following[0].startswith("--") else True


def _parsed(text: str) -> object:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return int(text)
    except ValueError:
        return _fraction(text)


def _fraction(text: str) -> object:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if abs(number) < float("inf") else text


class Asked(Enum):
    """What one asks a scheduler for; the value is Slurm's option."""

    MEMORY = "--mem"
    CPUS = "--cpus-per-task"
    TIME = "--time"
    GPUS = "--gres"


def request(run: Run, asked: Asked) -> Setting | None:
    """Find what the job was given because somebody asked for it: bytes, cores or seconds; never the whole machine."""
    match asked:
        case Asked.MEMORY:
            amount, source = run.limits.memory_bytes, _member(run, "limits", "memory_source")
            own = source != "host" and (source is not None or amount != _member(run, "host", "memory_bytes"))
            return Setting(_option(run, asked), amount) if amount and own else None
        case Asked.CPUS:
            cpus = run.limits.cpus
            given = _member(run, "limits", "cpus_source") in ("cgroup", "slurm")
            given = given or _member(run, "environment", "SLURM_CPUS_PER_TASK") is not None
            own = given or cpus != _member(run, "host", "cpus")
            return Setting(_option(run, asked), cpus) if cpus and own else None
        case Asked.TIME:
            return _time_limit(run)
        case Asked.GPUS:
            gpus = _number(_member(run, "slurm", "gpus"))
            return Setting(_option(run, asked), gpus) if gpus else None
        case _:
            assert_never(asked)


def _option(run: Run, asked: Asked) -> str:
    """Name the option by who was asked: Slurm, or whoever started a container."""
    if is_slurm(run):
        return asked.value
    return {Asked.MEMORY: "--memory", Asked.CPUS: "--cpus"}.get(asked, asked.value)


def is_slurm(run: Run) -> bool:
    """Tell whether Slurm started the job."""
    return "slurm" in run.context or _member(run, "environment", "SLURM_JOB_ID") is not None


def _time_limit(run: Run) -> Setting | None:
    begin, end = (
        _number(_member(run, "environment", name)) for name in ("SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME")
    )
    told = _number(_member(run, "slurm", "time_limit_seconds"))
    if begin is not None and end is not None and end > begin:
        told = end - begin
    if told:
        return Setting(Asked.TIME.value, told)
    given = _number(_member(run, "options", "timeout"))
    return Setting("--timeout", given) if given else None


def _member(run: Run, part: str, name: str) -> object:
    found = run.context.get(part)
    return found.get(name) if isinstance(found, Mapping) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if 0 <= value < 1e15 else None
    return float(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value) else None

"""What the metrics of training tools mean: one table from the names they use to the quantities we speak of.

A step keeps the names its source gave. Whoever shows, compares or analyses asks here. What can mislead: the
same word is milliseconds in one tool and seconds in another, so a name is looked up with the unit it was
written with (`elapsed time per iteration (ms)`, `time_ms`), and `in_base_units` scales it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

LOSS = "loss"
EVAL_LOSS = "eval_loss"
LR = "lr"
GRAD_NORM = "grad_norm"
EPOCH = "epoch"
STEP_SECONDS = "step_seconds"
DATA_SECONDS = "data_seconds"
STEPS_PER_SECOND = "steps_per_second"
SAMPLES_PER_SECOND = "samples_per_second"
TOKENS_PER_SECOND = "tokens_per_second"
BATCH_SIZE = "batch_size"
SAMPLES = "samples"
TOKENS = "tokens"
ACCURACY = "accuracy"
PERPLEXITY = "perplexity"
REWARD = "reward"
LOSS_SCALE = "loss_scale"
MFU = "mfu"
TFLOPS = "tflops"
MEMORY = "memory_bytes"

_GIB = float(1 << 30)
_MIB = float(1 << 20)

_NAMES: dict[str, str] = {
    LOSS: (
        "loss lm_loss lm_loss_value total_loss loss_total avg_loss avr_loss average_loss mean_loss running_loss "
        "loss_avg loss_mean loss_step loss_train step_loss reduced_train_loss"
    ),
    LR: "lr learning_rate learningrate lr_0 lr0 lr/pg0 last_lr current_lr base_lr unet_lr lr_unet",
    GRAD_NORM: "grad_norm gnorm gradient_norm global_grad_norm total_norm gradnorm",
    EPOCH: "epoch current_epoch",
    STEP_SECONDS: (
        "s/it s/step s/batch s/iter sec/it sec/iter sec/step iter_time iteration_time step_time time_per_step "
        "time_per_iteration batch_time time step_seconds step_time_seconds seconds_per_step "
        "train_loop_s train_step_timing_in_s"
    ),
    DATA_SECONDS: "data_time data_loading_time dataload_time",
    STEPS_PER_SECOND: (
        "it/s iter/s iters/s it/sec iter/sec iters/sec step/s steps/s step/sec steps/sec batch/s batches/s "
        "steps_per_second iterations_per_second iters_per_second ups"
    ),
    SAMPLES_PER_SECOND: (
        "samples/s samples/sec sample/s samples_per_second samples_per_sec currsamplespersec img/s imgs/s images/s "
        "img/sec imgs/sec images/sec images_per_second ex/s examples/s examples_per_second"
    ),
    TOKENS_PER_SECOND: (
        "tokens/s tokens/sec token/s tok/s tok/sec tokens_per_second tokens_per_sec tokens_per_s wps tps "
        "throughput_tokens_sec"
    ),
    BATCH_SIZE: "batch_size global_batch_size bsz",
    SAMPLES: "consumed_samples samples_seen num_samples total_samples samples",
    TOKENS: "consumed_tokens num_tokens tokens_seen total_tokens num_input_tokens_seen tokens",
    ACCURACY: "accuracy acc top1 acc/top1 accuracy/top1 categorical_accuracy sparse_categorical_accuracy",
    PERPLEXITY: "perplexity ppl lm_loss_ppl",
    REWARD: "reward mean_reward ep_rew_mean",
    LOSS_SCALE: "loss_scale",
    MFU: "mfu",
    TFLOPS: "tflops throughput_per_gpu_(tflop/s/gpu)",
    MEMORY: "memory_bytes",
}

_SCALED: dict[str, tuple[str, float]] = {
    "elapsed_time_per_iteration_(ms)": (STEP_SECONDS, 1e-3),
    "iter_time_(s)": (STEP_SECONDS, 1.0),
    "ms/step": (STEP_SECONDS, 1e-3),
    "us/step": (STEP_SECONDS, 1e-6),
    "ms/it": (STEP_SECONDS, 1e-3),
    "ms/batch": (STEP_SECONDS, 1e-3),
    "step_avg_ms": (STEP_SECONDS, 1e-3),
    "time_ms": (STEP_SECONDS, 1e-3),
    "dt_ms": (STEP_SECONDS, 1e-3),
    "step_time_ms": (STEP_SECONDS, 1e-3),
    "mfu_percent": (MFU, 1e-2),
    "acc@1": (ACCURACY, 1e-2),
    "accuracy_percent": (ACCURACY, 1e-2),
    "acc_percent": (ACCURACY, 1e-2),
    "gpu_mem_g": (MEMORY, _GIB),
    "memallocated_gb": (MEMORY, _GIB),
    "max_mem": (MEMORY, _MIB),
    "memory": (MEMORY, _MIB),
    "gpu_memory_allocated_gb": (MEMORY, _GIB),
    "gpu_mem_used_gb": (MEMORY, _GIB),
}
"""Names whose numbers are not in base units; memory of the mm family and of torchvision is in MiB."""

_TABLE: dict[str, tuple[str, float]] = {
    **{name: (quantity, 1.0) for quantity, names in _NAMES.items() for name in names.split()},
    **_SCALED,
}
_TRAINING = re.compile(r"(?:train|training|trn)[_:/]+")
_EVALUATION = re.compile(
    r"(?:^|(?<=[_:/]))(?:eval|evaluate|evaluation|val|valid|validation|test|dev)(?:[_:/]+|$)"
)
_BLANKS = re.compile(r"[\s\-.]+")
_EVALUATED = frozenset((LOSS, ACCURACY, PERPLEXITY, REWARD))
"""Quantities that are another one when measured on data held back."""
_LOSS_NAME = re.compile(r"loss(?:es)?(?:_?\d+)?$|^loss[_/](?!scale|weight|type|fn|func)")


def canonical(name: str) -> str:
    """Name the quantity that a metric is, or give the name back where it is none we know."""
    found = _find(name)
    return name if found is None else found[0]


def is_known(name: str) -> bool:
    """Tell whether a name stands for a quantity of training."""
    return _find(name) is not None


def in_base_units(name: str, value: float) -> float:
    """Scale a metric's value to the unit of its quantity: seconds, bytes, ratio."""
    found = _find(name)
    return value if found is None or found[1] == 1.0 else value * found[1]


def is_loss(name: str) -> bool:
    """Tell whether a name is that of a loss: the training's, one part of it, or one of an evaluation."""
    return canonical(name) in (LOSS, EVAL_LOSS) or _LOSS_NAME.search(_plain(name)) is not None


def is_evaluation(name: str) -> bool:
    """Tell whether a name says that its value was measured on data held back."""
    return _EVALUATION.search(_plain(name)) is not None


def pick(names: Iterable[str], quantity: str) -> str | None:
    """Choose the metric that is a quantity; a lone loss under a name of its own is the loss."""
    given = list(names)
    for name in given:
        if canonical(name) == quantity:
            return name
    if quantity != LOSS:
        return None
    losses = [name for name in given if is_loss(name) and not is_evaluation(name)]
    return losses[0] if len(losses) == 1 else None


@lru_cache(maxsize=4096)
def _find(name: str) -> tuple[str, float] | None:
    plain = _plain(name)
    found = _TABLE.get(plain) or _TABLE.get(_TRAINING.sub("", plain, count=1))
    if found is not None:
        return found
    rest = _EVALUATION.sub("", plain, count=1).rstrip("_:/")
    found = _TABLE.get(rest) if rest != plain else None
    if found is None or found[0] not in _EVALUATED:
        return None
    return f"eval_{found[0]}", found[1]


def _plain(name: str) -> str:
    return _BLANKS.sub("_", name.strip()).lower()

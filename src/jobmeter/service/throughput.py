"""How many samples a second a training takes, by what lists know of its run."""

from collections.abc import Mapping, Sequence

from jobmeter.model import metrics

BATCH_NAMES = (
    "global_batch_size",
    "total_train_batch_size",
    "train_batch_size",
    "per_device_train_batch_size",
    "batch_size",
    "train.batch_size",
    "training.batch_size",
)
"""Where configs keep it, the most telling first."""
STEPS_CALLED_SAMPLES = frozenset(("progress_json",))
"""Sources whose `samples_per_second` counts steps."""
_CONFIG_BATCH = tuple(f"config.{name}" for name in BATCH_NAMES)


def configured_batch(config: Mapping[str, object], names: Sequence[str]) -> float | None:
    """Find the samples one rank takes a step in a flat config."""
    return next((float(size) for name in names if isinstance(size := config.get(name), int | float)), None)


def of_fields(fields: Mapping[str, object]) -> float | None:
    """Give samples a second: steps a second by the batch size, else the job's own word; None without steps."""
    if "steps.count" not in fields:
        return None
    steps = _number(fields.get("steps.per_second"))
    if steps is not None:
        batch = _number(fields.get(metrics.BATCH_SIZE))
        if batch is None:
            batch = configured_batch(fields, _CONFIG_BATCH)
        if batch is not None:
            return steps * batch
    if fields.get("origin") in STEPS_CALLED_SAMPLES:
        return None
    return _number(fields.get(metrics.SAMPLES_PER_SECOND))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None

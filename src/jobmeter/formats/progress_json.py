"""`progress.json` of a training server: where a job stands, and the history of its metrics.

Two spellings exist: the one its documents name (`loss`, `gpu_utilization`, `gpu_memory_used`, `gpu_temperature`) and
the one its writer really writes (`train_loss`, `gpu_utilization_percent`, `gpu_memory_allocated_gb`). Both are kept
as they are. What misleads: `samples_per_second` is steps per second; the history is a window of the newest rows, so
the top of the file may know a step that the history does not.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import content, figures, loose_json, training
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Step

FORMAT = "progress_json"
NAME = "progress.json"
_HISTORY = "metrics_history"
_STEPS = ("step", "current_step", "global_step", "iteration")
_MOMENTS = ("timestamp", "updated_at", "last_updated")
_TOP_METRICS = (
    "train_loss",
    "loss",
    "eval_loss",
    "learning_rate",
    "grad_norm",
    "gpu_memory_allocated_gb",
    "gpu_memory_reserved_gb",
    "gpu_memory_used",
    "gpu_utilization_percent",
    "gpu_utilization",
    "gpu_temperature",
    "perplexity",
    "train_perplexity",
    "samples_per_second",
    "tokens_per_second",
    "iteration_time",
    "iteration_time_ms",
)
_CONFIG = ("batch_size", "gradient_accumulation_steps", "total_epochs", "total_steps")
_RESULTS = (
    "best_eval_loss",
    "best_epoch",
    "best_step",
    "epochs_without_improvement",
    "loss_trend",
    "progress_percent",
    "total_samples",
    "train_samples",
    "val_samples",
    "total_tokens_processed",
)
_STATUS = {
    "queued": Status.QUEUED,
    "pending": Status.QUEUED,
    "paused": Status.PAUSED,
    "completed": Status.COMPLETED,
    "failed": Status.FAILED,
    "cancelled": Status.CANCELLED,
}
_JOB_FOLDER = re.compile(r"job_(?P<id>.+)")
_WITHOUT = frozenset((*_STEPS, *_MOMENTS))

Record = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim an object that says where a training stands."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return 0.0
    counts = b'"current_step"' in head and (b'"total_steps"' in head or b'"current_epoch"' in head)
    documented = b'"loss"' in head and any(f'"{step}"'.encode() in head for step in _STEPS)
    if b'"metrics_history"' in head or counts:
        return 1.0 if name.endswith(NAME) else 0.8
    return 0.6 if name.endswith(NAME) and documented else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the history, and the newest state as a step if the history lacks it."""
    state = loose_json.parse_object(content.text(path))
    if state is None:
        raise UsageError(
            f"{path.name} is damaged: no JSON object", hint="wait until its writer has renamed it"
        )
    history = state.get(_HISTORY)
    rows = [loose_json.mapping(row) for row in history] if isinstance(history, list) else []
    steps = [step for row in rows if (step := _step(row, row)) is not None]
    dropped = len(rows) - len(steps)
    newest = _step(state, {name: state[name] for name in _TOP_METRICS if name in state})
    if newest is not None and all(step.step != newest.step for step in steps):
        steps.append(newest)
    if not steps:
        raise training.nothing("no step was done yet")
    return (training.imported(_told(path, state, steps, dropped)),)


def _told(path: Path, state: Record, steps: list[Step], dropped: int) -> training.Told:
    elapsed, updated_at = (
        figures.figure(state.get("elapsed_seconds")),
        figures.moment(state.get("updated_at")),
    )
    status = _STATUS.get(str(state.get("status")))
    folder = _JOB_FOLDER.fullmatch(path.parent.name)
    ended = status is not None and status not in (Status.QUEUED, Status.PAUSED)
    return training.Told(
        format=FORMAT,
        digest=content.digest([path]),
        sources=(path,),
        steps=steps,
        name=loose_json.text(state.get("job_id")) or (folder.group("id") if folder else None),
        status=status,
        started_at=updated_at - elapsed if updated_at is not None and elapsed is not None else None,
        ended_at=updated_at if ended else None,
        wall_seconds=None if elapsed is None else float(elapsed),
        results={key: state[key] for key in _RESULTS if state.get(key) is not None},
        context={
            "config": {key: training.plain(state[key]) for key in _CONFIG if state.get(key) is not None}
        },
        dropped={"rows": dropped},
        inexact=_inexact(state, status),
    )


def _inexact(state: Record, status: Status | None) -> dict[str, str]:
    found = {"samples_per_second": "steps per second in truth: the writer divides steps by seconds"}
    if "updated_at" in state and "elapsed_seconds" in state:
        found["started_at"] = "last update less the seconds elapsed"
    if status is None:
        found["status"] = f"the file says {state.get('status', 'nothing')}, and nothing later"
    return found


def _step(row: Record, values: Record) -> Step | None:
    number = next((n for name in _STEPS if (n := figures.whole(row.get(name))) is not None), None)
    metrics = figures.metrics(values, without=_WITHOUT)
    if number is None or not metrics:
        return None
    moment = next((m for name in _MOMENTS if (m := figures.moment(row.get(name))) is not None), None)
    return Step(timestamp=moment, step=number, rank=0, source=FORMAT, metrics=metrics)

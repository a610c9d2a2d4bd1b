"""Hugging Face `trainer_state.json`: every row that the Trainer logged, and its checkpoints.

What misleads: the file has no clock; a training row and an evaluation row share a step; the last row may be the
summary of the whole training (`train_runtime`), not a step; each checkpoint holds a copy of the state so far.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

from jobmeter.errors import UsageError
from jobmeter.formats import checkpoints, content, figures, loose_json, training
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Step

FORMAT = "hf_trainer"
NAME = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(?P<step>\d+)")
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_SUMMARY_MARK = "train_runtime"
_PER_ROW = frozenset(("step",))
_CONFIG = (
    "train_batch_size",
    "max_steps",
    "num_train_epochs",
    "logging_steps",
    "eval_steps",
    "save_steps",
    "trial_name",
    "trial_params",
)
_STATE = (
    "best_metric",
    "best_global_step",
    "best_model_checkpoint",
    "epoch",
    "global_step",
    "num_input_tokens_seen",
    "total_flos",
)

Record = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim by the Trainer's own keys, which come before its rows; a file of no bytes by its name."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return 0.1 if not head and name == NAME else 0.0
    marks = (b'"log_history"', b'"is_world_process_zero"', b'"is_local_process_zero"')
    return 1.0 if b'"global_step"' in head and any(mark in head for mark in marks) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read a state; of a training with checkpoints the one that goes furthest, whichever is named."""
    main, copies = _family(path)
    state, whole = _state(main)
    rows = [row for row in _rows(state) if row]
    steps = [step for row in rows if _SUMMARY_MARK not in row for step in _step(row)]
    if not steps:
        raise training.nothing("no row was logged before the training ended")
    results = next((row for row in reversed(rows) if _SUMMARY_MARK in row), {})
    runtime = loose_json.number(results.get(_SUMMARY_MARK))
    told = training.Told(
        format=FORMAT,
        digest=content.digest([main]),
        sources=(main, *copies),
        steps=steps,
        events=checkpoints.beside([_folder(main)], _CHECKPOINT, _base(state.get("best_model_checkpoint"))),
        name=loose_json.text(state.get("trial_name")),
        status=_status(state, results),
        wall_seconds=None if runtime is None else float(runtime),
        results=figures.metrics(results, without=_PER_ROW),
        context={
            "config": _picked(state, _CONFIG),
            FORMAT: _picked(state, _STATE),
        },
        dropped={"rows": sum(not list(_step(row)) for row in rows), "end_of_file": int(not whole)},
        inexact=_inexact(results),
    )
    return (training.imported(told),)


def _state(path: Path) -> tuple[Record, bool]:
    """Read the state, and of one that was cut off the rows that are whole."""
    text = content.text(path)
    state = loose_json.parse_object(text)
    if state is not None:
        if not isinstance(state.get("log_history"), list):
            raise UsageError(
                f"{path.name}: no log_history in it", hint="give the Trainer's trainer_state.json"
            )
        return state, True
    begin = _HISTORY.search(text)
    if begin is None:
        raise UsageError(f"{path.name} is damaged: no JSON object", hint="restore it from a checkpoint")
    facts = loose_json.parse_object(text[: begin.end() - 1] + "[]}") or {}
    return facts | {"log_history": _whole_objects(text, begin.end())}, False


def _whole_objects(text: str, at: int) -> list[Record]:
    """Decode objects one after the other, until one is cut off."""
    decoder = json.JSONDecoder()
    found: list[Record] = []
    while True:
        at += len(text[at : at + 256]) - len(text[at : at + 256].lstrip(" \t\r\n,"))
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        if isinstance(value, dict):
            found.append(value)


def _rows(state: Record) -> list[Record]:
    history = state.get("log_history")
    return [loose_json.mapping(row) for row in history] if isinstance(history, list) else []


def _step(row: Record) -> Iterable[Step]:
    number = figures.whole(row.get("step"))
    metrics = figures.metrics(row, without=_PER_ROW)
    if number is None or not metrics:
        return
    yield Step(timestamp=None, step=number, rank=0, source=FORMAT, metrics=metrics)


def _status(state: Record, results: Record) -> Status | None:
    """The summary row is written at the end; a state at its last planned step was the end too."""
    reached, planned = figures.whole(state.get("global_step")), figures.whole(state.get("max_steps"))
    at_the_end = reached is not None and planned is not None and reached >= planned > 0
    return Status.COMPLETED if results or at_the_end else None


def _inexact(results: Record) -> dict[str, str]:
    if results:
        return {"wall_seconds": "duration of Trainer.train(), not of the process"}
    return {"status": "by the last step alone: the file does not say how the training ended"}


def _picked(state: Record, keys: Iterable[str]) -> dict[str, object]:
    return {key: training.plain(state[key]) for key in keys if state.get(key) is not None}


def _base(path: object) -> str | None:
    """Give the last part of a path, of whichever system wrote it."""
    if not isinstance(path, str):
        return None
    return PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name


def _folder(path: Path) -> Path:
    """Find the output folder: a checkpoint's state lies one below."""
    return path.parent.parent if _CHECKPOINT.fullmatch(path.parent.name) else path.parent


def _family(path: Path) -> tuple[Path, tuple[Path, ...]]:
    """Find the furthest state of a training, and the copies that are its beginnings."""
    folder = _folder(path)
    candidates = content.existing(folder / NAME, *sorted(folder.glob(f"checkpoint-*/{NAME}")))
    if path.name != NAME or path not in candidates:
        return path, ()
    histories = {candidate: _history(candidate) for candidate in candidates}
    own = histories[path]
    kin = [each for each in candidates if _same_beginning(histories[each], own)]
    if not kin:
        return path, ()
    main = max(kin, key=lambda each: len(histories[each]))
    return main, tuple(each for each in kin if each != main)


def _history(path: Path) -> list[Record]:
    try:
        return _rows(_state(path)[0])
    except (UsageError, OSError):
        return []


def _same_beginning(one: list[Record], other: list[Record]) -> bool:
    shared = min(len(one), len(other))
    # compared as text: NaN is not equal to itself
    return shared > 0 and repr(one[:shared]) == repr(other[:shared])

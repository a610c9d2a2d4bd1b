"""The Numenta Anomaly Benchmark's files, windows and score, written from its published definition.

A detection inside a labelled window earns up to 1, the earlier the more, once per window; a window without
one costs 1; a detection outside costs up to 0.11, less right after a window. The first 15 % of a file (at most
750 rows) are for learning and count nothing. 0 is a detector that never speaks, 100 one that speaks at the
first row of every window and nowhere else. A single threshold holds for all files.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PROBATION_SHARE = 0.15
_PROBATION_ROWS = 0.15 * 5000
_FAR_BEHIND = 3.0
"""A detection more than this many window widths behind a window is simply wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One series of the corpus with what a detection at each of its rows is worth."""

    name: str
    times: Floats
    values: Floats
    worth: Floats
    window: NDArray[np.int64]
    """Which window a row stands in; -1 outside of all."""
    scored: NDArray[np.bool_]
    """False while a detector may still learn."""
    windows: int


@dataclass(frozen=True, slots=True)
class Weights:
    """What a profile pays for."""

    hit: float
    miss: float
    false_alarm: float


def read_weights(corpus: Path, profile: str) -> Weights:
    """Read one profile of `profiles.json`."""
    matrix = json.loads((corpus / "profiles.json").read_text())[profile]["CostMatrix"]
    return Weights(matrix["tpWeight"], matrix["fnWeight"], matrix["fpWeight"])


def read_files(corpus: Path, weights: Weights) -> list[File]:
    """Read all series, sorted by name."""
    labels = json.loads((corpus / "labels" / "combined_windows.json").read_text())
    return [_read_file(corpus / "data" / name, name, labels[name], weights) for name in sorted(labels)]


def _read_file(path: Path, name: str, windows: list[list[str]], weights: Weights) -> File:
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    times = np.array([_seconds(row[0]) for row in rows])
    worth = np.full(len(rows), -weights.false_alarm)
    window = np.full(len(rows), -1)
    for number, (first, last) in enumerate(windows):
        # clocks repeat where daylight saving ended: the first row of a time opens, and closes, a window
        begin = int(np.flatnonzero(times == _seconds(first))[0])
        end = int(np.flatnonzero(times == _seconds(last))[0])
        width = end - begin + 1
        behind = np.arange(1, len(rows) - end) / (width - 1)
        worth[end + 1 :] = weights.false_alarm * np.where(behind > _FAR_BEHIND, -1.0, _sigmoid(behind))
        inside = -np.arange(width, 0, -1) / width
        worth[begin : end + 1] = weights.hit * _sigmoid(inside) / _sigmoid(np.array(-1.0))
        window[begin : end + 1] = number
    return File(
        name=name,
        times=times,
        values=np.array([float(row[1]) for row in rows]),
        worth=worth,
        window=window,
        scored=np.arange(len(rows)) >= min(int(_PROBATION_SHARE * len(rows)), _PROBATION_ROWS),
        windows=len(windows),
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _sigmoid(position: Floats) -> Floats:
    return 2.0 / (1.0 + np.exp(5.0 * position)) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one detector came to with one threshold."""

    threshold: float
    score: float
    found: int
    windows: int
    false_alarms: int


def judge(files: list[File], scores: list[Floats], threshold: float, weights: Weights) -> Outcome:
    """Score detections at and above a threshold."""
    raw, found, false_alarms = 0.0, 0, 0
    for file, score in zip(files, scores, strict=True):
        alarm = (score >= threshold) & file.scored
        wrong = alarm & (file.window < 0)
        false_alarms += int(wrong.sum())
        raw += float(file.worth[wrong].sum())
        for number in range(file.windows):
            hits = file.worth[alarm & (file.window == number)]
            raw += float(hits.max()) if len(hits) else -weights.miss
            found += bool(len(hits))
    windows = sum(file.windows for file in files)
    score_percent = 100 * (raw + windows * weights.miss) / (windows * (weights.hit + weights.miss))
    return Outcome(
        threshold=threshold, score=score_percent, found=found, windows=windows, false_alarms=false_alarms
    )


def tune(files: list[File], scores: list[Floats], weights: Weights) -> float:
    """Give the threshold with the best score on these files; infinity where silence is best."""
    values = np.concatenate([score[file.scored] for file, score in zip(files, scores, strict=True)])
    gains = np.concatenate([_gains(file, score, weights) for file, score in zip(files, scores, strict=True)])
    order = np.argsort(-values, kind="stable")
    total = np.cumsum(gains[order])
    # equal scores are passed together: only the last of them is a threshold
    last = np.append(np.diff(values[order]) != 0, True)
    best = int(np.argmax(np.where(last, total, -np.inf)))
    return float(values[order][best]) if total[best] > 0 else float("inf")


def _gains(file: File, score: Floats, weights: Weights) -> Floats:
    """Say what each row adds when thresholds fall from above: only the best of a window so far counts."""
    gains = np.where(file.window < 0, file.worth, 0.0)
    for number in range(file.windows):
        rows = np.flatnonzero((file.window == number) & file.scored)
        rows = rows[np.argsort(-score[rows], kind="stable")]
        best = np.maximum.accumulate(np.maximum(file.worth[rows], -weights.miss))
        gains[rows] = np.diff(best, prepend=-weights.miss)
    return gains[file.scored]

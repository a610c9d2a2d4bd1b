"""What the resource samples of one build say: averages, sudden changes from one sample to the next, steadiness.

The formulas are those of the build campaigns they come from, kept to the letter so that old and new numbers compare.
What misleads: a rise from 0 has no percentage, so it is a memory spike only by its 40 GB and never a CPU spike; a
ramp is many spikes; samples of 0 do not count for steadiness. jobmeter's own detectors are better judges.

A sample is `ts cpu mem_used_gb mem_total_gb io_read_mb io_write_mb`: `cpu` is percent of the host, `_gb` is 2^30, io
counts up from boot. A field that is absent or no number is passed over.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Record = dict[str, object]

TYPES = (("cpu", "cpu"), ("memory", "mem_used_gb"))
"""What is looked at: the word anomalies and scores use, and the field of a sample."""
_CPU_SPIKE_PERCENT, _MEMORY_SPIKE_PERCENT, _MEMORY_SPIKE_GB, _TROUGH_PERCENT = 30, 50, 40, -30
_HIGH_PERCENT, _MEDIUM_PERCENT = 100, 50
_FEWEST_VALUES = 2
_LARGEST = 2.0**63

BANDS = (
    (0.9, "Extremely consistent"),
    (0.7, "Consistent"),
    (0.5, "Moderate variance"),
    (0.0, "High variance"),
)
"""What a score means: the band whose lower end it reaches."""


def number(value: object) -> int | float | None:
    """Take a finite number of a sample; a truth value, a text or something endless is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LARGEST else None  # NaN is not


def detect_anomalies(samples: Sequence[object]) -> dict[str, list[Record]]:
    """Find spikes and troughs: each sample against the one before it."""
    spikes: list[Record] = []
    troughs: list[Record] = []
    for index, (before, after) in enumerate(pairwise(samples), start=1):
        changes = [_change(word, field, index, before, after) for word, field in TYPES]
        spikes += [change | {"severity": _severity(change)} for change in changes if _is_spike(change)]
        troughs += [change for change in changes if _percent(change) < _TROUGH_PERCENT]
    return {"spikes": [_told(one) for one in spikes], "troughs": [_told(one) for one in troughs]}


def _change(word: str, field: str, index: int, before: object, after: object) -> Record:
    """Describe how a value changed; empty where one of the two is not known."""
    was, now = _field(before, field), _field(after, field)
    if was is None or now is None or not isinstance(after, Mapping):
        return {}
    delta = now - was
    return {
        "type": word,
        "sample_index": index,
        "from_value": was,
        "to_value": now,
        "delta": delta,
        "percent_change": delta / was * 100 if was > 0 else 0,
        "timestamp": after.get("ts"),
    }


def _field(sample: object, field: str) -> int | float | None:
    return number(sample.get(field)) if isinstance(sample, Mapping) else None


def _percent(change: Record) -> float:
    return number(change.get("percent_change")) or 0


def _is_spike(change: Record) -> bool:
    if change.get("type") == "memory":
        return _percent(change) > _MEMORY_SPIKE_PERCENT or (number(change["delta"]) or 0) > _MEMORY_SPIKE_GB
    return _percent(change) > _CPU_SPIKE_PERCENT


def _severity(change: Record) -> str:
    percent = _percent(change)
    return "HIGH" if percent > _HIGH_PERCENT else "MEDIUM" if percent > _MEDIUM_PERCENT else "LOW"


def _told(change: Record) -> Record:
    """Round the percentage for the record; what is compared is the whole number."""
    return change | {"percent_change": round(_percent(change), 1)}


def calculate_consistency_score(samples: Iterable[object]) -> Record:
    """Score how steady CPU and memory were: 1 less the coefficient of variation, from 0 to 1."""
    known = list(samples)
    scores = {word: _steadiness(_positive(known, field)) for word, field in TYPES}
    return {**scores, "overall": round(sum(score["score"] for score in scores.values()) / len(scores), 2)}


def _positive(samples: Iterable[object], field: str) -> list[int | float]:
    values = (_field(sample, field) for sample in samples)
    return [value for value in values if value is not None and value > 0]


def _steadiness(values: Sequence[int | float]) -> dict[str, float]:
    if len(values) < _FEWEST_VALUES:
        return {"score": 0, "variance": 0, "std_dev": 0, "cv": 0}
    deviation = statistics.stdev(values)
    variation = deviation / statistics.mean(values)
    return {
        "score": round(max(0, min(1, 1 - variation)), 2),
        "variance": round(statistics.variance(values), 1),
        "std_dev": round(deviation, 1),
        "cv": round(variation, 2),
    }


def score_band(score: float) -> str:
    """Say what a consistency score means."""
    return next(band for lowest, band in BANDS if score >= lowest or lowest == 0)


def build_metrics(samples: Iterable[object]) -> Record:
    """Give all that a campaign keeps of one build's samples; without any: empty lists and zeros."""
    kept = [_kept(sample) for sample in samples if isinstance(sample, Mapping)]
    cpu, memory = _values(kept, "cpu"), _values(kept, "mem_used_gb")
    return {
        "cpu_utilization_avg": _mean(cpu),
        "cpu_utilization_peak": max(cpu, default=0),
        "memory_used_avg_gb": _mean(memory),
        "memory_used_peak_gb": max(memory, default=0),
        "io_read_total_mb": _grown(_values(kept, "io_read_mb")),
        "io_write_total_mb": _grown(_values(kept, "io_write_mb")),
        "resource_samples": kept,
        "sample_count": len(kept),
        "anomalies": detect_anomalies(kept),
        "consistency_score": calculate_consistency_score(kept),
    }


def _kept(sample: Mapping[object, object]) -> Record:
    """Keep a sample as it came, without numbers that JSON has no word for."""
    return {
        str(key): value
        for key, value in sample.items()
        if not isinstance(value, float) or math.isfinite(value)
    }


def _values(samples: Iterable[object], field: str) -> list[int | float]:
    values = (_field(sample, field) for sample in samples)
    return [value for value in values if value is not None]


def _mean(values: Sequence[int | float]) -> float:
    return round(statistics.mean(values), 1) if values else 0


def _grown(counts: Sequence[int | float]) -> int | float:
    """Say by how much a counter grew; one that began anew did not shrink."""
    return max(counts[-1] - counts[0], 0) if counts else 0

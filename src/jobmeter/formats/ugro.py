"""UGRO's metrics: `training_metrics.json`, `metrics_rank<N>.jsonl` of each rank, and the joined `metrics.jsonl`.

What misleads: the file of a rank has one line, overwritten at each step, so it is the newest step only; the joined
file has no step numbers, so its rows are counted per rank; the epoch is a float here and an ISO date there.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from jobmeter.formats import content, figures, loose_json, training
from jobmeter.model.imported import Imported
from jobmeter.model.view import Step

FORMAT = "ugro"
_RANK_FILE = re.compile(r"(?P<stem>.*metrics)_rank(?P<rank>\d+)\.jsonl")
_MARKS = (b'"training_loss"', b'"throughput_tokens_sec"', b'"gradient_norm"', b'"gpu_mem_used_gb"')
_NAMES = ("training_metrics.json", "metrics.jsonl")
_WITHOUT = frozenset(("timestamp", "job_id", "rank", "step"))

Record = dict[str, object]


def sniff(head: bytes, name: str) -> float:
    """Claim JSON that has the fields of its metrics, under any name."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return 0.0
    marks = sum(mark in head for mark in _MARKS)
    named = name.endswith(_NAMES) or _RANK_FILE.fullmatch(name) is not None
    if marks >= 2:
        return 1.0 if named else 0.8
    return 0.7 if marks and named else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the records, of all ranks whose files lie beside one another."""
    files = _files(path)
    reading = _Reading()
    steps = [step for file in files for step in reading.steps(file)]
    if not steps:
        raise training.nothing("no metric in it")
    told = training.Told(
        format=FORMAT,
        digest=content.digest(files),
        sources=files,
        steps=steps,
        name=reading.job_id,
        dropped={"lines": reading.bad_lines},
        inexact=reading.inexact(),
    )
    return (training.imported(told),)


def _files(path: Path) -> tuple[Path, ...]:
    """Find the files of the other ranks of the same job."""
    own = _RANK_FILE.fullmatch(path.name)
    if own is None:
        return (path,)
    job_id = _job_id(path)
    found: dict[int, Path] = {}
    for other in path.parent.iterdir():
        named = _RANK_FILE.fullmatch(other.name)
        if named is not None and named.group("stem") == own.group("stem") and _job_id(other) == job_id:
            found[int(named.group("rank"))] = other
    return tuple(found[rank] for rank in sorted(found))


def _job_id(path: Path) -> str | None:
    for record in _records(content.text(path)):
        return loose_json.text((record or {}).get("job_id"))
    return None


class _Reading:
    """The records of a job's files; what could not be read is counted."""

    def __init__(self) -> None:
        self.job_id: str | None = None
        self.bad_lines = 0
        self._counted: Counter[int] = Counter()

    def steps(self, path: Path) -> Iterator[Step]:
        named = _RANK_FILE.fullmatch(path.name)
        for record in _records(content.text(path)):
            step = None if record is None else self._step(record, int(named.group("rank")) if named else 0)
            if step is None:
                self.bad_lines += 1
            else:
                yield step

    def _step(self, record: Record, file_rank: int) -> Step | None:
        metrics = figures.metrics(record, without=_WITHOUT)
        if not metrics:
            return None
        self.job_id = self.job_id or loose_json.text(record.get("job_id"))
        told = figures.whole(record.get("rank"))
        rank = file_rank if told is None else told
        number = figures.whole(record.get("step"))
        if number is None:
            number = self._counted[rank]
            self._counted[rank] += 1
        moment = figures.moment(record.get("timestamp"))
        return Step(timestamp=moment, step=number, rank=rank, source=FORMAT, metrics=metrics)

    def inexact(self) -> dict[str, str]:
        if not self._counted:
            return {}
        return {"step": "the file has no step numbers: rows are counted per rank"}


def _records(text: str) -> Iterator[Record | None]:
    """Walk the records of one JSON value or of lines; None for a line that is none."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from (loose_json.parse_object(line) for line in text.splitlines() if line.strip())
        return
    yield from _unfolded(whole)


def _unfolded(value: object) -> Iterator[Record | None]:
    """Walk a record, a list of them, or a mapping whose values are records (by rank, say)."""
    if isinstance(value, list):
        for item in value:
            yield from _unfolded(item)
        return
    record = loose_json.mapping(value)
    inner = [item for item in record.values() if isinstance(item, dict | list)]
    if not inner or figures.metrics(record, without=_WITHOUT):
        yield record or None
        return
    about = {key: item for key, item in record.items() if not isinstance(item, dict | list)}
    for key, item in record.items():
        if not isinstance(item, dict | list):
            continue
        rank = figures.whole(key.removeprefix("rank_").removeprefix("rank"))
        known = about if rank is None else about | {"rank": rank}
        yield from (None if found is None else known | found for found in _unfolded(item))

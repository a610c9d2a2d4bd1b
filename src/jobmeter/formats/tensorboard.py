"""TensorBoard event files: scalars of every form, and the arguments that trainers log as text.

What misleads: five of eight real files hold no scalar at all, because the run died first; Lightning writes
`hp_metric` -1 as a place holder; Megatron writes every value twice, by iteration and by samples; values are single
precision, so 0.1 is 0.10000000149; one process may write several files, told apart by the number that ends the name.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.formats import content, tensorboard_event, tfrecord, training
from jobmeter.formats.tensorboard_event import Entry
from jobmeter.model.imported import Imported
from jobmeter.model.view import Step

FORMAT = "tensorboard"
_NAME = re.compile(r"events\.out\.tfevents\.\d+\.(?P<process>.+\.\d+)\.(?P<number>\d+)(?:\.v2)?")
_HOST = re.compile(r"events\.out\.tfevents\.\d+\.(?P<host>.+?)(?:\.\d+\.\d+)?(?:\.v2)?")
_MARK = b"brain.Event:"
_PLACE_HOLDER = ("hp_metric", -1.0)
_TEXT_SUFFIX = "/text_summary"
_BY_SAMPLES = " vs samples"
_FOLDERS = re.compile(r"version_\d+|\w{3}\d\d_\d\d-\d\d-\d\d_.+")
"""Lightning's and torch's names for the folder of one run."""


def sniff(head: bytes, name: str) -> float:
    """Claim by the first record, which says the version of the file; one of no bytes by its name."""
    if not head:
        return 0.1 if _NAME.fullmatch(name) else 0.0
    return 1.0 if _MARK in head[:64] and tfrecord.starts(head) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read the file with the others that the same process wrote beside it."""
    files = _files(path)
    seen = _Seen()
    for file in files:
        seen.walk(file)
    if not seen.scalars.count:
        raise training.nothing(_emptiness(seen))
    named = _FOLDERS.fullmatch(path.parent.name)
    host = _HOST.fullmatch(path.name)
    told = training.Told(
        format=FORMAT,
        digest=content.digest(files),
        sources=files,
        steps=training.Again(lambda: _steps(files)),
        seen=seen.scalars,
        name=path.parent.name if named else None,
        host=host.group("host") if host else None,
        started_at=seen.started_at,
        context={"config": seen.config},
        dropped=seen.damage.dropped,
    )
    return (training.imported(told),)


@dataclass(slots=True)
class _Seen:
    """What one walk over the files tells."""

    scalars: training.Survey = field(default_factory=training.Survey)
    texts: int = 0
    others: int = 0
    started_at: float | None = None
    config: dict[str, object] = field(default_factory=dict)
    damage: tfrecord.Damage = field(default_factory=tfrecord.Damage)

    def walk(self, path: Path) -> None:
        for entry in tensorboard_event.entries(path, self.damage):
            if self.started_at is None or entry.wall_time < self.started_at:
                self.started_at = entry.wall_time
            if entry.value is not None and not _is_place_holder(entry):
                self.scalars.note(entry.wall_time)
            elif entry.text is not None:
                self.texts += 1
                self._keep(entry.tag, entry.text)
            elif entry.hparams:
                self.texts += 1
                self.config.update(entry.hparams)
            elif entry.tag:
                self.others += 1

    def _keep(self, tag: str, text: str) -> None:
        """Take arguments in: the Trainer logs them as one JSON text, Megatron as one text each."""
        if not tag.endswith(_TEXT_SUFFIX):
            return
        name = tag.removesuffix(_TEXT_SUFFIX)
        found = tensorboard_event.arguments(text)
        if name == "args" and isinstance(found, dict):
            self.config.update(found)
        else:
            self.config[name] = found


def _emptiness(seen: _Seen) -> str:
    if seen.texts or seen.others:
        return "no scalar in it, only texts, hyper-parameters or pictures"
    return "no scalar in it: the run ended before it logged one"


def _is_place_holder(entry: Entry) -> bool:
    return (entry.tag, entry.value) == _PLACE_HOLDER


def _files(path: Path) -> tuple[Path, ...]:
    """Find the files of the same process; two with the same number were written by two processes."""
    own = _NAME.fullmatch(path.name)
    if own is None:
        return (path,)
    found: dict[str, list[Path]] = {}
    for other in sorted(path.parent.iterdir()):
        named = _NAME.fullmatch(other.name)
        if named is not None and named.group("process") == own.group("process"):
            found.setdefault(named.group("number"), []).append(other)
    if any(len(twins) > 1 for twins in found.values()):
        return (path,)
    return tuple(sorted(twins[0] for twins in found.values()))


def _steps(files: Iterable[Path]) -> Iterator[Step]:
    """Put scalars of the same step that stand side by side into one."""
    for path in files:
        yield from _gathered(tensorboard_event.entries(path, tfrecord.Damage()))


def _gathered(entries: Iterable[Entry]) -> Iterator[Step]:
    number, moment = 0, 0.0
    metrics: dict[str, int | float] = {}
    for entry in entries:
        if entry.value is None or _is_place_holder(entry):
            continue
        if _repeats(entry, metrics):
            metrics["samples"] = entry.step
            continue
        if metrics and (entry.step != number or entry.tag in metrics):
            yield Step(timestamp=moment, step=number, rank=0, source=FORMAT, metrics=metrics)
            metrics = {}
        if not metrics:
            number, moment = entry.step, entry.wall_time
        metrics[entry.tag] = entry.value
    if metrics:
        yield Step(timestamp=moment, step=number, rank=0, source=FORMAT, metrics=metrics)


def _repeats(entry: Entry, metrics: dict[str, int | float]) -> bool:
    """Tell Megatron's second copy of a value, whose step counts samples instead of iterations."""
    first = entry.tag.removesuffix(_BY_SAMPLES)
    if first == entry.tag or first not in metrics:
        return False
    return entry.value == metrics[first] or entry.value != entry.value  # NaN repeats NaN

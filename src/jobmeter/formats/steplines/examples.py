"""The lines of examples that many scripts began as: PyTorch's, CycleGAN's, darknet's, icefall's, CLU's.

PyTorch's `Train Epoch: 1 [640/60000 (1%)]` counts samples, not steps, and does not say how many make a batch: the
step is the samples seen. `[1,  2000] loss: 2.2` and CycleGAN's lines give a place within an epoch of unknown size:
from the second epoch on their steps are a little short.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_in_epochs, step_over_epochs
from jobmeter.model import metrics as meanings

_TRAIN = re.compile(
    r"Train(?:ing)? Epoch:?\s*(?P<epoch>\d+)\s*\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)"
    r"\s*\(\s*\d+(?:\.\d+)?%\s*\)\s*\](?P<rest>.*)",
    re.IGNORECASE,
)
_QUICKSTART = re.compile(
    rf"\s*loss: (?P<loss>{numbers.NUMBER})\s+\[\s*(?P<n>\d+)\s*/\s*(?P<total>\d+)\s*\]\s*", re.IGNORECASE
)
_TEST = re.compile(
    rf"(?P<set>Test|Validation|Val) set: (?:Average |Avg\. )?loss: (?P<loss>{numbers.NUMBER})"
    r"(?:, Accuracy: (?P<right>\d+)/(?P<all>\d+))?",
    re.IGNORECASE,
)


_TEST_ERROR = re.compile(
    rf"\s*Accuracy: (?P<right>{numbers.NUMBER})%, Avg loss: (?P<loss>{numbers.NUMBER})\s*", re.IGNORECASE
)
"""The quickstart's result, below a line `Test Error:`."""
_TUTORIAL = re.compile(
    r"\s*\[(?P<epoch>\d+),\s*(?P<batch>\d+)\s*\]\s*(?P<rest>[\w ]*loss:? .*)", re.IGNORECASE
)
_CYCLEGAN = re.compile(r"\(epoch: (?P<epoch>\d+), iters: (?P<batch>\d+), [^()]*\)\s*(?P<rest>\w+: .*)")
_WORDS = re.compile(
    r"\|\s*epoch\s+(?P<epoch>\d+)\s*\|\s*(?P<batch>\d+)/\s*(?P<total>\d+)\s+batches\s*(?P<rest>\|.*)"
)
"""PyTorch's language model: `| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.3 | loss  7.62 |`."""
_WORDS_END = re.compile(
    r"\|\s*end of (?:epoch\s+(?P<epoch>\d+)|training)\s*(?P<rest>\|.*(?:valid|test) loss.*)", re.IGNORECASE
)
_BARRED = re.compile(
    rf"\|\s*(?P<name>[a-z][a-z/ ]*[a-z])\s*[: ]\s*(?P<value>{numbers.NUMBER})(?P<unit>s)?(?=\s|\||$)"
)
_DARKNET = re.compile(
    rf"\s*(?P<step>\d+): (?P<loss>{numbers.NUMBER}), (?P<mean>{numbers.NUMBER}) avg(?: loss)?, "
    rf"(?P<rate>{numbers.NUMBER}) rate, (?P<seconds>{numbers.NUMBER}) seconds, (?P<images>\d+) images.*",
    re.IGNORECASE,
)
_ICEFALL = re.compile(
    r"Epoch (?P<epoch>\d+), batch (?P<batch>\d+), (?:loss\[(?P<loss>[^\]]*)\])(?:, tot_loss\[[^\]]*\])?(?P<more>.*)"
)
"""The loss of the batch, and beside it that of the last ones, which is passed over."""
_CLU = re.compile(r"logging_writer\.py:\d+\] \[(?P<step>\d+)\] (?P<rest>\S+=.*)")
"""What trainings with JAX print through CLU."""
_SEARCHED = (_TRAIN, _TEST, _WORDS, _WORDS_END, _CYCLEGAN, _ICEFALL, _CLU)
_WHOLE = (_QUICKSTART, _TEST_ERROR, _TUTORIAL, _DARKNET)


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    return any(pattern.search(shape) for pattern in _SEARCHED) or any(
        pattern.fullmatch(shape) for pattern in _WHOLE
    )


def parse(text: str, memory: Memory) -> Row | None:
    """Read a line of training or of the test after it."""
    return _pytorch(text, memory) or _language(text, memory) or _placed(text, memory) or _numbered(text)


def _language(text: str, memory: Memory) -> Row | None:
    found = _WORDS.search(text) if " batches " in text else None
    if found is None and "| end of " in text.lower():
        found = _WORDS_END.search(text)
    metrics = numbers.matched(_BARRED, found["rest"]) if found is not None else {}
    if found is None or not metrics:
        return None
    if "batch" not in found.re.groupindex:
        return Row(metrics=metrics, step=_end_of_epoch(found["epoch"], memory), phase=Phase.EVAL)
    epoch, size = int(found["epoch"]), int(found["total"])
    step = step_in_epochs(memory, epoch, int(found["batch"]), size, counts_from_zero=False)
    return Row(metrics=metrics | {"epoch": epoch}, step=step)


def _end_of_epoch(epoch: str | None, memory: Memory) -> int | None:
    if epoch is None or memory.epoch_size is None:
        return memory.step
    return step_in_epochs(memory, int(epoch), memory.epoch_size, memory.epoch_size, counts_from_zero=False)


def _placed(text: str, memory: Memory) -> Row | None:
    found = _ICEFALL.search(text) if "loss[" in text else None
    if found is not None:
        return _in_epoch(found, numbers.pairs(found["loss"]) | numbers.pairs(found["more"]), memory)
    found = _TUTORIAL.fullmatch(text) or (_CYCLEGAN.search(text) if "(epoch: " in text else None)
    if found is None:
        return None
    return _in_epoch(found, numbers.pairs(found["rest"]), memory)


def _in_epoch(found: re.Match[str], metrics: dict[str, Number], memory: Memory) -> Row | None:
    """Number a row that says its epoch and its batch, but not how many there are."""
    if not metrics:
        return None
    epoch, batch = int(found["epoch"]), int(found["batch"])
    step = step_over_epochs(memory, epoch, batch)
    return Row(metrics=metrics | {"epoch": epoch, "batch": batch}, step=step)


def _numbered(text: str) -> Row | None:
    found = _DARKNET.fullmatch(text) if " avg" in text else None
    if found is not None:
        names = {"loss": "loss", "avg loss": "mean", "rate": "rate", "seconds": "seconds", "images": "images"}
        return Row(
            metrics=numbers.numeric((name, found[group]) for name, group in names.items()),
            step=int(found["step"]),
        )
    found = _CLU.search(text) if "logging_writer" in text else None
    metrics = numbers.pairs(found["rest"]) if found is not None else {}
    if found is None or not metrics:
        return None
    phase = Phase.EVAL if all(map(meanings.is_evaluation, metrics)) else Phase.TRAIN
    return Row(metrics=metrics, step=int(found["step"]), phase=phase)


def _pytorch(text: str, memory: Memory) -> Row | None:
    found = _TRAIN.search(text) if "rain" in text else None
    if found is not None:
        metrics = numbers.pairs(found["rest"])
        if not metrics:
            return None
        epoch = int(found["epoch"])
        samples = step_in_epochs(memory, epoch, int(found["n"]), int(found["total"]), counts_from_zero=False)
        return Row(metrics=metrics | {"epoch": epoch, "samples": samples}, step=samples)
    found = _QUICKSTART.fullmatch(text) if "loss: " in text else None
    if found is not None:
        return _quickstart(found, memory)
    found = _TEST_ERROR.fullmatch(text) if "Avg loss" in text else None
    if found is not None:
        names = {"Test accuracy_percent": "right", "Test average loss": "loss"}
        scores = numbers.numeric((name, found[group]) for name, group in names.items())
        return Row(metrics=scores, step=memory.step, phase=Phase.EVAL)
    found = _TEST.search(text) if " set: " in text else None
    if found is None:
        return None
    metrics = numbers.numeric(((f"{found['set']} average loss", found["loss"]),))
    if found["all"] and int(found["all"]):
        metrics[f"{found['set']} accuracy"] = int(found["right"]) / int(found["all"])
    return Row(metrics=metrics, step=memory.step, phase=Phase.EVAL)


def _quickstart(found: re.Match[str], memory: Memory) -> Row:
    """Read `loss: 2.3  [   64/60000]`, which stands below a line `Epoch 1`."""
    metrics = numbers.numeric((("loss", found["loss"]),))
    samples = int(found["n"])
    if memory.epoch is not None:
        samples = step_in_epochs(memory, memory.epoch, samples, int(found["total"]), counts_from_zero=False)
        metrics["epoch"] = memory.epoch
    return Row(metrics=metrics | {"samples": samples}, step=samples)

"""Ultralytics' console: rows of a table whose headings stood above, redrawn with a bar at their end.

The headings name the losses; the row of `all` classes is the validation's result. Steps are batches.
"""

import re

from jobmeter.formats.steplines import numbers
from jobmeter.formats.steplines.row import Memory, Number, Phase, Row, step_in_epochs

_HEADINGS = re.compile(r"\s*Epoch\s+(?:GPU_mem|gpu_mem)\s+(?P<names>\S.*)")
_ROW = re.compile(
    r"^\s*(?P<epoch>\d+)/(?P<epochs>\d+)\s+(?P<memory>[\d.]+)(?P<unit>[GM])\s+(?P<values>[\d.\seE+naif-]+):\s*"
    r"(?P<percent>\d+)%[^\d]*(?P<n>\d+)/(?P<total>\d+)\s+\[?(?P<rest>.*)"
)
_BARE = re.compile(
    r"\s*(?P<epoch>\d+)/(?P<epochs>\d+)\s+(?P<memory>[\d.]+)(?P<unit>[GM])\s+(?P<values>[\d.\seE+naif-]+)"
)
"""A row whose bar was wiped: it says the epoch only."""
_RATE = re.compile(r"(?P<value>\d+(?:\.\d+)?)(?P<unit>it/s|s/it)")
_RESULTS = re.compile(r"\s*Class\s+Images\s+(?:Instances|Labels|Targets)\s+(?P<names>\S.*?)\s*(?::\s+\d+%|$)")
_ALL = re.compile(rf"\s*all\s+(?P<images>\d+)\s+(?P<found>\d+)(?P<values>(?:\s+{numbers.NUMBER})+)\s*$")
_RESULT_MARK = "result:"


def may_be(shape: str) -> bool:
    """Tell whether lines of a shape may be of this family."""
    if "Epoch" in shape or "Class" in shape:
        return bool(_HEADINGS.match(shape) or _RESULTS.match(shape))
    return bool(_ALL.match(shape) or _ROW.match(shape) or _BARE.fullmatch(shape))


def parse(text: str, memory: Memory) -> Row | None:
    """Read a row of training or of validation; headings are remembered."""
    if "Epoch" in text or "Class" in text:
        _remember(text, memory)
        return None
    if not memory.columns:
        return None
    found = _ALL.match(text) if " all " in text else None
    if found is not None:
        return _result(found, memory)
    found = _ROW.match(text) if "%" in text else _BARE.fullmatch(text)
    return None if found is None else _row(found, memory)


def _remember(text: str, memory: Memory) -> None:
    found = _HEADINGS.match(text)
    if found is not None:
        memory.columns, memory.expects = found["names"].split(), 3
        return
    found = _RESULTS.match(text)
    if found is None:
        return
    training = [name for name in memory.columns if not name.startswith(_RESULT_MARK)]
    memory.columns = training + [_RESULT_MARK + name for name in _result_names(found["names"])]
    memory.expects = 3  # the bar's last drawing, the end of its line, the row of all classes


def _result_names(text: str) -> list[str]:
    """Spell `Box(P R mAP50 mAP50-95) Mask(P ...)` out."""
    names: list[str] = []
    group = ""
    for word in text.split():
        head, opened, rest = word.partition("(")
        group = head if opened else group
        name = (rest if opened else head).rstrip(")")
        names.append(f"{group}({name})" if group else name)
    return names


def _row(found: re.Match[str], memory: Memory) -> Row | None:
    names = [name for name in memory.columns if not name.startswith(_RESULT_MARK)]
    metrics = numbers.numeric(zip(names, found["values"].split(), strict=False))
    if not metrics:
        return None
    metrics |= numbers.numeric(((f"GPU_mem_{found['unit']}", found["memory"]),))
    epoch = int(found["epoch"])
    if "rest" not in found.re.groupindex:
        return Row(metrics=metrics, step=epoch, total=int(found["epochs"]))
    rate = _RATE.search(found["rest"])
    if rate is not None:
        metrics |= numbers.numeric(((rate["unit"], rate["value"]),))
    step = step_in_epochs(memory, epoch, int(found["n"]), int(found["total"]), counts_from_zero=False)
    return Row(metrics=metrics | {"epoch": epoch}, step=step, may_repeat=True)


def _result(found: re.Match[str], memory: Memory) -> Row | None:
    names = [name.removeprefix(_RESULT_MARK) for name in memory.columns if name.startswith(_RESULT_MARK)]
    values = found["values"].split()
    if len(values) != len(names):
        return None
    metrics: dict[str, Number] = numbers.numeric(
        (f"val {name}", value) for name, value in zip(names, values, strict=True)
    )
    return Row(metrics=metrics, step=memory.step, phase=Phase.EVAL)

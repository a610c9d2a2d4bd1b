"""What a training logged through the SDK, in two rows of the summary: read from both ends of its files.

Steps that a job only prints are found when its run is read, not here. A file that is still mapped, or whose writer was
killed, ends in NUL bytes: the last line stands before them.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    Line = dict[str, object]

_PIECE = 65536
"""How much is read of either end: a step of a hundred metrics takes three thousand bytes."""


def sentences(folder: str) -> dict[str, str]:
    """Say how far the training came and which ranks told; nothing for a job that logged nothing."""
    files = _files(folder)
    if not files:
        return {}
    try:
        said = _course(files[min(files)])
    except (OSError, ValueError):
        return {}  # the summary has more to say than this
    ranks = {"ranks": f"{len(files)} logged steps"} if len(files) > 1 else {}
    return {"steps": said, **ranks} if said else ranks


def _files(folder: str) -> dict[int, str]:
    """Find the file of every rank; a job of one process has one without a number."""
    found: dict[int, str] = {}
    for name in os.listdir(folder):
        words = name.split(".")
        if words[0] != "steps" or words[-1] != "jsonl":
            continue
        rank = words[1] if len(words) == 3 else "0" if len(words) == 2 else ""
        if rank.isdecimal():
            found[int(rank)] = os.path.join(folder, name)
    return found


def _course(path: str) -> str:
    from jobmeter.model import metrics, units

    with open(path, "rb") as file:
        size = _end(file.fileno(), os.fstat(file.fileno()).st_size)
        head = _lines(os.pread(file.fileno(), min(_PIECE, size), 0))
        begin = max(0, size - _PIECE)
        # what stands before the first line end was cut
        tail = _lines(os.pread(file.fileno(), size - begin, begin), whole=begin == 0)
    if not head or not tail:
        return ""
    said = f"to step {units.format_count(_step(tail[-1]))}"
    name = metrics.pick(sorted(_metrics(head[0]) | _metrics(tail[-1])), metrics.LOSS)
    if name is None:
        return said
    first = next((told[name] for told in map(_metrics, head) if name in told), None)
    last = next((told[name] for told in map(_metrics, reversed(tail)) if name in told), None)
    return said if first is None or last is None else f"{said}, {name} {_written(first)} -> {_written(last)}"


def _end(descriptor: int, size: int) -> int:
    """Find where the text ends and the NULs begin."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if os.pread(descriptor, 1, middle) == b"\0":
            high = middle
        else:
            low = middle + 1
    return low


def _lines(piece: bytes, *, whole: bool = True) -> "list[Line]":
    import json

    lines = piece.split(b"\n")[:-1]
    found = [json.loads(line) for line in (lines if whole else lines[1:]) if line]
    return [line for line in found if isinstance(line, dict)]


def _step(line: "Line") -> int:
    step = line.get("step")
    return step if isinstance(step, int) else 0


def _metrics(line: "Line") -> "dict[str, object]":
    found = line.get("metrics")
    return found if isinstance(found, dict) else {}


def _written(value: object) -> str:
    from jobmeter.model import units

    return units.format_metric(value) if isinstance(value, int | float) else str(value)

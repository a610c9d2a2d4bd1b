"""Checkpoints that lie beside a training's files: events with their step, size and place.

Their moment is the newest modification time inside, the only clock there is: a copied folder has the moment
of the copy, so the event says where its time is from.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from jobmeter.model.view import Event

CHECKPOINT = "checkpoint"


def beside(folders: Iterable[Path], pattern: re.Pattern[str], best: str | None = None) -> list[Event]:
    """Find what the pattern names in the folders, in order of step; its group `step` is the step."""
    found: list[Event] = []
    for folder in folders:
        try:
            paths = sorted(folder.iterdir())
        except OSError:
            continue  # no such folder beside, or none we may look into
        for path in paths:
            named = pattern.fullmatch(path.name)
            event = _event(path, named.groupdict().get("step"), best) if named else None
            if event is not None:
                found.append(event)
    return sorted(found, key=_order)


def _order(event: Event) -> tuple[float, float]:
    step = event.details.get("step")
    return (float(step) if isinstance(step, int) else float("inf"), event.timestamp)


def _event(path: Path, step: str | None, best: str | None) -> Event | None:
    try:
        size_bytes, modified_at = _weigh(path)
    except OSError:
        return None  # taken away between listing and asking
    details: dict[str, object] = {
        "path": str(path.resolve()),
        "bytes": size_bytes,
        "clock": "modification time",
    }
    if step is not None:
        details["step"] = int(step)
    if best is not None and path.name == best:
        details["best"] = True
    return Event(timestamp=modified_at, type=CHECKPOINT, details=details)


def _weigh(path: Path) -> tuple[int, float]:
    """Sum the bytes of a file or folder, and find when it was last written; links are not followed."""
    status = path.lstat()
    if not path.is_dir() or path.is_symlink():
        return status.st_size, status.st_mtime
    size_bytes, modified_at = 0, 0.0
    for parent, _, names in os.walk(path):
        for name in names:
            inside = Path(parent, name).lstat()
            size_bytes += inside.st_size
            modified_at = max(modified_at, inside.st_mtime)
    return size_bytes, modified_at or status.st_mtime

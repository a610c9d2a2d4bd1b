"""Checkpoints that a job left on disk: looked for once, when it has ended.

Only below its working directory and the folders its command names as outputs, a few levels deep, within a
bound of entries and of time: what lies beyond is not found. The moment of a checkpoint is when it was last
written, by the clock of the file system.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 0.03
"""How long looking may take: the caller waits."""
_MOST_ENTRIES = 4000
_MOST_PARTS = 1000
_MOST_FOUND = 1000
_DEEPEST = 4
_CLOCK_SLACK_SECONDS = 2.0
_FOLDERS = ("checkpoint-", "checkpoint_", "global_step", "iter_", "step_", "step-", "ckpt-", "ckpt_")
_FILES = (".ckpt", ".pt", ".pth", ".safetensors", ".keras", ".h5")
_WORDS = ("best", "last", "final", "latest", "model", "checkpoint")
_PASSED_BY = frozenset(("node_modules", "site-packages", "__pycache__", "wandb", "mlruns", "venv", "env"))
_OUTPUT_FLAGS = frozenset(
    ("--output_dir", "--output-dir", "--save_dir", "--save-dir", "--save", "--checkpoint_dir", "--checkpoint-dir",
     "--ckpt_dir", "--ckpt-dir", "--out_dir", "--out-dir", "--default_root_dir", "--training_folder")
)  # fmt: skip


class Checkpoint:
    """One checkpoint; its step where its name tells one, its size unless it has too many files to ask."""

    __slots__ = ("path", "size_bytes", "step", "written_at")

    def __init__(self, path: str, size_bytes: int | None, step: int | None, written_at: float) -> None:
        self.path = path
        self.size_bytes = size_bytes
        self.step = step
        self.written_at = written_at

    def details(self) -> dict[str, object]:
        """Render what an event says of it."""
        known = {"bytes": self.size_bytes, "step": self.step}
        present = {name: value for name, value in known.items() if value is not None}
        return {"path": self.path, **present, "clock": "modification time"}


def roots(command: list[str], cwd: str) -> list[str]:
    """Name the folders a job may have written to."""
    named: list[str] = []
    for at, word in enumerate(command):
        flag, equals, value = word.partition("=")
        if flag in _OUTPUT_FLAGS:
            named += [value] if equals else command[at + 1 : at + 2]
    places = [os.path.normpath(os.path.join(cwd, name)) for name in named if name]
    return [place for place in dict.fromkeys([*places, cwd]) if os.path.isabs(place)]


def find(places: list[str], since: float, seconds: float = SECONDS) -> list[Checkpoint]:
    """Find what was written since a moment, in order of time."""
    found: dict[str, Checkpoint] = {}
    deadline = time.monotonic() + seconds
    for place in places:
        for checkpoint in _walk(place, since - _CLOCK_SLACK_SECONDS, deadline):
            found.setdefault(os.path.realpath(checkpoint.path), checkpoint)
            if len(found) >= _MOST_FOUND:
                break
    return sorted(found.values(), key=lambda one: (one.written_at, one.path))


def _walk(place: str, since: float, deadline: float) -> "Iterator[Checkpoint]":
    waiting = [(place, 0)]
    looked = 0
    while waiting and looked < _MOST_ENTRIES:
        folder, depth = waiting.pop(0)
        for entry in _entries(folder, _MOST_ENTRIES - looked):
            if time.monotonic() >= deadline:
                return
            looked += 1
            checkpoint = _checkpoint(entry, since)
            if checkpoint is not None:
                yield checkpoint
            elif depth < _DEEPEST and _enters(entry):
                waiting.append((entry.path, depth + 1))


def _entries(folder: str, most: int) -> "list[os.DirEntry[str]]":
    """List a folder in order, or as much of it as may be looked at: a data set has millions of files."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for _, entry in zip(range(most), entries, strict=False)]
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []  # gone, or not ours to look into


def _enters(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in _PASSED_BY or entry.name.startswith(_FOLDERS):
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # taken away between listing and asking


def _checkpoint(entry: "os.DirEntry[str]", since: float) -> Checkpoint | None:
    stem, suffix = os.path.splitext(entry.name)
    step = _step(stem if suffix in _FILES else entry.name)
    try:
        if entry.is_symlink():
            return None
        if entry.is_dir():
            named = entry.name.startswith(_FOLDERS) and step is not None
            size, written_at = _weigh(entry.path) if named else (None, 0.0)
        else:
            named = suffix in _FILES and (step is not None or any(word in stem.lower() for word in _WORDS))
            size, written_at = (entry.stat().st_size, entry.stat().st_mtime) if named else (None, 0.0)
    except OSError:
        return None  # taken away between listing and asking
    return Checkpoint(entry.path, size, step, written_at) if named and written_at >= since else None


def _weigh(folder: str) -> tuple[int | None, float]:
    """Sum the files of a checkpoint's folder, unless there are too many, and find when the last was written."""
    size, written_at = 0, os.stat(folder).st_mtime
    entries = _entries(folder, _MOST_PARTS + 1)
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        size += status.st_size
        written_at = max(written_at, status.st_mtime)
    return (None if len(entries) > _MOST_PARTS else size), written_at


def _step(name: str) -> int | None:
    """Read the step from a name: the number after `step`, else the last one."""
    runs: list[tuple[int, str]] = []
    for at, letter in enumerate(name):
        if not letter.isdecimal() or not letter.isascii():
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + letter)
        else:
            runs.append((at, letter))
    after = [digits for at, digits in runs if name[:at].lower().rstrip("=_- ").endswith("step")]
    chosen = after[-1] if after else (runs[-1][1] if runs else "")
    return int(chosen) if chosen and len(chosen) < 19 else None

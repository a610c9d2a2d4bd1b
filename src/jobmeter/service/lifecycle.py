"""What people do to a run after it was recorded: tag it, note something, throw it away, take it back.

Records of the run itself are never changed: what is added later stands in `notes.jsonl`. A run thrown away
lies in the home's `bin/` until `gc` empties it.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from jobmeter.errors import UsageError, reason_of
from jobmeter.model import moments
from jobmeter.model.run import LIVE, Run
from jobmeter.service import index, runs

NOTES = "notes.jsonl"
BIN = "bin"


def tag(home: str, ref: str, tags: Mapping[str, str | None]) -> Run:
    """Set tags of a run; a tag of None is taken off."""
    for key in tags:
        if not key or "=" in key or not key.isprintable():
            raise UsageError(f"a tag needs a name without '=': {key!r}", hint="as in team=vision")
    return _note(home, ref, {"type": "tag", "tags": dict(tags)})


def note(home: str, ref: str, text: str) -> Run:
    """Add a sentence to a run."""
    if not text.strip():
        raise UsageError("a note needs some text")
    return _note(home, ref, {"type": "note", "text": text})


def rewrite_note(home: str, ref: str, before: str, text: str | None) -> Run:
    """Write a note of a run anew; one of None is taken away."""
    return _note(home, ref, {"type": "note", "replaces": before, "text": text})


def rename(home: str, ref: str, name: str) -> Run:
    """Give a run another name."""
    return _note(home, ref, {"type": "name", "name": name})


def move_to_project(home: str, ref: str, project: str) -> Run:
    """Put a run into another project."""
    return _note(home, ref, {"type": "project", "project": project})


def _note(home: str, ref: str, record: dict[str, object]) -> Run:
    run = runs.find(home, ref)
    folder = folder_of(run)
    try:
        append_line(folder / NOTES, {"timestamp": moments.iso_time(time.time()), **record})
        if in_home(home, folder):
            touch(home, [run.run_id])
    except OSError as error:
        raise refused(f"cannot write to {folder}", error) from None
    return runs.find(home, run.run_id if in_home(home, folder) else str(folder))


def append_line(path: Path, record: Mapping[str, object]) -> None:
    """Add one whole line, on a line of its own even if the one before was cut off."""
    # ASCII: a name may hold bytes that are no UTF-8
    line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(fd, line)
    finally:
        os.close(fd)


def touch(home: str, run_ids: list[str]) -> None:
    """Tell every index of the home that ended runs changed."""
    for run_id in run_ids:
        append_line(Path(home, index.CHANGES), {"run_id": run_id})


def remove(home: str, ref: str) -> Run:
    """Throw a run away: into the home's bin, from where it can be restored."""
    run = runs.find(home, ref)
    folder = folder_of(run)
    if not in_home(home, folder):
        raise UsageError(f"{folder} is not in the home {home}", hint="delete the folder itself")
    if run.status in LIVE:
        raise UsageError(f"run {run.run_id} is {run.status.value}", hint="end it first")
    month = Path(home, BIN, folder.parent.name)
    target = month / folder.name
    try:
        make_private(month)
        if target.exists():
            target = month / f"{folder.name}.{time.time_ns()}"
        folder.rename(target)
    except OSError as error:
        raise refused(f"cannot move {folder} to the bin", error) from None
    refresh_index(home)
    return run


def refresh_index(home: str) -> None:
    """Let the index forget what is no longer there."""
    with index.open_index(home) as opened:
        opened.refresh()


def binned(home: str) -> list[Path]:
    """List the folders in the bin, oldest id first."""
    return sorted(Path(home, BIN).glob("*/*"), key=lambda folder: folder.name)


def restore(home: str, ref: str) -> Run:
    """Take a run out of the bin again, by its id or a unique prefix."""
    found = [folder for folder in binned(home) if ref and folder.name.startswith(ref)]
    exact = [folder for folder in found if folder.name == ref]
    if not found:
        names = ", ".join(folder.name for folder in binned(home)[-5:])
        raise UsageError(
            f"no run {ref} in the bin", hint=f"it holds {names}" if names else "the bin is empty"
        )
    if len(found) > 1 and not exact:
        shown = ", ".join(folder.name for folder in found[:5])
        raise UsageError(f"several runs in the bin begin with {ref}", hint=f"say more of the id: {shown}")
    return runs.find(home, put_back(home, (exact or found)[0]).name)


def put_back(home: str, folder: Path) -> Path:
    """Move a folder of the bin to where it was, and give its place."""
    run_id = without_stamp(folder.name)
    target = Path(home, "runs", folder.parent.name, run_id)
    try:
        make_private(target.parent)
        if target.exists():
            raise UsageError(f"run {run_id} is there already", hint=f"remove it first: jobmeter rm {run_id}")
        folder.rename(target)
    except OSError as error:
        raise refused(f"cannot restore {folder}", error) from None
    return target


def without_stamp(name: str) -> str:
    """Undo what `remove` adds when the bin already holds a run of that id."""
    run_id, dot, stamp = name.rpartition(".")
    return run_id if dot and stamp.isdecimal() and len(stamp) == len(str(time.time_ns())) else name


def make_private(folder: Path) -> None:
    """Make a directory, and those above it that are missing, for this user alone."""
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def folder_of(run: Run) -> Path:
    """Name the folder of a run that has one."""
    if run.folder is None:
        raise UsageError(f"run {run.run_id} has no folder here")
    return Path(run.folder)


def in_home(home: str, folder: Path) -> bool:
    """Tell whether a folder is one of the home's own runs."""
    return Path(os.path.realpath(folder)).parent.parent == Path(os.path.realpath(home), "runs")


def refused(fact: str, error: OSError) -> UsageError:
    """Turn a refusal of the file system into a sentence."""
    return UsageError(f"{fact}: {reason_of(error)}")

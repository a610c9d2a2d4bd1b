"""One run as one file for a colleague, and back. What comes in is not trusted.

A bundle is a gzipped tar of the files of one run folder under its id. On the way in nothing of the
archive becomes a path: the id is checked as a name, files are flat, links and devices are refused, and
files, bytes and compression are capped while reading.
"""

import os
import shutil
import tarfile
import time
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from jobmeter.errors import UsageError
from jobmeter.model import moments
from jobmeter.model.run import Run
from jobmeter.runfolder import reader, tailer
from jobmeter.service import index, lifecycle, logs, runs, whole_files

MAX_FILES = 1000
MAX_BYTES = 64 * 1024**3
MAX_RATIO = 1000
"""Zlib reaches this only with zeros; the first bytes are free of it."""
FREE_BYTES = 64 * 1024**2
_BLOCK_BYTES = 1 << 20
_BROKEN = (tarfile.TarError, EOFError, zlib.error, ValueError)


def bundle(home: str, ref: str, target: str | None = None, *, replace: bool = False) -> Path:
    """Write a run into one `.tar.gz`; by default `<run-id>.tar.gz` here."""
    run = runs.find(home, ref)
    folder = lifecycle.folder_of(run)
    path = Path(target or f"{run.run_id}.tar.gz")
    if os.path.isdir(path):
        path = path / f"{run.run_id}.tar.gz"
    if os.path.exists(path) and not replace:
        raise UsageError(f"{path} is there already", hint="choose another name with -o, or add --force")
    with (
        whole_files.writing(path) as file,
        tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive,
    ):
        for name in sorted(os.listdir(folder)):
            _add(archive, folder / name, f"{run.run_id}/{name}")
    return path


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a regular file as large as it is now: a live run may go on growing."""
    if path.is_symlink() or not path.is_file() or path.name.startswith("."):
        return
    with path.open("rb") as file:
        member = tarfile.TarInfo(name)
        status = os.fstat(file.fileno())
        member.size, member.mtime, member.mode = status.st_size, int(status.st_mtime), 0o600
        archive.addfile(member, file)


def import_bundle(home: str, path: str) -> Run:
    """Unpack a bundle into the home; the same run twice is found, another of its id refused."""
    partial = Path(home, f".importing-{os.getpid()}-{time.monotonic_ns()}")
    try:
        lifecycle.make_private(partial)
        run_id = _unpack(path, partial)
        # whoever made the bundle must not choose which files of this machine are shown as the job's output
        lifecycle.append_line(partial / logs.IMPORTED, {"imported_at": moments.iso_time(time.time())})
        target = folder_for(Path(home), run_id)
        if not _known(target, partial, run_id):
            lifecycle.make_private(target.parent)
            _settle(partial, target, run_id)
    except _BROKEN as error:
        raise UsageError(f"{path} is not a whole bundle: {error}", hint=_MADE) from None
    except OSError as error:
        raise lifecycle.refused(f"cannot import {path}", error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return runs.find(home, run_id)


_MADE = "bundles are made by `jobmeter bundle RUN`"


def _settle(partial: Path, target: Path, run_id: str) -> None:
    try:
        partial.rename(target)
    except OSError:
        if not _known(target, partial, run_id):  # another process may have been first
            raise


def _known(target: Path, partial: Path, run_id: str) -> bool:
    if not target.exists():
        return False
    if not all(_same(target, partial, name) for name in ("run.jsonl", "usage.jsonl")):
        raise UsageError(
            f"another run {run_id} is there already", hint=f"remove it first: jobmeter rm {run_id}"
        )
    return True


def _same(one: Path, other: Path, name: str) -> bool:
    """Compare the lines of a file, compressed or not."""

    def content(folder: Path) -> list[bytes]:
        return [line for piece in tailer.pieces(folder, name, closed=True) for line in piece.lines]

    return content(one) == content(other)


def folder_for(home: Path, run_id: str) -> Path:
    """Choose where a run of this id belongs: its month is in its id."""
    if not index.is_run_id(run_id) or not run_id[:6].isdecimal():
        raise UsageError(f"the bundle's run has no usable id: {run_id[:80]!r}", hint=_MADE)
    return index.folder_of(home, run_id)


def _unpack(path: str, folder: Path) -> str:
    """Write the files of an archive into a folder and return the run's id."""
    run_ids: set[str] = set()
    with Path(path).open("rb") as file, tarfile.open(fileobj=file, mode="r|gz") as archive:
        written = 0
        for count, member in enumerate(archive, 1):
            run_id, name = _checked(member, count)
            run_ids.add(run_id)
            written += member.size
            _require_modest(written, file)
            source = archive.extractfile(member)
            if source is not None:
                _copy(source, folder / name, member)
    if len(run_ids) != 1 or not reader.is_run(folder):
        raise UsageError(f"{path} does not hold one run", hint=_MADE)
    (run_id,) = run_ids
    recorded = reader.read_run(folder).run_id
    if recorded not in (run_id, folder.name):
        raise UsageError(f"the bundle of {run_id} holds run {recorded}", hint=_MADE)
    return run_id


def _checked(member: tarfile.TarInfo, count: int) -> tuple[str, str]:
    """Take a member apart into the run's id and a file name, or refuse it."""
    if count > MAX_FILES:
        raise UsageError(f"the bundle holds more than {MAX_FILES} files", hint=_MADE)
    parts = PurePosixPath(member.name).parts
    if not member.isreg() or member.issparse() or len(parts) != 2 or not all(map(index.is_run_id, parts)):
        raise UsageError(
            f"the bundle holds something that is no file of a run: {member.name[:80]!r}", hint=_MADE
        )
    return parts[0], parts[1]


def _require_modest(written: int, file: BinaryIO) -> None:
    if written > min(MAX_BYTES, FREE_BYTES + MAX_RATIO * os.fstat(file.fileno()).st_size):
        raise UsageError("the bundle unpacks to far more than it should", hint=_MADE)


def _copy(source: IO[bytes], target: Path, member: tarfile.TarInfo) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        shutil.copyfileobj(source, file, _BLOCK_BYTES)
    # the age of a file tells a live run from a lost one
    changed = min(max(float(member.mtime), 0.0), time.time())
    os.utime(target, (changed, changed))

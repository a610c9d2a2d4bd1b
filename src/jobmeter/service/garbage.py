"""Bound the disk: old runs deleted by rule, the bin emptied, closed runs compressed. Live runs are safe."""

import os
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.model.quantities import Dimension, parse_quantity
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.probes import cgroupfs
from jobmeter.probes.paths import Paths
from jobmeter.runfolder import reader, records, sdkfiles
from jobmeter.service import index, lifecycle

COMPRESSED = ("usage.jsonl", "stdout", "stderr")
COMPRESS_AFTER_SECONDS = 86400.0
LEAST_BYTES = 4096
"""A smaller file would not free a block."""
_BLOCK_BYTES = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What to keep: a run stays if it is among the newest `count` or younger than `seconds`.

    Where neither is given all stay. Of those that stay the oldest go until all fit into `size_bytes`.
    """

    count: int | None = None
    seconds: float | None = None
    size_bytes: int | None = None


@dataclass(slots=True)
class Collected:
    """What was, or would be, done."""

    removed: list[str] = field(default_factory=list)
    compressed: list[str] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    """Folders of the bin."""
    freed_bytes: int = 0


def parse_keep(texts: Sequence[str]) -> Keep:
    """Read rules as people type them: `100` runs, `30d`, `20GiB`."""
    keep: dict[Dimension, float] = {}
    for text in texts:
        quantity = parse_quantity(text)
        if quantity is None or quantity.value < 0 or quantity.dimension is Dimension.PERCENT:
            raise UsageError(
                f"cannot keep {text}", hint="say a number of runs, an age or a size: 100, 30d, 20GiB"
            )
        if quantity.dimension in keep:
            raise UsageError(
                f"two rules of one kind: {text}", hint="one number, one age and one size at most"
            )
        keep[quantity.dimension] = quantity.value
    count, size = keep.get(Dimension.NUMBER), keep.get(Dimension.BYTES)
    return Keep(
        count=None if count is None else int(count),
        seconds=keep.get(Dimension.SECONDS),
        size_bytes=None if size is None else int(size),
    )


def collect_garbage(home: str, keep: Keep, *, dry_run: bool = False, now: float | None = None) -> Collected:
    """Carry the rules out; `dry_run` only says what would be done."""
    moment = time.time() if now is None else now
    done = Collected()
    with index.open_index(home) as opened:
        opened.refresh()
        listed = opened.ask(lambda store: store.briefs())
        unfinished = opened.ask(lambda store: store.unfinished())
    # a run that is lost may still be found again; one that ended is only not searched to its end
    open_ids = {run_id for run_id, status in unfinished.items() if status is Status.LOST}
    closed = [run for run in listed if run.status not in LIVE and run.run_id not in open_ids]
    if not dry_run:
        cgroupfs.sweep(Paths(), cgroupfs.locate(Paths()), min_age_s=0.0)
    for run in closed:
        if run.status is Status.LOST and not dry_run:
            _release_cgroups(lifecycle.folder_of(run))
    doomed = choose(closed, keep, moment)
    for run in doomed:
        done.removed.append(run.run_id)
        done.freed_bytes += delete(Path(home), lifecycle.folder_of(run), dry_run=dry_run)
    for folder in lifecycle.binned(home):
        done.emptied.append(folder.name)
        done.freed_bytes += delete(Path(home), folder, dry_run=dry_run)
    gone = {run.run_id for run in doomed}
    for run in closed:
        if run.run_id not in gone and _settled(run, moment):
            _compress_run(run, done, dry_run=dry_run)
    if not dry_run:
        lifecycle.touch(home, done.compressed)
        lifecycle.refresh_index(home)
    return done


def _release_cgroups(folder: Path) -> None:
    """Remove the cgroups of a run whose recorder was killed before it could; a bundle may name any path."""
    provenance = records.read(folder).merged.get("provenance")
    noted = provenance.get("own_cgroup") if isinstance(provenance, dict) else None
    paths = Paths()
    for directory in map(str, noted if isinstance(noted, list) else []):
        plain = os.path.normpath(directory) == directory
        if plain and directory.startswith(f"{paths.sys}/fs/cgroup/"):
            cgroupfs.discard(paths, directory)


def choose(closed: Sequence[Run], keep: Keep, now: float) -> list[Run]:
    """Choose the closed runs that the rules do not keep; `closed` is newest first."""
    staying = [run for place, run in enumerate(closed) if _stays(place, run, keep, now)]
    if keep.size_bytes is not None:
        sizes = accumulate(run.disk_bytes or 0 for run in staying)
        staying = [run for run, size in zip(staying, sizes, strict=True) if size <= keep.size_bytes]
    kept = {run.run_id for run in staying}
    return [run for run in closed if run.run_id not in kept]


def _stays(place: int, run: Run, keep: Keep, now: float) -> bool:
    if keep.count is None and keep.seconds is None:
        return True
    # a run whose times are unknown is not old: nobody knows
    ended = run.ended_at if run.ended_at is not None else run.started_at
    young = keep.seconds is not None and (ended is None or now - ended < keep.seconds)
    return young or (keep.count is not None and place < keep.count)


def _settled(run: Run, now: float) -> bool:
    ended = run.ended_at if run.ended_at is not None else run.started_at
    return ended is not None and now - ended > COMPRESS_AFTER_SECONDS


def delete(home: Path, folder: Path, *, dry_run: bool = False) -> int:
    """Delete a run folder: moved aside first, so that nobody ever sees half of it. Returns the bytes freed."""
    size = reader.disk_bytes(folder) if folder.is_dir() else 0
    if dry_run:
        return size
    aside = home / f".deleting-{os.getpid()}-{folder.name}"
    try:
        folder.rename(aside)
        shutil.rmtree(aside) if aside.is_dir() else aside.unlink()
    except FileNotFoundError:
        return 0  # another process was first
    except OSError as error:
        raise lifecycle.refused(f"cannot delete {folder}", error) from None
    return size


def _compress_run(run: Run, done: Collected, *, dry_run: bool) -> None:
    folder = lifecycle.folder_of(run)
    freed = 0
    for name in (*COMPRESSED, *sdkfiles.names(os.listdir(folder), sdkfiles.STEPS)):
        path = folder / name
        if path.is_file() and path.stat().st_size >= LEAST_BYTES:
            freed += 0 if dry_run else compress(path)
            if run.run_id not in done.compressed:
                done.compressed.append(run.run_id)
    done.freed_bytes += freed


def compress(path: Path) -> int:
    """Replace a file by its `.gz`: at every moment one of the two is whole. Returns the bytes freed."""
    packed = path.with_name(f"{path.name}.gz")
    # of this process alone: what two of them wrote into one file would be neither's
    partial = path.with_name(f".{path.name}.gz.{os.getpid()}.part")
    try:
        fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            for block in _deflate(path):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        freed = path.stat().st_size - partial.stat().st_size
        times = (path.stat().st_atime, path.stat().st_mtime)
        os.utime(partial, times)
        partial.rename(packed)
        path.unlink()
    except FileNotFoundError:
        partial.unlink(missing_ok=True)
        return 0  # another process was first
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise lifecycle.refused(f"cannot compress {path}", error) from None
    return freed


def _deflate(path: Path) -> Iterator[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield packer.compress(block)
    yield packer.flush()

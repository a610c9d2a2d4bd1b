"""Bring runs that other tools recorded into the house: found, read, written as run folders.

A folder appears whole or not at all. The same files give the same run id wherever they lie, so importing
twice finds what is there and says so.
"""

import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter import formats
from jobmeter.errors import JobmeterError, UsageError, reason_of
from jobmeter.formats import log, steplines
from jobmeter.model.imported import Imported
from jobmeter.runfolder import reader, records
from jobmeter.service import bundles, endless, foreign_runs, index

BUNDLE = "bundle"
"""A run of jobmeter's own, from a colleague."""
NAMES = (BUNDLE, *formats.ALL)
_GZIP = b"\x1f\x8b"
_SHORT_ID = 6
_LONG_ID = 12
_PASSED_BY = frozenset((".git", ".jobmeter", ".tox", ".venv", "__pycache__", "node_modules", "site-packages"))
"""Directories a search does not enter."""
_NO_LOG = re.compile(
    r"(?:licen[cs]e|copying|notice|authors|readme|changelog|changes|requirements|constraints|vocab|merges|labels|classes|"
    r"cmakelists|robots|top_level|entry_points|sources)(?:[-_.].*)?\.txt$",
    re.IGNORECASE,
)
"""Texts that projects and models are made of: a search does not look into them."""
QUIET_BYTES = 16 << 20
"""A log that a search found, of which so much shows no step, is not read to its end."""
_ENDING_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A run that was written, with what it holds."""

    run_id: str
    format: str
    steps: int
    windows: int
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that gave no new run, and why."""

    path: str
    reason: str
    known_run_id: str | None = None
    """Set where the run is there already."""


@dataclass(slots=True)
class Harvest:
    """What one import did."""

    runs: list[Brought] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    passed_by: int = 0
    """Texts that a search found and that hold nothing of a job: counted, not named."""
    looked_at: int = 0

    @property
    def empty_handed(self) -> bool:
        """Nothing was imported and nothing was there already."""
        return not self.runs and not any(skipped.known_run_id for skipped in self.skipped)


Watch = Callable[[Path, Harvest], None]
"""Told of every file before it is read."""


def import_paths(
    home: str, paths: Iterable[str], format_name: str | None = None, *, watch: Watch | None = None
) -> Harvest:
    """Import every run found under the paths; a directory is searched."""
    if format_name is not None and format_name not in NAMES:
        raise UsageError(f"unknown format: {format_name}", hint=f"use one of {', '.join(NAMES)}")
    importer = _Importer(Path(home), format_name, watch)
    for path in map(Path, paths):
        if os.path.isdir(path):
            importer.take_folder(path)
        else:
            importer.take_named(path)
    return importer.harvest


class _Importer:
    """Takes files one after the other; what belongs to a run that was taken is not taken again."""

    def __init__(self, home: Path, format_name: str | None, watch: Watch | None) -> None:
        self.harvest = Harvest()
        self._home = home
        self._format_name = format_name
        self._watch = watch
        self._consumed: set[Path] = set()

    def take_folder(self, folder: Path) -> None:
        """Take what a directory holds; texts that tell of no job are passed by."""
        name = self._format_name
        for file in _search(folder):
            if name in (None, BUNDLE) or formats.claims(file, name):
                self._take(file, searched=name is None)

    def take_named(self, path: Path) -> None:
        """Take a file that somebody named, and say why not where it is none."""
        harvest = self.harvest
        before = len(harvest.runs) + len(harvest.skipped)
        self._take(path, searched=False)
        if len(harvest.runs) + len(harvest.skipped) == before and _real(path) not in self._consumed:
            harvest.skipped.append(Skipped(path=str(path), reason=_why_not(path)))

    def _take(self, path: Path, *, searched: bool) -> None:
        if not _is_plain(path) or _real(path) in self._consumed:
            return
        if self._watch is not None:
            self._watch(path, self.harvest)
        self.harvest.looked_at += 1
        if searched and _NO_LOG.match(path.name):
            self.harvest.passed_by += 1
            return
        bundled = _bundled_run(path) if self._format_name in (None, BUNDLE) else None
        if bundled is not None:
            self._consumed.add(_real(path))
            _import_bundle(self._home, path, bundled, self.harvest)
            return
        try:
            found = self._read(path, searched=searched)
        except OSError as error:
            self.harvest.skipped.append(Skipped(path=str(path), reason=reason_of(error)))
            return
        except JobmeterError as error:
            self.harvest.skipped.append(Skipped(path=str(path), reason=str(error)))
            return
        for imported in found:
            self._consumed.update(map(_real, imported.sources))
            _keep(self._home, path, imported, self.harvest)

    def _read(self, path: Path, *, searched: bool) -> list[Imported]:
        recognised = self._format_name or formats.recognise(path)
        if recognised in (None, BUNDLE):
            return []
        if searched and recognised == log.FORMAT:
            return self._read_text(path)
        return list(formats.read(path, recognised, is_named=self._format_name is not None))

    def _read_text(self, path: Path) -> list[Imported]:
        """Read what may be a log and was named by nobody: one that tells of no job is not worth a sentence."""
        try:
            found = [] if _is_quiet(path) else list(log.parse(path))
        except UsageError:
            found = []
        self.harvest.passed_by += not found
        return found


def _is_plain(path: Path) -> bool:
    """Tell a file that has an end from a folder, a pipe, and what is not there or may not be looked at."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and endless.kind_of(status) is None


def _why_not(path: Path) -> str:
    try:
        kind = endless.kind_of(path.stat())
    except OSError as error:
        return "no such file" if isinstance(error, FileNotFoundError) else reason_of(error)
    return "no known format: see docs/formats.md" if kind is None else f"{kind}, which may never end"


def _real(path: Path) -> Path:
    """Follow links as far as they lead; pathlib's own way raises where they go round in a circle."""
    return Path(os.path.realpath(path))


def _search(folder: Path) -> Iterator[Path]:
    """Walk a directory in order; run folders are ours already."""
    for parent, folders, names in os.walk(folder):
        if "run.jsonl" in names or "run.jsonl.gz" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _PASSED_BY)
        yield from (Path(parent, name) for name in sorted(names))


def _is_quiet(path: Path) -> bool:
    """Tell a huge text whose beginning shows no step and whose end no error; a smaller one is read to be told."""
    size = path.stat().st_size
    if size <= QUIET_BYTES:
        return False
    lines = steplines.LogReader()
    for block, offset, _ in log.blocks(path):
        lines.feed(block, _unknown, offset)
        if lines.take()[0]:
            return False
        if offset + len(block) >= QUIET_BYTES:
            break
    with path.open("rb") as file:
        file.seek(size - _ENDING_BYTES)
        return not log.sniff(file.read(), "")


def _unknown(_offset: int) -> None:
    """Say that nobody knows when a byte arrived."""


def _bundled_run(path: Path) -> str | None:
    """Name the run that a bundle holds; None where the file is none."""
    try:
        with path.open("rb") as file:
            if file.read(len(_GZIP)) != _GZIP:
                return None
        with tarfile.open(path, mode="r|gz") as archive:
            member = archive.next()
    except (OSError, EOFError, tarfile.TarError, zlib.error):
        return None  # some other compressed file
    run_id, slash, _ = member.name.partition("/") if member is not None else ("", "", "")
    return run_id if slash and index.is_run_id(run_id) else None


def _import_bundle(home: Path, path: Path, run_id: str, harvest: Harvest) -> None:
    known = index.folder_of(home, run_id).exists()
    try:
        run = bundles.import_bundle(str(home), str(path))
    except JobmeterError as error:
        harvest.skipped.append(Skipped(path=str(path), reason=str(error)))
        return
    if known:
        reason = f"already imported as {run.run_id}"
        harvest.skipped.append(Skipped(path=str(path), reason=reason, known_run_id=run.run_id))
        return
    folder = index.folder_of(home, run.run_id)
    harvest.runs.append(
        Brought(
            run_id=run.run_id,
            format=BUNDLE,
            steps=sum(1 for _ in reader.read_steps(folder)),
            windows=sum(1 for _ in reader.read_windows(folder)),
            events=sum(1 for _ in reader.read_events(folder)),
        )
    )


def _keep(home: Path, path: Path, imported: Imported, harvest: Harvest) -> None:
    run_id, known = _free_id(home, imported)
    counts = None if known else foreign_runs.write(home, run_id, imported)
    if counts is None and not known:
        _keep(home, path, imported, harvest)  # another process took the id meanwhile: look whose run it is
        return
    if counts is None:
        reason = f"already imported as {run_id}"
        harvest.skipped.append(Skipped(path=str(path), reason=reason, known_run_id=run_id))
        return
    steps, windows, events = counts
    harvest.runs.append(
        Brought(run_id=run_id, format=imported.format, steps=steps, windows=windows, events=events)
    )


def _free_id(home: Path, imported: Imported) -> tuple[str, bool]:
    """Choose the id, and say whether this very run is there already; a clash makes it longer."""
    short = imported.run.run_id
    for digits in (_SHORT_ID, _LONG_ID):
        run_id = short[: short.rindex("-") + 1] + imported.digest[:digits]
        folder = index.folder_of(home, run_id)
        if not folder.exists():
            return run_id, False
        facts = records.read(folder)
        origin = facts.merged.get("imported")
        if isinstance(origin, dict) and origin.get("digest") == imported.digest:
            return run_id, True
    raise UsageError(f"run ids clash: {short}", hint=f"remove {index.folder_of(home, short)}")

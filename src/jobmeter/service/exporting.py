"""Hand a run to other tools: rendered by an exporter, written where the user asked.

The names of files are checked before the first is written.
"""

import gzip
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from jobmeter import exporters
from jobmeter.errors import UsageError, reason_of
from jobmeter.exporters import campaign as campaign_exporter
from jobmeter.model.run import Run
from jobmeter.service import campaign, runs, whole_files
from jobmeter.service.windows import Windows

_BLOCK_BYTES = 1 << 20

DATABASES = ("aitk",)
"""Formats that fill a database of another tool's, which has rows of other runs too."""
ANALYSED = ("campaign",)
"""Formats that hold what analysis says of a run, which an exporter cannot know by itself."""
WITH_OUTPUT = ("duct",)
"""Formats whose files stand beside the job's own bytes."""
NAMES = tuple(sorted((*exporters.ALL, *DATABASES, *ANALYSED)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A run rendered in some format, not yet written."""

    run: Run
    format: str
    prefix: str
    parts: Mapping[str, Iterable[bytes]]

    @property
    def is_document(self) -> bool:
        """One document, as against several files under a prefix."""
        return exporters.WHOLE in self.parts


def require_known(format_name: str) -> None:
    """Refuse a format that nobody writes."""
    if format_name not in NAMES:
        raise UsageError(f"unknown format: {format_name}", hint=f"use one of {', '.join(NAMES)}")


def export(home: str, ref: str, format_name: str, *, prefix: str | None = None) -> Exported:
    """Render a run; `prefix` begins the names of the files of formats that have several."""
    require_known(format_name)
    if format_name in ANALYSED:
        view = campaign.view(home, ref)
        parts = campaign_exporter.render(campaign.document_of(view))
        return Exported(run=view.run, format=format_name, prefix=prefix or "", parts=parts)
    view = runs.view(home, ref)
    if view.run.folder is None:
        raise UsageError(f"{view.run.run_id} has no folder here", hint="export it where it was recorded")
    chosen = f"{view.run.run_id}_" if prefix is None else prefix
    parts = exporters.load(format_name).render(view, Windows(Path(view.run.folder)), prefix=chosen)
    return Exported(run=view.run, format=format_name, prefix=chosen, parts=parts)


def write_document(exported: Exported, sink: BinaryIO) -> None:
    """Write the one document of a format to an open file."""
    for piece in exported.parts[exporters.WHOLE]:
        sink.write(piece)


def write_files(exported: Exported, target: str, *, replace: bool) -> list[str]:
    """Write the document to `target`, or the parts under it as a prefix, with the job's outputs where that is usual."""
    if exported.is_document:
        writes = {target: exported.parts[exporters.WHOLE]}
    else:
        prefix = _prefix(target, exported.format)
        writes = {prefix + name: piece for name, piece in exported.parts.items()}
        outputs = _outputs(exported.run) if exported.format in WITH_OUTPUT else {}
        writes |= {prefix + stream: _bytes_of(path) for stream, path in outputs.items()}
    standing = [path for path in writes if os.path.lexists(path)]
    if standing and not replace:
        raise UsageError(
            f"{standing[0]} is there already", hint="choose another name with -o, or add --force"
        )
    for path, pieces in writes.items():
        _make_parents(Path(path))
        with whole_files.writing(Path(path)) as file:
            for piece in pieces:
                file.write(piece)
    return list(writes)


def _prefix(target: str, format_name: str) -> str:
    """Take the ending of a format from a name that several files will begin with: `run.parquet` is `run.`."""
    ending = f".{format_name}"
    return f"{target.removesuffix(ending)}." if target.endswith(ending) else target


def _make_parents(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {reason_of(error)}", hint="choose another name with -o"
        ) from None


def _outputs(run: Run) -> dict[str, Path]:
    """Find the job's own bytes in its folder, plain or compressed."""
    found: dict[str, Path] = {}
    for output in run.outputs:
        if output.mode != "captured" or run.folder is None:
            continue
        plain = Path(run.folder, output.path)
        packed = plain.with_name(f"{plain.name}.gz")
        if plain.is_file() or packed.is_file():
            found[output.stream] = plain if plain.is_file() else packed
    return found


def _bytes_of(path: Path) -> Iterator[bytes]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block

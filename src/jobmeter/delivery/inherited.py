"""Output that went to a file of the user's own (Slurm, nohup, a redirection): which bytes of which file are the job's.

On the server it becomes an ordinary `stdout` that begins with the job's first byte, and the offsets in `output.index`
are counted from there. What can mislead: anybody can write a run folder that names any file, a secret one too. So a
file is taken at the word of the recorder while that runs, and afterwards only where the run's `end` record proves
that it knows the file's bytes.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.model import sync
from jobmeter.model.run import PROOF_BYTES
from jobmeter.runfolder import tailer

INDEX = "output.index"


@dataclass(frozen=True, slots=True)
class Inherited:
    """A file of the user's own and where in it the job begins."""

    path: Path
    begin: int
    end: int | None
    """Where the job's last byte ends, as soon as that is known: what follows is somebody else's."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How the offsets of `output.index` change, by stream."""

    begins: Mapping[str, int] = field(default_factory=dict)

    def applied(self, lines: bytes) -> bytes:
        """Count the offsets in whole lines of the index from the job's first byte."""
        if not any(self.begins.values()):
            return lines
        return b"".join(map(self._line, lines.splitlines(keepends=True)))

    def _line(self, line: bytes) -> bytes:
        try:
            stream, offset, at = json.loads(line)
            return json.dumps([stream, offset - self.begins.get(stream, 0), at]).encode() + b"\n"
        except (ValueError, TypeError, RecursionError):
            return line  # garbage costs a time, not the output


@dataclass(frozen=True, slots=True)
class Told:
    """What a run's records say of its outputs."""

    files: Mapping[str, Inherited] = field(default_factory=dict)
    shift: Shift = field(default_factory=Shift)
    is_known: bool = True
    """Whether the records say anything of outputs yet."""


def read(folder: Path, *, live: bool) -> Told:
    """Find the files of the user's that a job wrote to, as far as that can be believed."""
    if (folder / sync.MARKER).exists():
        return Told()  # it came from another machine, and what it named came with it
    told = _outputs(folder)
    outputs = [output for output in told if output.get("mode") == "inherited"]
    files: dict[str, Inherited] = {}
    begins: dict[str, int] = {}
    seen: set[str] = set()
    for output in outputs:
        stream, path, begin = output.get("stream"), output.get("path"), output.get("offset")
        if (
            not isinstance(stream, str)
            or not isinstance(path, str)
            or not isinstance(begin, int)
            or begin < 0
        ):
            continue
        begins[stream] = begin
        known = stream in ("stdout", "stderr") and path.startswith("/") and path not in seen
        if known and (live or _is_proven(path, begin, output)):
            seen.add(path)
            end = output.get("end")
            files[stream] = Inherited(Path(path), begin, end if isinstance(end, int) else None)
    return Told(files, Shift(begins), is_known=bool(told))


def _outputs(folder: Path) -> list[Mapping[str, object]]:
    """Give the last that records say of outputs: at the end it is known how far the job wrote."""
    found: list[Mapping[str, object]] = []
    for piece in tailer.pieces(folder, sync.RUN):
        for line in piece.lines:
            if b'"outputs"' not in line:
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue  # a garbled record says nothing
            outputs = record.get("outputs") if isinstance(record, dict) else None
            if isinstance(outputs, list):
                found = [output for output in outputs if isinstance(output, dict)]
    return found


def _is_proven(path: str, begin: int, output: Mapping[str, object]) -> bool:
    end, crc32 = output.get("end"), output.get("crc32")
    if not isinstance(end, int) or not isinstance(crc32, int) or end <= begin:
        return False
    first = max(begin, end - PROOF_BYTES)
    try:
        with Path(path).open("rb") as file:
            file.seek(first)
            return zlib.crc32(file.read(end - first)) == crc32
    except OSError:
        return False  # gone, or not ours to read

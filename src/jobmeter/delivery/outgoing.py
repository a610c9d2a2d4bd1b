"""What of a run folder has not been sent yet: whole lines of its files, output redacted, in bounded pieces.

`run.jsonl` is looked at first, and what it says of the end is sent last: who receives it may then take every other
file for whole, as readers of the folder itself do.
"""

import dataclasses
import os
import stat
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Self

from jobmeter.delivery import inherited
from jobmeter.delivery.redacting import Redactor
from jobmeter.delivery.sidecar import Sent
from jobmeter.model import sync
from jobmeter.model.sync import Carried, Held, Part
from jobmeter.runfolder import tailer

PIECE_BYTES = 2 << 20
LONGEST_LINE_BYTES = 8 << 20
"""A longer line of a file of lines cannot be sent."""
_END = b'"end"'
"""What says that a run ended holds this; what holds it besides may wait as well."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one file that go out together, and how far it has come then."""

    part: Part
    data: bytes
    until: Sent


class StuckError(Exception):
    """A file cannot be sent on."""


class File:
    """One file of a folder, opened; offsets are those of its uncompressed bytes."""

    def __init__(
        self,
        name: str,
        kind: Carried,
        file: BinaryIO,
        told: inherited.Told,
        span: inherited.Inherited | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self._file = file
        self._told = told
        self._begin = 0 if span is None else span.begin
        self._end = None if span is None else span.end

    def _size(self) -> int:
        """Say how many bytes of the job's there are."""
        size = os.fstat(self._file.fileno()).st_size
        return (size if self._end is None else min(size, self._end)) - self._begin

    def close(self) -> None:
        """Give the descriptor back."""
        self._file.close()

    @property
    def age_seconds(self) -> float:
        """Say how long ago it last grew."""
        return max(0.0, time.time() - os.fstat(self._file.fileno()).st_mtime)

    def left(self, sent: Sent) -> int:
        """Say how many bytes there are beyond what was sent."""
        return self._size() - sent.read

    def is_clear(self, *, closed: bool) -> bool:
        """Tell whether its lines can be read rightly: an index counts from where the records say."""
        return closed or self.name != inherited.INDEX or self._told.is_known

    def take(self, sent: Sent, limit_bytes: int, *, closed: bool) -> tuple[bytes, Sent]:
        """Read on from where sending stands: what goes out, and where it stands then."""
        size = self._size()
        if size < sent.read:
            raise StuckError(f"{self.name} became shorter than what was sent of it")
        while True:
            wanted = min(limit_bytes, size - sent.read)
            raw = os.pread(self._file.fileno(), wanted, self._begin + sent.read)
            at_end = sent.read + len(raw) >= size
            taken, data, key_lines = self._carry(raw, sent, closed=closed and at_end)
            if taken or at_end or len(raw) < limit_bytes:
                break
            limit_bytes *= 2
            if limit_bytes > LONGEST_LINE_BYTES:
                raise StuckError(f"{self.name} holds a line longer than {LONGEST_LINE_BYTES} bytes")
        crc32 = zlib.crc32(data, sent.crc32)
        return data, Sent(
            read=sent.read + taken, sent=sent.sent + len(data), crc32=crc32, key_lines=key_lines
        )

    def _carry(self, raw: bytes, sent: Sent, *, closed: bool) -> tuple[int, bytes, int]:
        """Give how much was taken, what becomes of it, and the redactor's state."""
        if self.kind is Carried.OUTPUT:
            redactor = Redactor(sent.key_lines)
            taken, data = redactor.take(raw, closed=closed)
            return taken, data, redactor.key_lines
        if self.kind is Carried.MAPPED:
            raw = raw.partition(b"\0")[0]
        whole = raw if closed else raw[: raw.rfind(b"\n") + 1]
        return len(whole), self._told.shift.applied(whole) if self.name == inherited.INDEX else whole, 0

    def rewound(self, held: Held) -> Sent:
        """Find where sending stands for who holds so much; StuckError when that is of another file."""
        sent = Sent()
        while True:
            data, until = self.take(sent, PIECE_BYTES, closed=False)
            if until.sent > held.size or not data:
                break
            sent = until
        rest = data[: held.size - sent.sent]
        if sent.sent + len(rest) != held.size or zlib.crc32(rest, sent.crc32) != held.crc32:
            raise StuckError(f"the server has another {self.name}")
        return sent


class Folder:
    """The files of one run that travel, opened once for as long as it takes to send them."""

    def __init__(self, path: Path, *, live: bool) -> None:
        """Open what there is; `live` where the recorder itself says which files of the user's the job writes to."""
        self._files: dict[str, File] = {}
        plain = {name.removesuffix(".gz") for name in os.listdir(path)}
        told = inherited.read(path, live=live)
        for name in sorted(plain, key=lambda name: (name != sync.RUN, name)):
            kind = sync.carried(name)
            file = None if kind is None else _open(path / name, os.O_NOFOLLOW)
            if kind is not None and file is not None:
                self._files[name] = File(name, kind, file, told)
        for stream, one in told.files.items():
            file = None if stream in self._files else _open(one.path)
            if file is not None:
                self._files[stream] = File(stream, Carried.OUTPUT, file, told, one)
        self.stuck: dict[str, str] = {}
        """Files that cannot be sent on, and why."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def file(self, name: str) -> File | None:
        """Give one of the files."""
        return self._files.get(name)

    def gather(self, state: dict[str, Sent], budget_bytes: int, *, closed: bool) -> tuple[list[Piece], bool]:
        """Take new bytes of all files, as many as fit into one request; True when more are left."""
        pieces: list[Piece] = []
        more = False
        records = self._records(_standing(state, sync.RUN), closed=closed)
        left = budget_bytes - sum(len(piece.data) for piece in records)
        for file in [file for name, file in self._files.items() if name != sync.RUN]:
            sent = _standing(state, file.name)
            waiting = file.left(sent)
            if not waiting or not file.is_clear(closed=closed):
                continue
            more = more or waiting > left
            if left <= 0:
                continue
            try:
                data, until = file.take(sent, left, closed=closed)
            except StuckError as error:
                self.set_aside(file.name, str(error))
                continue
            pieces.append(_piece(file, sent, data, until))
            left -= len(data)
        pieces += [_without_end(piece) for piece in records] if more else records
        return [piece for piece in pieces if piece.data], more

    def set_aside(self, name: str, reason: str) -> None:
        """Leave a file out from now on."""
        self.stuck[name] = reason
        self._files.pop(name).close()

    def _records(self, sent: Sent, *, closed: bool) -> list[Piece]:
        run = self._files.get(sync.RUN)
        if run is None:
            return []
        try:
            data, until = run.take(sent, LONGEST_LINE_BYTES, closed=closed)
        except StuckError as error:
            self.set_aside(sync.RUN, str(error))
            return []
        return [_piece(run, sent, data, until)]


def _without_end(piece: Piece) -> Piece:
    """Hold back what says that the run ended."""
    lines = piece.data.splitlines(keepends=True)
    before = next((at for at, line in enumerate(lines) if _END in line), len(lines))
    data = b"".join(lines[:before])
    begun = piece.part
    until = Sent(
        read=piece.until.read - len(piece.data) + len(data),
        sent=begun.offset + len(data),
        crc32=zlib.crc32(data, begun.crc32),
    )
    return Piece(dataclasses.replace(begun, length=len(data)), data, until)


def _standing(state: dict[str, Sent], name: str) -> Sent:
    return state.get(name, Sent())


def _piece(file: File, sent: Sent, data: bytes, until: Sent) -> Piece:
    part = Part(
        name=file.name,
        offset=sent.sent,
        crc32=sent.crc32,
        length=len(data),
        age_seconds=round(file.age_seconds, 3),
    )
    return Piece(part, data, until)


def _open(path: Path, flags: int = 0) -> BinaryIO | None:
    """Open a file; one that was compressed since is unpacked into a file without a name."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except FileNotFoundError:
        return _unpacked(path)
    except OSError:
        return None  # not ours to read, or a link
    file = os.fdopen(fd, "rb", buffering=0)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return file
    file.close()
    return None


def _unpacked(path: Path) -> BinaryIO | None:
    packed = path.with_name(f"{path.name}.gz")
    if not packed.is_file():
        return None
    file = TemporaryFile()  # noqa: SIM115  # closed with the folder
    for block in tailer.blocks(path.parent, path.name):
        file.write(block)
    file.flush()
    changed = packed.stat().st_mtime
    os.utime(file.fileno(), (changed, changed))
    return file

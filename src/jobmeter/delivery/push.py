"""Send a run folder to a server: new bytes of its files from where the server stands, again until all is there.

The folder is the spool, whatever becomes of network, server and this process: what the server confirmed is noted
beside the files, and where the note is wrong the server says what it has.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from jobmeter.delivery import outgoing, sidecar, wire
from jobmeter.model import sync
from jobmeter.model.sync import Held, Part

BUDGET_BYTES = 4 << 20
_LEAST_BUDGET_BYTES = 64 << 10
_MOST_REWINDS = 5
_COMPRESS_LEVEL = 3
_GZIP = 16 + zlib.MAX_WBITS
_LATER = frozenset((408, 425, 429, 500, 502, 503, 504, 507))
"""Answers that may be another next time."""


class NotTakenError(Exception):
    """The server was asked and will not take the run."""


class LaterError(Exception):
    """Nobody took it now; it may be asked again."""

    def __init__(
        self, reason: str, retry_after_seconds: float | None = None, *, is_answer: bool = True
    ) -> None:
        super().__init__(reason)
        self.retry_after_seconds = retry_after_seconds
        self.is_answer = is_answer
        """Whether a server said so, or none was there."""


@dataclass(slots=True)
class Pushed:
    """What one push did."""

    sent_bytes: int = 0
    requests: int = 0
    stuck: dict[str, str] = field(default_factory=dict)
    """Files that could not be sent on, and why."""


def push(
    folder: Path, server: wire.Target, *, closed: bool, live: bool = False, ask_again: bool = False
) -> Pushed:
    """Send what is new; `closed` when nothing more will be written, `live` at the word of the run's own recorder.

    With `ask_again` the server is asked also where all was confirmed before: it may have lost the run since.
    """
    connection = wire.Wire(server)
    try:
        with outgoing.Folder(folder, live=live) as files:
            return _Pushing(folder, files, server, connection).all(closed=closed, ask_again=ask_again)
    finally:
        connection.close()


class _Pushing:
    def __init__(
        self, folder: Path, files: outgoing.Folder, server: wire.Target, connection: wire.Wire
    ) -> None:
        self._folder = folder
        self._files = files
        self._url = server.url
        self._wire = connection
        self._path = f"/api/v1/runs/{quote(folder.name, safe='')}/sync"
        self._state = sidecar.load(folder, server.url)
        self._budget_bytes = BUDGET_BYTES
        self._rewinds = 0
        self._done = Pushed(stuck=files.stuck)

    def all(self, *, closed: bool, ask_again: bool = False) -> Pushed:
        """Send until nothing is left."""
        while True:
            pieces, more = self._files.gather(self._state.files, self._budget_bytes, closed=closed)
            final = closed and not more and not self._files.stuck
            if not pieces and (not final or (self._state.final and not ask_again)):
                return self._done
            pieces += self._unchanged(pieces) if final else []
            self._send(pieces, final=final)
            if not more and self._confirmed(pieces):
                return self._done

    def _unchanged(self, pieces: Sequence[outgoing.Piece]) -> list[outgoing.Piece]:
        """Ask of every other file too whether the server still has it: a power loss may have cost it some."""
        told = {piece.part.name for piece in pieces}
        return [
            outgoing.Piece(Part(name=name, offset=sent.sent, crc32=sent.crc32, length=0), b"", sent)
            for name, sent in self._state.files.items()
            if name not in told and self._files.file(name) is not None
        ]

    def _confirmed(self, pieces: Sequence[outgoing.Piece]) -> bool:
        return all(self._state.files.get(piece.part.name) == piece.until for piece in pieces)

    def _send(self, pieces: Sequence[outgoing.Piece], *, final: bool) -> None:
        body = encode(pieces, final=final)
        headers = {
            "Content-Type": sync.CONTENT_TYPE,
            "Content-Encoding": "gzip",
            "Accept": "application/json",
        }
        try:
            answer = self._wire.post(self._path, body, headers)
        except wire.UnreachableError as error:
            raise LaterError(str(error), is_answer=False) from None
        self._done.requests += 1
        if answer.status == 200:
            self._confirm(pieces, answer, final=final)
        elif answer.status == 409:
            self._rewind(pieces, answer)
        elif answer.status == 413 and self._budget_bytes > _LEAST_BUDGET_BYTES:
            self._budget_bytes //= 2
        elif answer.status in _LATER:
            raise LaterError(_told(answer), answer.retry_after_seconds)
        else:
            self._state.problem = _told(answer)
            sidecar.save(self._folder, self._url, self._state)
            raise NotTakenError(self._state.problem)

    def _confirm(self, pieces: Sequence[outgoing.Piece], answer: wire.Answer, *, final: bool) -> None:
        sizes = answer.document().get("files")
        for piece in pieces:
            size = sizes.get(piece.part.name) if isinstance(sizes, dict) else None
            if not isinstance(size, int) or size < piece.until.sent:
                raise LaterError("the server confirms less than it was sent")
            self._state.files[piece.part.name] = piece.until
            self._done.sent_bytes += len(piece.data)
        self._rewinds = 0
        self._state.final = final
        self._state.problem = ""
        sidecar.save(self._folder, self._url, self._state)

    def _rewind(self, pieces: Sequence[outgoing.Piece], answer: wire.Answer) -> None:
        """Go back, or on, to what the server has."""
        self._rewinds += 1
        held = _held(answer.document().get("files"))
        if self._rewinds > _MOST_REWINDS or not held:
            raise LaterError("the server contradicts itself about what it has")
        for piece in pieces:
            name = piece.part.name
            file = self._files.file(name)
            if name not in held or file is None:
                continue
            try:
                self._state.files[name] = file.rewound(held[name])
            except outgoing.StuckError as error:
                self._files.set_aside(name, str(error))


def encode(pieces: Sequence[outgoing.Piece], *, final: bool) -> bytes:
    """Write the body of one request, compressed."""
    header = {"files": [asdict(piece.part) for piece in pieces], "final": final}
    packer = zlib.compressobj(_COMPRESS_LEVEL, zlib.DEFLATED, _GZIP)
    blocks = [packer.compress(json.dumps(header).encode() + b"\n")]
    blocks += [packer.compress(piece.data) for piece in pieces]
    return b"".join([*blocks, packer.flush()])


def _held(files: object) -> dict[str, Held]:
    """Read what a server says it has; what it says wrongly is left out."""
    found: dict[str, Held] = {}
    for name, held in files.items() if isinstance(files, dict) else ():
        size, crc32 = (held.get("size"), held.get("crc32")) if isinstance(held, Mapping) else (None, None)
        if isinstance(size, int) and isinstance(crc32, int) and size >= 0:
            found[str(name)] = Held(size=size, crc32=crc32)
    return found


def _told(answer: wire.Answer) -> str:
    """Give the server's own words for why it refused."""
    problem = answer.document()
    detail = problem.get("detail")
    words = detail if isinstance(detail, str) and detail else "no reason given"
    shown = "".join(letter if letter.isprintable() else " " for letter in words)
    return f"{shown[:300]} (status {answer.status})"

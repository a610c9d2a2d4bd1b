"""Hide secrets in a job's output before it leaves, line by line, every line as long as before.

Because no line changes its length, an offset means the same here and on the server: `output.index` stays true, and
nothing has to be mapped. What that costs: a reader of the server's copy can tell how long a hidden secret was.
"""

from jobmeter.config import redaction

LONGEST_LINE_BYTES = 1 << 16
"""A longer line is cut, at a blank where there is one."""
_LONGEST_KEY_LINES = 500
_MARK = redaction.REDACTED.encode()
_SHORT_MARK = b"*"
_TOGETHER = 64
"""So many lines are looked at together; most hold nothing that looks like a secret."""


class Redactor:
    """Redacts one stream from where it left off."""

    def __init__(self, key_lines: int = 0) -> None:
        self.key_lines = key_lines
        """How many more lines may belong to a private key that began; 0 outside of one."""

    def take(self, data: bytes, *, closed: bool) -> tuple[int, bytes]:
        """Redact whole lines: how many bytes were taken, and as many to send; `closed` takes all."""
        found = list(_lines(data))
        if found and not closed and not _is_whole(found[-1]):
            found.pop()
        taken = sum(map(len, found))
        batches = (found[at : at + _TOGETHER] for at in range(0, len(found), _TOGETHER))
        return taken, b"".join(map(self._redact, batches))

    def _redact(self, batch: list[bytes]) -> bytes:
        """Look at some lines together, and halve them only where they look suspicious."""
        text = b"".join(batch)
        if not self.key_lines and not redaction.suspicious(text.decode("utf-8", "surrogateescape")):
            return text
        if len(batch) > 1:
            middle = len(batch) // 2
            return self._redact(batch[:middle]) + self._redact(batch[middle:])
        return self._redact_line(text)

    def _redact_line(self, line: bytes) -> bytes:
        body = line.rstrip(b"\r\n")
        if self.key_lines:
            self.key_lines = 0 if b"-----END" in body else self.key_lines - 1
            return _fit(_MARK, len(body)) + line[len(body) :]
        if b"PRIVATE KEY" in body and b"-----BEGIN" in body and b"-----END" not in body:
            self.key_lines = _LONGEST_KEY_LINES
        text = body.decode("utf-8", "surrogateescape")
        hidden = redaction.redact_text(text).encode("utf-8", "surrogateescape")
        return (
            body if hidden == text.encode("utf-8", "surrogateescape") else _fit(hidden, len(body))
        ) + line[len(body) :]


def _lines(data: bytes) -> list[bytes]:
    """Split at line ends, and long lines where any reader of the same bytes would split them."""
    found: list[bytes] = []
    for line in data.splitlines(keepends=True):
        while len(line) > LONGEST_LINE_BYTES:
            at = line.rfind(b" ", 0, LONGEST_LINE_BYTES) + 1 or LONGEST_LINE_BYTES
            found.append(line[:at])
            line = line[at:]
        found.append(line)
    return found


def _is_whole(line: bytes) -> bool:
    return line.endswith((b"\n", b"\r"))


def _fit(hidden: bytes, length: int) -> bytes:
    """Bring a redacted line to its old length: shorter marks where it grew, blanks at its end where it shrank."""
    while len(hidden) > length and _MARK in hidden:
        hidden = hidden.replace(_MARK, _SHORT_MARK, 1)
    return hidden[:length].ljust(length)

"""Foreign files as bytes and text: what they hash to, and their characters whatever the encoding did to them."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


def digest(paths: Iterable[Path]) -> str:
    """Hash the content of files in the order given; their names and places do not count."""
    total = hashlib.sha256()
    for path in paths:
        total.update(hash_of(path))
    return total.hexdigest()


def hash_of(path: Path) -> bytes:
    """Hash the content of one file, however large."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            found.update(block)
    return found.digest()


def text(path: Path) -> str:
    """Read a file as UTF-8; a byte order mark is dropped, a byte that is none becomes a question mark."""
    return decoded(path.read_bytes())


def decoded(raw: bytes) -> str:
    """Decode bytes as `text` does."""
    return raw.removeprefix(_BOM).decode("utf-8", "replace")


def lines(path: Path) -> Iterator[str]:
    """Walk the lines of a file without their ends, whichever of LF and CRLF they are."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for line in file:
            yield line.rstrip("\r\n")


def whole_lines(head: bytes) -> list[str]:
    """Split the beginning of a file into the lines that are surely whole; a file of one line is one."""
    parts = decoded(head).splitlines()
    cut = len(parts) > 1 and not head.endswith((b"\n", b"\r"))
    return parts[:-1] if cut else parts


def if_file(path: Path) -> Path | None:
    """Give a path back where it is a file."""
    return path if path.is_file() else None


def existing(*paths: Path) -> tuple[Path, ...]:
    """Keep the paths that are files."""
    return tuple(path for path in paths if path.is_file())

"""Files that appear under their name whole or not at all: written beside their place, then renamed.

What is no file is never replaced by one: `-o /dev/null`, asked for by root, would take the device from the machine.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from jobmeter.errors import UsageError, reason_of


@contextmanager
def writing(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file to be filled; a full disk or a forbidden place leaves what stood there as it was.

    A file that is replaced keeps its permissions, a new one has `mode`. A device or a pipe is written to.
    """
    try:
        standing = _standing_mode(path)
        is_other = standing is not None and not stat.S_ISREG(standing)
        kept = mode if standing is None else stat.S_IMODE(standing)
        with path.open("wb") if is_other else _replacing(path, kept) as file:
            yield file
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {reason_of(error)}", hint="name a file in a folder you may write to"
        ) from None


def _standing_mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _replacing(path: Path, mode: int | None) -> Iterator[BinaryIO]:
    target = Path(os.path.realpath(path))  # a link stays a link
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    partial.unlink(
        missing_ok=True
    )  # of a process that died under our number, or a trap laid in a shared folder
    try:
        with partial.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file
        partial.rename(target)
    finally:
        with suppress(OSError):
            partial.unlink()  # it is still there only where something went wrong

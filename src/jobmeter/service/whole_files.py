"""Files that appear under their name whole or not at all: written beside their place, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from jobmeter.errors import UsageError, reason_of


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be filled; a full disk or a forbidden place leaves what stood there as it was."""
    target = path.resolve()  # a link stays a link
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            yield file
        partial.rename(target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise UsageError(
            f"cannot write {path}: {reason_of(error)}", hint="name a file in a folder you may write to"
        ) from None

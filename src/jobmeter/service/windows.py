"""The windows of a run folder as something that can be walked again and again without holding them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobmeter.model.view import Window
from jobmeter.runfolder import reader


@dataclass(frozen=True, slots=True)
class Windows:
    """Reads `usage.jsonl` anew at each walk."""

    folder: Path

    def __iter__(self) -> Iterator[Window]:
        return reader.read_windows(self.folder)

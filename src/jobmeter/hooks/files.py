"""The files of a run folder that one training process writes: it alone, named after its rank.

The first process of a rank gets `sdk.jsonl` and `steps.jsonl` (`sdk.3.jsonl` for rank 3 of a distributed job);
any other, a fork or a second script of the same run, the same with its pid: `steps.pid4711.jsonl`.
"""

import errno
import os

from jobmeter.hooks import linefiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    OneFile = linefiles.MappedLines | linefiles.WrittenLines


class Files:
    """Makes the files of this process when their first line comes."""

    __slots__ = ("_failed", "_label", "_lost", "_open", "folder")

    def __init__(self, folder: str, rank_label: str, failed: "Callable[[OSError], None]") -> None:
        self.folder = folder
        self._label = rank_label
        self._failed = failed
        self._open: dict[str, OneFile] = {}
        self._lost: dict[str, int] = {}

    def put(self, what: str, line: bytes) -> None:
        """Append a line to `sdk` or `events`."""
        self.open(what).put(line)

    def open(self, what: str) -> "OneFile":
        """Give one of this process's files; OSError where it cannot be made."""
        file = self._open.get(what)
        if file is None:
            file = self._open[what] = self._create(what)
        return file

    def _create(self, what: str) -> "OneFile":
        mapped = what == "steps" and linefiles.can_map(self.folder)
        for name in self._names(what):
            try:
                return linefiles.create(os.path.join(self.folder, name), self._failed, mapped=mapped)
            except FileExistsError:
                continue  # another process has it, or had it
        raise FileExistsError(errno.EEXIST, "no name is left for a file")

    def _names(self, what: str) -> list[str]:
        label = f".{self._label}" if self._label else ""
        # the recorder's own events are in `events.jsonl`
        first = f"{what}.sdk.jsonl" if what == "events" and not label else f"{what}{label}.jsonl"
        mine = f"{what}{label}.pid{os.getpid()}"
        # in a container every process may be pid 7
        return [first, f"{mine}.jsonl", *(f"{mine}-{number}.jsonl" for number in range(2, 100))]

    def lose(self, what: str) -> None:
        """Count a line whose file could not be made."""
        self._lost[what] = self._lost.get(what, 0) + 1

    def dropped(self) -> dict[str, int]:
        """Count the lines that did not reach the disk, by file."""
        counts = dict(self._lost)
        for what, file in self._open.items():
            counts[what] = counts.get(what, 0) + file.dropped
        return {what: count for what, count in counts.items() if count}

    def close(self) -> None:
        """Cut the files to what was written."""
        for file in self._open.values():
            file.close()
        self._open = {}

    def after_fork(self) -> None:
        """Leave the parent's files to the parent."""
        for file in self._open.values():
            file.forget()
        self._open, self._lost = {}, {}

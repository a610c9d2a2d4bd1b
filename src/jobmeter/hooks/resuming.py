"""Find the run that a training goes on from. A folder has one recorder, so a resumed run is a new folder: it
shares the earlier one's `job_id`, names it in `resumed`, and counts its steps on."""

import os

import msgspec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, object]

_MOST_FOLDERS = 500
_TAIL_BYTES = 1 << 16
_LONGEST_RECORD_BYTES = 1 << 24


class Earlier:
    """A run to go on from."""

    __slots__ = ("job_id", "next_step", "run_id")

    def __init__(self, folder: str) -> None:
        start = start_of(folder)
        self.run_id = os.path.basename(folder)
        self.job_id = str(start.get("job_id") or self.run_id)
        self.next_step = _last_step(folder) + 1


def start_of(folder: str) -> "Record":
    """Read the first record of a run."""
    return _first_record(os.path.join(folder, "run.jsonl")) or {}


def find(home: str, resume: str, named: "Record") -> Earlier | None:
    """Find a run by its id, or with `allow` and `must` the newest of the same project and name."""
    for folder in _folders(home):
        if resume not in ("allow", "must"):
            if os.path.basename(folder) == resume:
                return Earlier(folder)
            continue
        told = _told(folder)
        if told is not None and all(told.get(key) == named.get(key) for key in ("project", "name")):
            return Earlier(folder)
    return None


def _folders(home: str) -> "Iterator[str]":
    """Go through run folders, newest first: their names begin with the time."""
    seen = 0
    runs = os.path.join(home, "runs")
    for month in _names(runs):
        for name in _names(os.path.join(runs, month)):
            seen += 1
            if seen > _MOST_FOLDERS:
                return
            yield os.path.join(runs, month, name)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []


def _told(folder: str) -> "Record | None":
    """Read what the SDK said of itself in an earlier run, and what the settings of that run said for it."""
    for name in sorted(_names(folder)):
        if name.startswith("sdk.") and name.endswith(".jsonl"):
            said = _first_record(os.path.join(folder, name))
            return None if said is None else start_of(folder) | said
    return None


def _last_step(folder: str) -> int:
    """Find the highest of the last steps that any process wrote; -1 where none did."""
    steps = [-1]
    for name in _names(folder):
        if name.startswith("steps.") and name.endswith(".jsonl"):
            last = [record.get("step") for record in _last_records(os.path.join(folder, name))]
            steps += [step for step in last[-1:] if isinstance(step, int)]
    return max(steps)


def _first_record(path: str) -> "Record | None":
    """Read the first record of a file, however long: that of the SDK holds the config."""
    try:
        with open(path, "rb") as file:
            return _record(file.readline(_LONGEST_RECORD_BYTES))
    except OSError:
        return None


def _last_records(path: str) -> "Iterator[Record]":
    """Read whole records near the end of a file."""
    for line in _tail(path).split(b"\n"):
        found = _record(line)
        if found is not None:
            yield found


def _record(line: bytes) -> "Record | None":
    """Read one record; None for half a line."""
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


def _tail(path: str) -> bytes:
    """Read 64 KiB; a file that a crash left ends at its first NUL byte, up to a megabyte before its end."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            back = _TAIL_BYTES
            while True:
                file.seek(max(0, size - back))
                text = file.read(back).partition(b"\0")[0]
                if text or back >= size:
                    return text
                back *= 4
    except OSError:
        return b""

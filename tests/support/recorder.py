"""Run the real recorder in a home of its own and read what it left, with nothing but `json`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

JOBMETER = [sys.executable, "-m", "jobmeter"]
Record = dict[str, Any]
Word = str | bytes
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished:
    """A recording that is over."""

    code: int
    stdout: bytes
    stderr: bytes
    home: Path

    @property
    def folder(self) -> Path:
        """The folder of the only run of this home."""
        return only_folder(self.home)

    @property
    def run(self) -> Record:
        """The records of `run.jsonl`, merged in order, of a recorder that did not break."""
        assert events(self.folder, "source_failed") == []
        return merged(self.folder)


@dataclass(frozen=True, slots=True)
class Home:
    """A place for runs that no setting of this machine reaches."""

    path: Path
    traced: bool = True
    """Whether coverage may look into the recorder: it costs time, memory and descriptors that some tests count."""

    def environ(self, **more: str) -> dict[str, str]:
        """Give this process's environment with a clean jobmeter."""
        unwanted = ("JOBMETER_",) if self.traced else ("JOBMETER_", "COVERAGE_", "COV_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        return (
            kept | {"JOBMETER_HOME": str(self.path), "XDG_CONFIG_HOME": str(self.path / "no-config")} | more
        )

    def start(self, *words: Word, before: Sequence[Word] = (), **popen: Any) -> "subprocess.Popen[bytes]":
        """Start `jobmeter run` with these words; `before` stands in front of the whole command line."""
        popen.setdefault("env", self.environ())
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*before, *JOBMETER, "run", *words], **popen)

    def run(self, *words: Word, stdin: bytes | None = None, seconds: float = 30, **popen: Any) -> Finished:
        """Run `jobmeter run` to its end."""
        if stdin is not None:
            popen["stdin"] = subprocess.PIPE
        process = self.start(*words, **popen)
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        finally:
            process.kill()
        return Finished(process.returncode, out or b"", err or b"", self.path)

    def finish(self, process: "subprocess.Popen[bytes]", seconds: float = 30) -> Finished:
        """Wait for a started recording."""
        try:
            out, err = process.communicate(timeout=seconds)
        finally:
            process.kill()
        return Finished(process.returncode, out or b"", err or b"", self.path)

    def folders(self) -> list[Path]:
        """List the run folders, oldest first."""
        return sorted(self.path.glob("runs/*/*"))


def leave(process: "subprocess.Popen[bytes]") -> None:
    """Let go of a recording whose output nobody wants to wait for."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def only_folder(home: Path) -> Path:
    """Find the one run of a home."""
    (folder,) = home.glob("runs/*/*")
    return folder


def lines(path: Path) -> list[Any]:
    """Read a file of whole lines strictly; a file that is not there has none."""
    if not path.exists():
        return []
    text = path.read_bytes()
    assert not text or text.endswith(b"\n"), f"{path.name} ends in half a record: {text[-80:]!r}"
    return [json.loads(line) for line in text.splitlines()]


def merged(folder: Path) -> Record:
    """Merge the records of a run."""
    run: Record = {}
    for record in lines(folder / "run.jsonl"):
        run |= record
    return run


def records(folder: Path) -> dict[str, Record]:
    """Give the records of a run by type."""
    return {record["type"]: record for record in lines(folder / "run.jsonl")}


def events(folder: Path, kind: str | None = None) -> list[Record]:
    """Give the events of a run, or those of one kind."""
    return [event for event in lines(folder / "events.jsonl") if kind in (None, event["type"])]


def usage(folder: Path) -> list[Record]:
    """Give the lines of `usage.jsonl`."""
    return lines(folder / "usage.jsonl")


def keys_of(folder: Path) -> set[str]:
    """Name every key that `usage.jsonl` holds."""
    return {key for line in usage(folder) for key in line["measurements"]}


def series(folder: Path, key: str) -> Iterator[tuple[str, Any]]:
    """Give instance and value of a key, line by line."""
    for line in usage(folder):
        value = line["measurements"].get(key)
        if isinstance(value, Mapping):
            yield from value.items()
        elif value is not None:
            yield "", value


def wait_for(condition: Callable[[], T], seconds: float = 15) -> T:
    """Wait until `condition` gives something true, and give that."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.005)
    return found


def sampled(home: Path) -> Path | None:
    """Find the run's folder once it holds a sample."""
    found = list(home.glob("runs/*/*/usage.jsonl"))
    return found[0].parent if found and found[0].stat().st_size else None


def children(pid: int) -> list[int]:
    """List the children of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []

"""Any text that a job printed: its steps, its milestones, and the text itself as the run's output.

A file is taken by itself only if it holds steps, milestones or a known error; named explicitly (`jobmeter import log
FILE`) any text is. What misleads: a log rarely says how its job ended, most clocks name no zone, and a row that says
no step, with no bar beside it, can only be counted.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.errors import UsageError
from jobmeter.formats import content, steplines, training
from jobmeter.formats.errorlines import endings
from jobmeter.model.imported import Imported
from jobmeter.model.run import Status
from jobmeter.model.view import Event, Step

FORMAT = "log"
_BLOCK_BYTES = 1 << 20
_OVERLAP_BYTES = 256
_NAMED = re.compile(
    r"(?:\.(?:log|out|err|txt|stdout|stderr|[oe]\d+)(?:\.\d+)?|^(?:log|nohup|stdout|stderr|output))$", re.I
)
_OTHERS = re.compile(
    r"\.(?:py|pyi|ipynb|md|rst|html?|jsx?|tsx?|vue|css|scss|json|ya?ml|toml|cfg|conf|ini|properties|sh|bash|zsh|ps1|bat|cmd|"
    r"c|cc|cpp|cxx|h|hh|hpp|cu|cuh|cs|rs|go|java|kt|scala|swift|php|rb|pl|lua|r|jl|f90|asm|nf|smk|cmake|gradle|proto|tex|bib|"
    r"csv|tsv|sql|xml|svg|lock|diff|patch)$",
    re.IGNORECASE,
)
"""Source, settings, prose and tables may quote a line of training; nobody logs into them."""
_ERRORS = re.compile(
    rb"Traceback \(most recent call last\)|out of memory|OutOfMemoryError|oom[-_]kill(?!\s+\d)|invoked oom-killer"
    rb"|lurmstepd: error|DUE TO TIME LIMIT|Segmentation fault|ChildFailedError|core dumped|No space left on device"
    rb"|Disk quota exceeded|CUDA error|NCCL error|Watchdog caught collective|failed to solve|build step \d+ .*failed"
    rb"|^Killed$|ERROR: .*failed",
    re.MULTILINE | re.IGNORECASE,
)
_ERROR_WORDS = (
    b"traceback (most", b"out of memory", b"outofmemory", b"oom-kill", b"oom_kill", b"lurmstepd: error",
    b"due to time limit", b"segmentation fault", b"childfailederror", b"core dumped", b"no space left", b"disk quota",
    b"cuda error", b"nccl error", b"watchdog caught", b"failed to solve", b"build step ", b"killed", b"error: ",
)  # fmt: skip
"""In lower case: text without any of them holds no such error, and is not worth a pattern that tries them all."""
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_LONGEST_ENDING = 65_536
"""More text than what a failing job still prints."""
_SURE_OF_STEPS, _SURE_OF_ERRORS, _NAMED_SO = 0.25, 0.15, 0.05
_MOST_ODD_BYTES = 0.05
_HOLE = re.compile(rb"\x00{32,}")
_ODD = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")


def sniff(head: bytes, name: str) -> float:
    """Claim weakly, after every format that knows its files: what holds steps or errors, or is called a log."""
    if not head or head.startswith(b"#!") or _OTHERS.search(name) or not _is_text(head):
        return 0.0
    reader = steplines.LogReader()
    reader.feed(_as_utf8(head), _unknown, 0, final=True)
    if reader.take()[0]:
        return _SURE_OF_STEPS
    if _ERRORS.search(head):
        return _SURE_OF_ERRORS
    return _NAMED_SO if _NAMED.search(name) else 0.0


def parse(path: Path) -> Iterable[Imported]:
    """Read a log that holds steps, milestones or a known error; raise UsageError where it holds none."""
    found = _survey(path)
    if not found.steps and not found.has_milestones and found.last_error is None:
        raise UsageError(
            "no steps of a training and no known error in it",
            hint=f"jobmeter import {FORMAT} {path} keeps its text",
        )
    return (_imported(path, found),)


def parse_named(path: Path) -> Iterable[Imported]:
    """Read any text that was named as a log, with or without steps."""
    with path.open("rb") as file:
        head = file.read(_BLOCK_BYTES)
    if head and not _is_text(head):
        raise UsageError("not a text", hint="name the format it has, or leave the format out")
    return (_imported(path, _survey(path)),)


def steps(path: Path) -> Iterator[Step]:
    """Walk the steps of a log, read anew at each walk."""
    reader = steplines.LogReader()
    for block, offset, is_last in blocks(path):
        reader.feed(block, _unknown, offset, final=is_last)
        yield from reader.take()[0]


@dataclass(slots=True)
class _Survey:
    """What one walk over a log tells of the run."""

    seen: training.Survey = field(default_factory=training.Survey)
    events: list[Event] = field(default_factory=list)
    results: dict[str, object] = field(default_factory=dict)
    milestones: list[object] = field(default_factory=list)
    """Those without a time."""
    last_error: int | None = None
    size: int = 0
    last_step: int = 0
    reached_end: bool = False
    tests_passed_at: int | None = None
    counted_rows: bool = False
    guessed_sizes: bool = False
    assumed_utc: bool = False

    @property
    def steps(self) -> int:
        """How many steps it holds."""
        return self.seen.count

    @property
    def has_milestones(self) -> bool:
        """Tell whether the log says how far its job was."""
        return bool(self.milestones) or any(event.type == "milestone" for event in self.events)

    @property
    def status(self) -> Status | None:
        """Say how the job ended, as far as its text tells."""
        if self.tests_passed_at is not None and self.tests_passed_at > (self.last_error or 0):
            return Status.COMPLETED
        if self.last_error is not None and self.last_error >= self.last_step:
            if self.size - self.last_error > _LONGEST_ENDING:
                return None  # whatever it was, the job went on
            return Status.FAILED
        return Status.COMPLETED if self.reached_end else None


def _errors(text: bytes) -> Iterable[re.Match[bytes]]:
    lower = text.lower()
    return _ERRORS.finditer(text) if any(word in lower for word in _ERROR_WORDS) else ()


def _survey(path: Path) -> _Survey:
    found = _Survey()
    reader = steplines.LogReader()
    before = tail = b""
    for block, offset, is_last in blocks(path):
        tail = (tail + block)[-endings.LOOKED_AT_BYTES :]
        reader.feed(block, _unknown, offset, final=is_last)
        made, events = reader.take()
        for step in made:
            found.seen.note(step.timestamp)
        found.events += events
        for error in _errors(before + block):
            found.last_error = offset - len(before) + error.start()
        before = block[-_OVERLAP_BYTES:]
        found.size = offset + len(block)
    found.last_step = reader.last_row_end
    found.reached_end = reader.reached_end or endings.shows_end(tail)
    passed = endings.pass_to_end_bytes(tail)
    found.tests_passed_at = None if passed is None else found.size - passed
    found.counted_rows = reader.counted_rows
    found.guessed_sizes, found.assumed_utc = reader.guessed_sizes, reader.assumed_utc
    told = [(event.type, event.details) for event in found.events]
    for kind, details in (*reader.untimed, *told):
        if kind == "summary":
            found.results = details
    found.milestones = [details for kind, details in reader.untimed if kind == "milestone"]
    return found


def _imported(path: Path, found: _Survey) -> Imported:
    inexact: dict[str, str] = {}
    if found.counted_rows:
        inexact["steps"] = "rows are counted: neither they nor a bar beside them say the step"
    elif found.guessed_sizes:
        inexact["steps"] = (
            "the size of an epoch is taken from its last row: later steps may be a little short"
        )
    if found.assumed_utc and (found.steps or found.events):
        inexact["timestamps"] = "the log's clock names no zone and is read as UTC"
    told = training.Told(
        format=FORMAT,
        digest=content.digest((path,)),
        sources=(path,),
        steps=training.Again(lambda: steps(path)) if found.steps else (),
        seen=found.seen,
        events=found.events,
        outputs={"stdout": path} if path.stat().st_size else {},
        name=path.name,
        status=found.status,
        results=found.results,
        context={"milestones": found.milestones, "tests_passed_at": found.tests_passed_at},
        inexact=inexact,
    )
    return training.imported(told)


def blocks(path: Path) -> Iterator[tuple[bytes, int, bool]]:
    """Read a file in portions of UTF-8, each with its offset and whether it is the last."""
    offset = 0
    with path.open("rb") as file:
        encoding = _UTF16.get(file.read(2))
        file.seek(2 if encoding else 0)
        decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding else None
        while True:
            raw = file.read(_BLOCK_BYTES)
            block = decoder.decode(raw, final=not raw).encode("utf-8", "replace") if decoder else raw
            yield block, offset, not raw
            if not raw:
                return
            offset += len(block)


def _as_utf8(head: bytes) -> bytes:
    encoding = _UTF16.get(head[:2])
    return head[2:].decode(encoding, "replace").encode("utf-8", "replace") if encoding else head


def _is_text(head: bytes) -> bool:
    """Tell text from bytes of a program, whatever the encoding; files written by several hosts have holes."""
    plain = _HOLE.sub(b"", _as_utf8(head))
    return bool(plain) and len(_ODD.findall(plain)) <= _MOST_ODD_BYTES * len(plain)


def _unknown(_offset: int) -> None:
    """Say that nobody knows when a byte arrived."""

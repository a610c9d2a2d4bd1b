"""What stands before a message: the prefix of a launcher or a builder, the stamp of a log daemon, a rank, a
level.

What misleads: `ERROR` is a level only where nothing but a clock, names and brackets stand before it; in a
line of source code, a table or a sentence it is a word.
"""

import re
from dataclasses import dataclass

_NOISE = re.compile(
    r"Step #\d+(?: - \"[^\"]*\")?: ?"  # Cloud Build
    r"|#\d+ (?:\d+\.\d+ )?"  # BuildKit
    r"|\((?:[\w.]+ )?pid=\d+(?:, ip=[\d.]+)?\) "  # Ray
    r"|[\w.-]{1,40}-\d+ +\| "  # docker compose
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:std(?:out"
    r"|err) [FP] )?"  # docker, kubectl, Actions
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ (?=\S+: )"  # syslog
    r"|kernel: |<\d>"
    r"|\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? "  # dmesg
    r"|\[[^\W\d_]{2,4}\.? [^\W\d_]{3,4}\.? [ \d]\d \d\d:\d\d:\d\d \d{4}\] "  # dmesg -T
)
_RANK = re.compile(
    r"\[(?:rank|RANK|Rank)[ :=]?(?P<rank>\d{1,6})\]: ?|\[(?:rank)(?P<bare>\d{1,6})\](?=:\[)"
    r"|\[\d+,(?P<mpi>\d{1,6})\]<std(?:out|err)>: ?"
    r"|\[(?:default|trainer|worker|train)(?P<torchrun>\d{1,6})\]: ?"
    r"|(?P<srun>\d{1,5}): (?=[A-Za-z\[ ])"
)
_WITHIN = re.compile(r"\[(?:PG [^\]]{0,60}?)?[Rr]ank[ -]?(?P<rank>\d{1,6})(?:/\d+)?\]")
_GLOG = re.compile(
    r"\W{0,3}(?P<level>[IWEF])\d{3,4} \d\d:\d\d:\d\d|.{0,40}?\d: (?P<tf>[IWEF]) [\w./]+:?\d*\]?"
)
_LEVEL = re.compile(r"(?<![\w./-])(?P<level>CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|DEBUG)(?![\w/-])")
_BEFORE_LEVEL = re.compile(r"[\w\s.:,\-/\[\]|<>#@%+*\x7f-\U0010ffff]*")
_WORD = re.compile(r"\b[a-z]+\b(?![.:\]_])")
_SAID_FIRST = re.compile(
    r"(?:\S{1,60}: ){0,2}(?P<level>fatal error|fatal|error|Error|warning)\b: (?!-?[\d.]+\b)"
)
_NAMES = {
    "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL", "WARN": "WARNING", "FATAL": "CRITICAL",
    "fatal error": "ERROR", "fatal": "CRITICAL", "error": "ERROR", "Error": "ERROR", "warning": "WARNING",
}  # fmt: skip
_MOST_PREFIXES = 4
_LOOKED_AT = 110
_MOST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Head:
    """A line taken apart."""

    text: str
    """The rest; its indentation is kept, because tracebacks are told by it."""
    rank: int | None
    level: str | None


def split(line: str) -> Head:
    """Cut prefixes off a line, and read rank and level from them."""
    rank = None
    for _ in range(_MOST_PREFIXES):
        found = _RANK.match(line)
        if found is not None and rank is None:
            rank = int(next(value for value in found.groups() if value is not None))
        else:
            found = _NOISE.match(line)
        if found is None:
            break
        line = line[found.end() :]
    if rank is None and "ank" in line[:160]:
        within = _WITHIN.search(line, 0, 160)
        rank = int(within["rank"]) if within else None
    return Head(line, rank, _level(line[:_LOOKED_AT]))


def _level(text: str) -> str | None:
    glog = _GLOG.match(text)
    if glog is not None:
        return _NAMES[glog["level"] or glog["tf"]]
    found = _LEVEL.search(text)
    if found is not None and _is_head(text[: found.start()]):
        return _NAMES.get(found["level"], found["level"])
    said = _SAID_FIRST.match(text)
    return None if said is None else _NAMES[said["level"]]


def _is_head(before: str) -> bool:
    return _BEFORE_LEVEL.fullmatch(before) is not None and len(_WORD.findall(before)) <= _MOST_WORDS

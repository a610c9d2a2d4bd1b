"""What `ps` prints, for the columns jobmeter asks for, on Linux (procps) and macOS.

Linux cuts CPU time to whole seconds (`00:01:07`, `2-03:04:05`), macOS gives hundredths (`67:12.34`).
"""

COLUMNS = ("pid", "rss", "vsz", "pmem", "etime", "cputime", "stat", "command")
"""Named alike on Linux and macOS. Each goes into an `-o` of its own: POSIX lets one swallow the rest."""

_COMMAND_CHARACTERS = 4096


class PsRow:
    """One process as `ps` saw it; a column it could not fill is None."""

    __slots__ = (
        "command",
        "cputime_seconds",
        "etime_seconds",
        "pid",
        "pmem_percent",
        "rss_bytes",
        "stat",
        "vsz_bytes",
    )

    def __init__(self, pid: int, words: list[str]) -> None:
        self.pid = pid
        self.rss_bytes = _kilobytes(words[1])
        self.vsz_bytes = _kilobytes(words[2])
        self.pmem_percent = _number(words[3])
        self.etime_seconds = parse_time(words[4])
        self.cputime_seconds = parse_time(words[5])
        self.stat = words[6]
        self.command = words[7][:_COMMAND_CHARACTERS].rstrip() if len(words) > 7 else ""

    @property
    def is_zombie(self) -> bool:
        return self.stat.startswith("Z")


def parse(text: bytes) -> list[PsRow]:
    """Read one row per process; a line without a pid (the second line of a command) is skipped."""
    rows: list[PsRow] = []
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        words = line.split(None, len(COLUMNS) - 1)
        if len(words) < len(COLUMNS) - 1 or not words[0].isdigit():
            continue
        rows.append(PsRow(int(words[0]), words))
    return rows


def parse_time(text: str) -> float | None:
    """Read `[[dd-]hh:]mm:ss[.cc]` as seconds; None for anything else, such as the `-` of a zombie."""
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not 2 <= len(parts) <= 3 or (dash and not days.isdigit()):
        return None
    seconds = 0.0
    for part in parts:
        value = _number(part)
        if value is None:
            return None
        seconds = seconds * 60 + value
    return seconds + (int(days) * 86400 if dash else 0)


def _number(word: str) -> float | None:
    if not word[:1].isdigit():
        return None
    try:
        return float(word)
    except ValueError:
        return None


def _kilobytes(word: str) -> int | None:
    return int(word) * 1024 if word.isdigit() else None

"""A setting that was refused, taken apart: what is wrong with it, and where it stands.

YAML tells two places: where what it was reading begins, and where it could not go on; the mistake is at one of them or
in between. JSON and TOML tell the second alone.
"""

import re
from dataclasses import dataclass

from jobmeter.analysis.verdict import facts
from jobmeter.model.report import LogError

_PLACE = re.compile(
    r"(?:in \"(?P<file>[^\"]*)\", |[(:] ?(?:at )?)line (?P<line>\d+),? column (?P<column>\d+)"
    r"(?: \(char \d+\)| char \d+)?\)?"
)
_SPEAKER = re.compile(r"^(?:(?:\S+: )?[Ee]rror: |(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)(?::\s|$))")
"""Who says it: a program, or the name of an exception."""
_VALIDATED = re.compile(r"\d+ validation errors? for ")
_DETAIL = re.compile(r"[\[(]type=[\w.]+.*$")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a config."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a job said of its settings."""

    words: str
    """All of it, in one line."""
    problem: str
    """What is wrong, without the places."""
    places: tuple[Place, ...] = ()
    file: str | None = None
    """The config, where it is one that has a name."""


def read(error: LogError) -> Refusal:
    """Take a complaint apart; what is not known is left out."""
    text = _one_line(error.message)
    marks = list(_PLACE.finditer(text))
    plain = facts.shortened(_SPEAKER.sub("", text)) or facts.first_line(error)
    if not marks:
        return Refusal(words=plain, problem=plain)
    file = next((mark["file"] for mark in marks if mark["file"] and not mark["file"].startswith("<")), None)
    places = tuple(Place(int(mark["line"]), int(mark["column"])) for mark in marks[:2])
    begin = _SPEAKER.sub("", text[: marks[0].start()]).strip(" :")
    if len(marks) == 1:
        where = f"{file}, {places[0]}" if file else str(places[0])
        return Refusal(words=facts.shortened(f"{begin}, {where}"), problem=begin, places=places, file=file)
    problem = text[marks[0].end() : marks[1].start()].strip(" :")
    where = f"{file}, {places[0]}" if file else str(places[0])
    words = f"{begin}, {where}: {problem} at {places[1]}"
    return Refusal(words=facts.shortened(words), problem=problem, places=places, file=file)


def _one_line(message: str) -> str:
    lines = message.split("\n")
    if len(lines) == 1 or not _VALIDATED.search(lines[0]):
        return " ".join(line.strip() for line in lines)
    # pydantic: the name of a setting, and below it what is wrong with it
    told = "".join(
        f" {_DETAIL.sub('', line.strip()).rstrip()}" if line[:1].isspace() else f"; {line.strip()}:"
        for line in lines[1:]
    )
    return f"{lines[0].strip()}: {told.lstrip('; ')}"

"""What runs now, for a terminal: rows with small lines, alerts, and one run closely; of a home, or of a server.

Both sources give the documents of the API, so that the same is shown whoever answers. What can mislead: a line is as
new as the last report of its recorder, some seconds at most.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar
from urllib.parse import quote, unquote, urlencode

import msgspec

from jobmeter.config import receivers
from jobmeter.delivery import wire
from jobmeter.errors import JobmeterError, UnknownError
from jobmeter.model import alert
from jobmeter.model.board import Alerts, Board, Close, Glance, Glances, LiveRun, Living
from jobmeter.model.log_page import LogPage
from jobmeter.service import alerting, by_id, charts, glances, living, log_pages, run_parts

LINES = ("memory", "cpu", "loss")
MOST_ROWS = glances.MOST_RUNS
"""Rows that have lines."""
MOST_ALERTS = 20
TAIL_LINES = 200
_ANSWER_BYTES = 16 << 20
_PATIENCE_SECONDS = 15.0
Document = TypeVar("Document")


class Source(Protocol):
    """Who is asked."""

    @property
    def place(self) -> str:
        """Say whose runs they are."""

    def get(self, path: str, query: Mapping[str, str | int], shape: type[Document]) -> Document:
        """Give the document that the API has at an address."""


def look(source: Source) -> Board:
    """Read all that is shown at once."""
    found = source.get("/api/v1/live", {}, Living)
    ids = [run.run_id for job in found.jobs for run in job.runs][:MOST_ROWS]
    seen = [one for some in _pieces(ids) for one in _glances(source, some)]
    alerts = source.get("/api/v1/alerts", {"state": "firing", "limit": MOST_ALERTS}, Alerts)
    return Board(living=found, lines={one.run_id: one.lines for one in seen}, alerts=alerts.alerts)


def _pieces(ids: Sequence[str]) -> Iterator[list[str]]:
    """Cut a list of ids into those that can be asked for at once."""
    piece: list[str] = []
    for run_id in ids:
        if piece and len(",".join((*piece, run_id))) > glances.MOST_LETTERS:
            yield piece
            piece = []
        piece.append(run_id)
    if piece:
        yield piece


def _glances(source: Source, ids: Sequence[str]) -> tuple[Glance, ...]:
    query = {"runs": ",".join(ids), "lines": ",".join(LINES)}
    return source.get("/api/v1/runs/glances", query, Glances).runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    key: str
    instance: str = ""
    rate: bool = False
    max: tuple[float | None, ...] = ()
    mean: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    series: tuple[_Measured, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logged:
    metric: str
    last: tuple[float | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curves:
    series: tuple[_Logged, ...]


def look_closely(source: Source, run_id: str, points: int) -> Close:
    """Read one run with lines of so many points, and the end of its output."""
    at = f"/api/v1/runs/{quote(run_id, safe='')}"
    run = source.get(at, {}, LiveRun)
    lines = {name: line for one in _glances(source, [run_id]) for name, line in one.lines.items()}
    for name, line in lines.items():
        query: dict[str, str | int] = {"metrics" if name == "loss" else "keys": line.key, "points": points}
        if name == "loss":
            values = _curve(source.get(f"{at}/steps", query, _Curves))
        else:
            values = _line(source.get(f"{at}/series", query, _Series))
        if values:
            lines[name] = replace(line, values=values)
    output, silence = _output(source, f"{at}/logs")
    return Close(run=run, lines=lines, output=output, silence=silence)


def _output(source: Source, at: str) -> tuple[tuple[str, ...], str | None]:
    """Read the end of the first stream that has something, or say why there is nothing."""
    page = source.get(at, {"tail": TAIL_LINES}, LogPage)
    silence = page.reason or ("no output" if page.complete else "no output so far")
    others = [stream for stream in page.streams if stream != page.stream]
    while not (shown := _shown(page)) and others:
        page = source.get(at, {"tail": TAIL_LINES, "stream": others.pop(0)}, LogPage)
    return shown, None if shown else silence


def _shown(page: LogPage) -> tuple[str, ...]:
    return (*(line.text for line in page.lines), *((page.tail,) if page.tail else ()))


def _line(found: _Series) -> tuple[float | None, ...]:
    whole = [one for one in found.series if not one.instance]
    return (whole[0].mean if whole[0].rate else whole[0].max) if whole else ()


def _curve(found: _Curves) -> tuple[float | None, ...]:
    longest = max(found.series, key=lambda one: len(one.last), default=None)
    values = () if longest is None else longest.last
    return tuple(one if isinstance(one, float) else None for one in values)


class OfHome:
    """Runs of a home, read from its files: no server is needed."""

    def __init__(self, home: str, *, clock: Callable[[], float] = time.time) -> None:
        self._home = home
        self._clock = clock

    @property
    def place(self) -> str:
        """Say whose runs they are."""
        return self._home

    def get(self, path: str, query: Mapping[str, str | int], shape: type[Document]) -> Document:
        """Give what the API of a server of this home would answer."""
        answer = self._answer(path, query)
        try:
            return msgspec.convert(answer, shape, strict=False, from_attributes=True)
        except msgspec.MsgspecError as error:
            raise JobmeterError(
                f"{self.place} holds what is not understood: {error}", hint="see: jobmeter doctor"
            ) from None

    def _answer(self, path: str, query: Mapping[str, str | int]) -> object:
        if path == "/api/v1/live":
            return living.told(self._home, self._clock())
        if path == "/api/v1/alerts":
            wanted = alerting.Wanted(
                states=frozenset((alert.State(query["state"]),)), limit=int(query["limit"])
            )
            return alerting.told_of(self._home, wanted, self._clock())
        if path == "/api/v1/runs/glances":
            return glances.glances(self._home, str(query["runs"]).split(","), LINES)
        run_id, _, part = path.removeprefix("/api/v1/runs/").partition("/")
        return self._of_run(unquote(run_id), part, query)

    def _of_run(self, run_id: str, part: str, query: Mapping[str, str | int]) -> object:
        if part == "logs":
            run = by_id.ask(self._home, run_id, lambda _, run: run)
            stream = str(query["stream"]) if "stream" in query else None
            return log_pages.page(run, log_pages.Wanted(stream=stream, tail=int(query["tail"])))
        if part == "":
            return by_id.ask(self._home, run_id, run_parts.shown)
        name = str(query["metrics" if part == "steps" else "keys"])
        wanted = charts.Wanted(names=(name,), points=int(query["points"]))
        read = charts.steps if part == "steps" else charts.series
        return by_id.ask(self._home, run_id, lambda store, run: read(store, run, wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    detail: str = ""
    hint: str = ""


class OfServer:
    """Runs that a server has, its own and those that others push to it."""

    def __init__(self, server: wire.Target) -> None:
        self._server = server
        self._wire = wire.Wire(server, longest_seconds=_PATIENCE_SECONDS, longest_bytes=_ANSWER_BYTES)

    @property
    def place(self) -> str:
        """Say whose runs they are."""
        return self._server.url

    def get(self, path: str, query: Mapping[str, str | int], shape: type[Document]) -> Document:
        """Ask the server."""
        try:
            answer = self._wire.get(f"{path}?{urlencode(query)}" if query else path)
        except wire.UnreachableError as error:
            raise JobmeterError(
                f"{self.place} cannot be reached: {error}", hint="is `jobmeter serve` running there?"
            ) from None
        if answer.status != 200:
            raise _refusal(self.place, answer)
        try:
            return msgspec.json.decode(answer.body, type=shape, strict=False)
        except msgspec.MsgspecError as error:
            raise JobmeterError(
                f"{self.place} answers what is not understood: {error}",
                hint="is it a jobmeter of this version?",
            ) from None


def _refusal(place: str, answer: wire.Answer) -> JobmeterError:
    if answer.status == 401:
        return JobmeterError(
            f"{place} wants a token", hint="give it as JOBMETER_TOKEN; jobmeter token create makes one there"
        )
    try:
        told = msgspec.json.decode(answer.body, type=_Problem)
    except msgspec.MsgspecError:
        told = _Problem()
    said = told.detail or f"status {answer.status}"
    return (UnknownError if answer.status == 404 else JobmeterError)(f"{place}: {said}", hint=told.hint)


def of_server(url: str, environ: Mapping[str, str]) -> OfServer:
    """Find a server by its address; the token comes from where `jobmeter push` has it."""
    plain = receivers.plain_allowed(environ)
    return OfServer(wire.target(url, wire.find_token(environ), plain_allowed=plain))

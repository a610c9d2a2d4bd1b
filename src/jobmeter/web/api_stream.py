"""Live events as a server-sent event stream: `GET /api/v1/stream` for all runs, `/api/v1/runs/{id}/stream` for one.

A browser reads it through `fetch`, which sends the token as a header; `EventSource` cannot. A stream ends when the
reader leaves, when it takes nothing for a minute, when its token is revoked, and when the server stops.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable
from typing import Annotated, Any

from litestar import get
from litestar.params import Parameter
from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from jobmeter.errors import UnknownError, UsageError
from jobmeter.service import access, index, live, serving
from jobmeter.web import answering, problems
from jobmeter.web.answering import Asked

MEDIA_TYPE = "text/event-stream"
SEND_SECONDS = 60.0
"""A reader that takes nothing for so long is let go."""
PERMIT_SECONDS = 5.0
"""How long the answer that a token may read is taken as true."""
MOST_RUNS = 200
_LONGEST_ID = 64
_GRACE_SECONDS = 1.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""A proxy that gathers an answer before it passes it on would make a stream of nothing."""

LastEventId = Annotated[
    str | None,
    Parameter(description="The last event the reader has; the header Last-Event-ID wins."),
]


def _follows(path: str, operation_id: str, summary: str) -> get:
    return get(
        path,
        opt=answering.READ,
        operation_id=operation_id,
        summary=summary,
        tags=["stream"],
        media_type=MEDIA_TYPE,
        before_request=answering.refuse_unknown,
        responses=answering.REFUSALS,
    )


@_follows("/api/v1/stream", "followRuns", "Follow what happens to runs")
async def stream(
    request: Asked,
    runs: Annotated[str | None, Parameter(description="Run ids, separated by commas.")] = None,
    project: Annotated[list[str] | None, Parameter(description="Projects; may be repeated.")] = None,
    last_event_id: LastEventId = None,
) -> Stream:
    """Follow what happens to all runs, or to some, as server-sent events."""
    interest = live.Interest(
        runs=None if runs is None else _run_ids(runs.split(",")),
        projects=None if project is None else frozenset(project),
    )
    return _answer(request, interest, last_event_id)


@_follows("/api/v1/runs/{run_id:str}/stream", "followRun", "Follow what happens to one run")
async def run_stream(request: Asked, run_id: str, last_event_id: LastEventId = None) -> Stream:
    """Follow what happens to one run, as server-sent events."""
    wanted = _run_ids([run_id])
    server = answering.server_of(request)
    if not await asyncio.to_thread(_is_known, server, run_id):
        raise UnknownError(f"there is no run {run_id}", hint="see GET /api/v1/runs")
    return _answer(request, live.Interest(runs=wanted), last_event_id)


def _is_known(server: serving.Server, run_id: str) -> bool:
    with server.read() as store:
        return store.brief(run_id) is not None


def _run_ids(texts: Iterable[str]) -> frozenset[str]:
    ids = frozenset(texts)
    if len(ids) > MOST_RUNS:
        raise UsageError(
            f"one stream follows at most {MOST_RUNS} runs", hint="leave `runs` out to follow all"
        )
    for run_id in ids:
        if not index.is_run_id(run_id):
            raise UsageError("there is a run id that is none", hint="see GET /api/v1/runs")
    return ids


def _answer(request: Asked, interest: live.Interest, last_event_id: str | None) -> Stream:
    server = answering.server_of(request)
    last = request.headers.get("last-event-id", last_event_id)
    owner = getattr(request.scope.get("jobmeter"), "name", "")
    try:
        reader = server.hub.subscribe(
            interest, last_event_id=None if last is None else last[:_LONGEST_ID], owner=owner
        )
    except live.TooManyReadersError as error:
        status = 429 if error.of_owner else 503
        return problems.answer(status, str(error), error.hint, {"Retry-After": "30"})  # type: ignore[return-value]  # a problem in place of a stream
    return _LiveStream(reader, _Permit(server, request))


class _Permit:
    """Says now and then whether whoever opened a stream may still read."""

    def __init__(self, server: serving.Server, request: Asked) -> None:
        self._access = server.access
        self._needs_token = server.settings.auth
        self._token = request.headers.get("authorization", "").partition(" ")[2].strip()
        self._asked_at = time.monotonic()

    def holds(self) -> bool:
        """Ask again if the last answer is old."""
        now = time.monotonic()
        if not self._needs_token or now - self._asked_at < PERMIT_SECONDS:
            return True
        self._asked_at = now
        principal = self._access.principal(self._token)
        return principal is not None and principal.may(access.Scope.READ)


class _LiveStream(Stream):
    """What a handler gives back: a stream that leaves the hub however it ends."""

    def __init__(self, reader: live.Reader, permit: _Permit) -> None:
        super().__init__((), media_type=MEDIA_TYPE, headers=_HEADERS)
        self._reader = reader
        self._permit = permit

    def to_asgi_response(self, *_: Any, **options: Any) -> ASGIResponse:
        """Make what sends it; the options are the framework's own."""
        headers = {**(options.get("headers") or {}), **self.headers}
        return _Sender(self._reader, self._permit, headers)


class _Sender(ASGIStreamingResponse):
    """Sends one stream until somebody ends it."""

    def __init__(self, reader: live.Reader, permit: _Permit, headers: dict[str, str]) -> None:
        super().__init__(iterator=(), media_type=MEDIA_TYPE, headers=headers, status_code=200)
        self._reader = reader
        self._permit = permit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reader.close()

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Send events until the reader leaves or the server stops, even while nothing can be sent."""
        tasks = [
            asyncio.ensure_future(step)
            for step in (self._events(send), _disconnected(receive), self._reader.ended(_GRACE_SECONDS))
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _events(self, send: Send) -> None:
        async with contextlib.aclosing(self._reader.chunks()) as chunks:
            async for chunk in chunks:
                if not self._permit.holds():
                    break
                await _sent(send, chunk, more=True)
        await _sent(send, b"", more=False)


async def _sent(send: Send, body: bytes, *, more: bool) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


ROUTES = [stream, run_stream]

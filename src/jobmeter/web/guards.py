"""The one place that decides whether a request is answered at all; what it does not allow is refused.

`Gate` stands before the router, so that routes nobody thought of, unknown paths and the documentation are
behind it too: Host, origin, token, rate and size of the body are checked in this order. `require_scope` then
asks the route what it needs; one that says nothing needs `admin`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import cast
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.enums import ScopeType
from litestar.exceptions import PermissionDeniedException
from litestar.handlers import BaseRouteHandler
from litestar.types import (
    ASGIApp,
    HTTPReceiveMessage,
    HTTPRequestEvent,
    HTTPResponseBodyEvent,
    HTTPScope,
    Message,
    Receive,
    Scope,
    Send,
    WebSocketReceiveMessage,
)

from jobmeter.errors import JobmeterError
from jobmeter.service import access, binding
from jobmeter.service.serving import Server
from jobmeter.web import bodies, page, problems, rates

_READING = "GET"
"""The method that changes nothing, which a page of another site may therefore cause; HEAD is it without a body."""
_BODY_SECONDS = 60.0
_PUSHED = re.compile(r"POST /api/v1/runs/[^/]+/sync")
"""The one route whose body is no JSON; it looks at the type itself."""
_ANYONE = access.Principal("anyone", frozenset((access.Scope.READ,)))
"""Who may read `/metrics` where that was opened; no other route is reached as this one."""
_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
_NO_STORE = (b"cache-control", b"no-store")


class Refusal(Exception):  # noqa: N818  # an answer, not an error
    """Why a request is not answered."""

    def __init__(self, status: int, detail: str, *, hint: str = "", retry_seconds: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.hint = hint
        self.headers: list[tuple[bytes, bytes]] = []
        if status == 401:
            self.headers.append((b"www-authenticate", b"Bearer"))
        if retry_seconds is not None:
            self.headers.append((b"retry-after", str(retry_seconds).encode()))


class Head:
    """What a request says of itself before its body."""

    def __init__(self, scope: HTTPScope) -> None:
        self.is_bodiless = scope["method"] == "HEAD"
        self.method: str = _READING if self.is_bodiless else scope["method"]
        self.path: str = scope["path"]
        self._headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        client = scope.get("client")
        self.address = client[0] if client else "local"

    def one(self, name: bytes) -> str | None:
        """Give a header that may be sent once; several are a trick."""
        found = [value for key, value in self._headers if key == name]
        if len(found) > 1:
            raise Refusal(400, f"the header {name.decode()} was sent {len(found)} times")
        return found[0].decode("latin-1") if found else None


class Turn:
    """One of the requests that wait for their answer to begin; a live stream that has begun is none."""

    def __init__(self, turns: rates.Budget) -> None:
        self._turns = turns
        self._held = 0

    def begin(self) -> None:
        """Take a turn, or be told to come again."""
        if not self._turns.take(1):
            raise Refusal(429, "too many requests wait for their answer", retry_seconds=1)
        self._held = 1

    def end(self) -> None:
        """Give the turn back, once."""
        self._turns.give_back(self._held)
        self._held = 0


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._access = server.access
        self._settings = server.settings
        limits = server.settings.limits
        self._limits = limits
        self._known = rates.Buckets(limits.requests_per_second)
        self._strangers = rates.Buckets(limits.strangers_per_second)
        self._budget = rates.Budget(limits.pending_bytes)
        self._turns = rates.Budget(limits.pending_requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != ScopeType.HTTP:
            await send({"type": "websocket.close", "code": 1008, "reason": "there are none"})
            return
        turn = Turn(self._turns)
        send = _with_headers(send, turn.end)
        held, unread = 0, True
        try:
            head = Head(scope)
            principal = self.admit(head)
            turn.begin()
            held = self._reserve(head)
            body = await bodies.read(receive, _length(head), self._limits.body_bytes, _BODY_SECONDS)
            unread = False
            if not _PUSHED.fullmatch(f"{head.method} {head.path}"):
                bodies.check_json(body, head.one(b"content-type"), self._limits.depth)
            # a scope of its own: the server must go on to know a HEAD as what it is
            asked = {**scope, "method": head.method, "jobmeter": principal}
            answered = _without_body(send) if head.is_bodiless else send
            await self._app(cast("Scope", asked), _replay(body, receive), answered)
        except bodies.BadBodyError as error:
            await _refuse(send, Refusal(error.status, str(error)), hang_up=unread)
        except Refusal as refusal:
            await _refuse(send, refusal, hang_up=unread and _has_body(scope))
        except JobmeterError as error:
            failed = Refusal(problems.status_of(error), str(error), hint=error.hint)
            await _refuse(send, failed, hang_up=unread and _has_body(scope))
        finally:
            self._budget.give_back(held)
            turn.end()

    def admit(self, head: Head) -> access.Principal:
        """Check everything but the body; say who asks."""
        self._check_host(head)
        self._check_origin(head)
        _check_path(head.path)
        principal = self._principal(head)
        self._check_rate(head, principal)
        if principal is not access.NOBODY or is_open(head.method, head.path):
            return principal
        if self._settings.metrics_open and (head.method, head.path) == ("GET", "/metrics"):
            return _ANYONE
        raise Refusal(401, "a token is needed", hint="send it as: Authorization: Bearer TOKEN")

    def _check_host(self, head: Head) -> None:
        host = head.one(b"host")
        if host is None or not binding.is_allowed_host(host, self._settings):
            raise Refusal(
                403,
                "this server does not go by that name",
                hint="allow it: jobmeter serve --allowed-host NAME",
            )

    def _check_origin(self, head: Head) -> None:
        """Refuse what another site's page makes a browser send; tools send neither header."""
        if head.method == _READING:
            return
        site, origin = head.one(b"sec-fetch-site"), head.one(b"origin")
        if site is not None and site not in ("same-origin", "none"):
            raise Refusal(403, "requests from pages of other sites are refused")
        if origin is not None and _authority(origin) != (head.one(b"host") or "").lower():
            raise Refusal(403, "requests from pages of other sites are refused")

    def _principal(self, head: Head) -> access.Principal:
        if not self._settings.auth:
            return access.LOCAL
        header = head.one(b"authorization")
        if header is None:
            return access.NOBODY
        scheme, _, token = header.partition(" ")
        found = self._access.principal(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            self._check_rate(head, access.NOBODY)
            raise Refusal(401, "the token is unknown or was revoked", hint="see: jobmeter token list")
        return found

    def _check_rate(self, head: Head, principal: access.Principal) -> None:
        stranger = principal is access.NOBODY
        buckets, name = (self._strangers, head.address) if stranger else (self._known, principal.name)
        wait_seconds = buckets.take(name)
        if wait_seconds:
            raise Refusal(429, "too many requests", retry_seconds=wait_seconds)

    def _reserve(self, head: Head) -> int:
        """Set room aside for the body; all that are being answered share it."""
        length = _length(head)
        if head.method == _READING and not length:
            return 0
        if length is not None and length > self._limits.body_bytes:
            raise Refusal(413, f"the body is larger than {self._limits.body_bytes} bytes")
        wanted = self._limits.body_bytes if length is None else length
        if not self._budget.take(wanted):
            raise Refusal(429, "the server is busy with other uploads", retry_seconds=1)
        return wanted


def is_open(method: str, path: str) -> bool:
    """Name all that is answered without a token: the page, which holds no data, and a sign of life."""
    return method == _READING and (path == "/health" or page.is_part(path))


def require_scope(
    connection: ASGIConnection[BaseRouteHandler, object, object, State], handler: BaseRouteHandler
) -> None:
    """Refuse who lacks what the route needs."""
    scope: Mapping[str, object] = {**connection.scope}
    principal = scope["jobmeter"]
    if is_open(str(scope["method"]), str(scope["path"])):
        return
    needed = access.Scope(handler.opt.get("needs", "admin"))
    if not isinstance(principal, access.Principal) or not principal.may(needed):
        raise PermissionDeniedException(
            detail=f"this token may not do that: it needs the scope {needed.value}"
        )


def _check_path(path: str) -> None:
    """Refuse what only those send who look for files: no route has such parts."""
    if any(part in (".", "..") for part in path.replace("\\", "/").split("/")):
        raise Refusal(400, "a path has no parts . and ..")
    if not path.isprintable():
        raise Refusal(400, "a path has no control characters")


def _authority(origin: str) -> str | None:
    """Take host and port of an origin; None for `null` and all that is no origin."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    plain = (
        parts.scheme in ("http", "https") and not parts.path and not parts.query and "@" not in parts.netloc
    )
    return parts.netloc.lower() if plain and parts.netloc else None


def _length(head: Head) -> int | None:
    """Read how long the body says it is; None where it comes in chunks."""
    text, coding = head.one(b"content-length"), head.one(b"transfer-encoding")
    if text is not None and coding is not None:
        raise Refusal(400, "a body has a length or comes in chunks, not both")
    if text is None:
        return None if coding is not None else 0
    if not text.isascii() or not text.isdecimal():
        raise Refusal(400, "content-length is no number")
    return int(text)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the application the body that was read, then what the connection says."""
    waiting = [body]

    async def replayed() -> HTTPReceiveMessage | WebSocketReceiveMessage:
        if waiting:
            return HTTPRequestEvent(type="http.request", body=waiting.pop(), more_body=False)
        return await receive()

    return replayed


def _with_headers(send: Send, begun: Callable[[], None]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            begun()
            given = list(message["headers"])
            names = {name.lower() for name, _ in given}
            added: Iterable[tuple[bytes, bytes]] = (*_HEADERS, _NO_STORE)
            message["headers"] = [*given, *(one for one in added if one[0] not in names)]
        await send(message)

    return sending


def _without_body(send: Send) -> Send:
    """End the answer after its head: a live stream has no end of its own."""

    async def sending(message: Message) -> None:
        if message["type"] != "http.response.start":
            return
        await send(message)
        await send(HTTPResponseBodyEvent(type="http.response.body", body=b"", more_body=False))

    return sending


def _has_body(scope: HTTPScope) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


async def _refuse(send: Send, refusal: Refusal, *, hang_up: bool) -> None:
    """Answer with a problem; a body that was not read must not be waited for, so the connection ends."""
    body = problems.document(refusal.status, str(refusal), refusal.hint)
    headers = [(b"content-type", problems.MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    if hang_up:
        headers.append((b"connection", b"close"))
    await send(
        {"type": "http.response.start", "status": refusal.status, "headers": [*headers, *refusal.headers]}
    )
    await send(HTTPResponseBodyEvent(type="http.response.body", body=body, more_body=False))

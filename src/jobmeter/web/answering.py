"""What all routes of the API have in common: whom they ask, which parameters they know, how an answer is kept fresh.

Every answer carries an ETag of its bytes; who has the same is answered 304 without a body. It saves the network, not
the work: what is asked of a run may change with a tag, and only the bytes themselves are proof.
"""

import hashlib
import time
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.datastructures import ResponseHeader, State
from litestar.handlers import BaseRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.typing import FieldDefinition

from jobmeter.errors import UsageError
from jobmeter.model.answers import Problem
from jobmeter.model.quantities import parse_moment
from jobmeter.service.serving import Server
from jobmeter.web import encoding, problems

Asked = Request[Any, Any, State]
READ, ADMIN = {"needs": "read"}, {"needs": "admin"}

MOMENT = "Seconds since the epoch, a time such as `2026-11-15T09:50:01Z`, or an age such as `-30m`."
_FAR = 1e15
_FRESH = {"Cache-Control": "private, no-cache"}
"""Browsers keep the answer and ask whether it still holds."""
REASONS = {
    400: "A parameter or the body cannot be used; `detail` says which and why.",
    401: "There is no token, or it is unknown.",
    403: "The token may not do that, or the request comes from a page of another site.",
    404: "There is no such thing.",
    413: "The body is too large.",
    429: "Too many requests; `Retry-After` says when to come again.",
    503: "The index cannot be read just now.",
}


def refusals(*statuses: int) -> dict[int, ResponseSpec]:
    """Describe how a route may refuse, as problem documents."""
    return {
        status: ResponseSpec(
            Problem, generate_examples=False, description=REASONS[status], media_type=problems.MEDIA_TYPE
        )
        for status in statuses
    }


REFUSALS = refusals(400, 401, 403, 404, 429, 503)
_ETAG = ResponseHeader(
    name="ETag",
    documentation_only=True,
    description="Send it as If-None-Match to be answered 304 while nothing changed.",
    value="",
)


def reads(path: str, operation_id: str, summary: str, tag: str) -> get:
    """Declare a route that reads."""
    return get(
        path,
        opt=READ,
        operation_id=operation_id,
        summary=summary,
        tags=[tag],
        sync_to_thread=True,
        before_request=refuse_unknown,
        responses=REFUSALS,
        response_headers=[_ETAG],
    )


def server_of(request: Asked) -> Server:
    """Give the server that a request asks."""
    server: Server = request.app.state.server
    return server


async def refuse_unknown(request: Asked) -> None:
    """Refuse parameters that the route does not have: a mistyped filter must not give all runs."""
    known = _parameters(request.route_handler)
    for name, value in request.query_params.multi_items():
        field = known.get(name)
        if field is None:
            shown = ", ".join(known) if known else "it takes none"
            raise UsageError(f"there is no parameter {name[:80]}", hint=f"known are: {shown}")
        # the framework would read the word as if nothing had been said
        if (
            value.lower() == "null"
            and field.is_optional
            and not any(one.is_subclass_of(str) for one in field.inner_types)
        ):
            raise UsageError(f"{name} cannot be null", hint=f"leave {name} away")


def _parameters(handler: BaseRouteHandler) -> dict[str, FieldDefinition]:
    """Name the parameters of a handler as they stand in an address."""
    found = {}
    for name, field in handler.parsed_fn_signature.parameters.items():
        given = getattr(field.kwarg_definition, "query", None)
        if name not in ("request", "data") and name not in handler.opt.get("path", ()):
            found[given or name] = field
    return found


def answer(
    request: Asked,
    document: object,
    *,
    status: int = 200,
    changed_at: float | None = None,
    now: float | None = None,
) -> Response[Any]:
    """Answer with a document, or say that the asker has it already."""
    body = encoding.encode(document)
    headers = {**_FRESH, "ETag": f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'}
    # a date has no fractions: until its second is over, a further change would have the same
    if changed_at is not None and int(changed_at) < int(time.time() if now is None else now):
        headers["Last-Modified"] = formatdate(changed_at, usegmt=True)
    if _is_known(request, headers["ETag"], changed_at):
        return Response(None, status_code=304, headers=headers)
    return Response(body, status_code=status, media_type=MediaType.JSON, headers=headers)


def _is_known(request: Asked, tag: str, changed_at: float | None) -> bool:
    """Tell whether the asker has what would be sent; tags count before times."""
    if request.method != "GET":
        return False
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return any(one.strip().removeprefix("W/") in (tag, "*") for one in tags.split(","))
    since = request.headers.get("if-modified-since")
    if since is None or changed_at is None:
        return False
    try:
        return int(changed_at) <= parsedate_to_datetime(since).timestamp()
    except (ValueError, OverflowError):
        return False  # no date: as if nothing was said


def listed(text: str | None) -> tuple[str, ...]:
    """Read a list written with commas."""
    return () if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def moment(text: str | None, *, last: bool = False) -> float | None:
    """Read a moment; of a day or minute its beginning, or its last tick."""
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        span = parse_moment(text, now=time.time())
        if span is None:
            raise UsageError("there is a moment that is none", hint=MOMENT) from None
        found = span.last if last else span.first
    if not abs(found) < _FAR:
        raise UsageError("there is a moment that is none", hint=MOMENT)
    return found

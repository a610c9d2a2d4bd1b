"""Errors as problem documents (RFC 9457): one sentence of fact, one hint, never a traceback."""

import logging
from collections.abc import Mapping

from litestar import Request, Response
from litestar.datastructures import State
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from jobmeter.errors import JobmeterError, StoreError, UnknownError, UsageError
from jobmeter.web import bodies, encoding

MEDIA_TYPE = "application/problem+json"
_TITLES = {
    400: "bad request",
    401: "token needed",
    403: "not allowed",
    404: "not found",
    405: "method not allowed",
    408: "too slow",
    409: "conflict",
    413: "too large",
    415: "unsupported media type",
    422: "cannot be done",
    429: "too many requests",
    500: "internal error",
    503: "unavailable",
}
_LOG = logging.getLogger("jobmeter.web")


def document(status: int, detail: str, hint: str = "") -> bytes:
    """Write one problem."""
    fields: dict[str, object] = {
        "type": "about:blank",
        "title": _TITLES.get(status, "error"),
        "status": status,
        "detail": detail,
    }
    return encoding.encode(fields | ({"hint": hint} if hint else {}))


def answer(
    status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response[bytes]:
    """Answer with a problem."""
    return Response(
        document(status, detail, hint), status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {})
    )


def status_of(error: JobmeterError) -> int:
    """Choose the status of an expected error."""
    match error:
        case UnknownError():
            return 404
        case UsageError():
            return 400
        case StoreError():
            return 503
        case _:
            return 500


def of_jobmeter(_: Request[object, object, State], error: JobmeterError) -> Response[bytes]:
    """Answer an expected error in its own words."""
    return answer(status_of(error), str(error), error.hint)


def of_framework(_: Request[object, object, State], error: HTTPException) -> Response[bytes]:
    """Answer what the framework refused."""
    if isinstance(error, ValidationException):
        return answer(400, _sentence(error))
    detail = error.detail if error.status_code < 500 else "the server failed; its log says why"
    return answer(error.status_code, detail.lower(), headers=error.headers)


def of_bug(request: Request[object, object, State], error: Exception) -> Response[bytes]:
    """Answer what nobody expected; the trace goes to the log alone."""
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer(500, "the server failed; its log says why")


def _sentence(error: ValidationException) -> str:
    """Say in one sentence which parameters are wrong, and how."""
    extra = error.extra if isinstance(error.extra, list) else []
    found = [one for one in extra if isinstance(one, dict)]
    parts = [f"{one.get('key', 'the body')}: {one.get('message', 'is wrong')}" for one in found]
    return ("; ".join(parts) or error.detail).lower()


def of_body(_: Request[object, object, State], error: bodies.BadBodyError) -> Response[bytes]:
    """Answer a body that is too much, or no such thing."""
    return answer(error.status, str(error))


HANDLERS: ExceptionHandlersMap = {
    bodies.BadBodyError: of_body,
    Exception: of_bug,
    HTTPException: of_framework,
    JobmeterError: of_jobmeter,
}

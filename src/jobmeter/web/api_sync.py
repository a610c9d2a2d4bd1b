"""Runs that others push: `POST /api/v1/runs/{id}/sync`."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, Response, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter

from jobmeter.model import sync
from jobmeter.model.sync import Held
from jobmeter.service import access, serving, syncing
from jobmeter.web import bodies, encoding, problems

MOST_BYTES = 24 << 20
"""Of one body when it is unpacked: as many of them are in memory as there are threads."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of each file is here now, in bytes."""

    files: dict[str, int]


@dataclass(frozen=True, slots=True)
class Gap:
    """A problem document that says, for each file that does not fit, what is here."""

    type: str
    title: str
    status: int
    detail: str
    files: dict[str, Held]


@post(
    "/api/v1/runs/{run_id:str}/sync",
    opt={"needs": "ingest"},
    status_code=200,
    sync_to_thread=True,
    name="sync",
    operation_id="syncRun",
    summary="Take in new bytes of a run's files",
    tags=["push"],
    responses={
        200: ResponseSpec(Sizes, generate_examples=False, description="All of it is written"),
        409: ResponseSpec(Gap, generate_examples=False, description="The bytes do not follow what is here"),
    },
)
def sync_run(
    request: Request[Any, Any, Any],
    run_id: Annotated[str, Parameter(description="The id of the run.")],
    body: bytes,
) -> Response[Any]:
    """Append new bytes to the files of a run: one line of JSON that says which, then the bytes."""
    server: serving.Server = request.app.state.server
    principal: access.Principal = request.scope["jobmeter"]  # type: ignore[typeddict-item]  # put there by the gate
    sender = syncing.Sender(name=principal.name, may_send_any=principal.may(access.Scope.ADMIN))
    try:
        sizes = server.receiver.receive(run_id, _unpacked(request, body, server), sender)
    except bodies.BadBodyError as error:
        return problems.answer(error.status, str(error))
    except syncing.GapError as error:
        return _gap(error)
    except syncing.RefusedError as error:
        retry = error.retry_after_seconds
        headers = {} if retry is None else {"Retry-After": str(math.ceil(retry))}
        return problems.answer(error.status, str(error), error.hint, headers)
    server.touch(run_id, pushed=True)
    return Response(Sizes(sizes))


def _unpacked(request: Request[Any, Any, Any], body: bytes, server: serving.Server) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != sync.CONTENT_TYPE:
        raise bodies.BadBodyError(415, f"a run is sent as {sync.CONTENT_TYPE}")
    most = min(MOST_BYTES, server.settings.limits.decoded_bytes)
    return bodies.decoded(body, request.headers.get("content-encoding"), most)


def _gap(error: syncing.GapError) -> Response[Any]:
    gap = Gap("about:blank", "conflict", error.status, str(error), error.files)
    return Response(encoding.encode(gap), status_code=error.status, media_type=problems.MEDIA_TYPE)


ROUTES = [sync_run]

"""What is no API: a sign of life, and the API's own description."""

from dataclasses import dataclass
from html import escape

from litestar import MediaType, Request, get
from litestar.datastructures import State

import jobmeter
from jobmeter.service.serving import Server
from jobmeter.web import api_document, page

_READ = {"needs": "read"}


@dataclass(frozen=True, slots=True)
class Life:
    """A sign of life, which tells strangers nothing else."""

    status: str
    """`ok`, or `degraded` while the index cannot be kept up."""
    version: str


@get("/health", operation_id="getHealth", summary="Say that the server lives", sync_to_thread=False)
def health(state: State) -> Life:
    """Say that the server lives; needs no token."""
    server: Server = state.server
    known = server.health()
    return Life("ok" if known.alive and known.trouble is None else "degraded", jobmeter.__version__)


@get("/openapi.json", opt=_READ, include_in_schema=False, sync_to_thread=False)
def openapi(request: Request[object, object, State]) -> dict[str, object]:
    """Give the description of the API."""
    return api_document.of(request.app)


@get("/docs", media_type=MediaType.HTML, opt=_READ, include_in_schema=False, sync_to_thread=False)
def docs(request: Request[object, object, State]) -> str:
    """List the routes as a plain page: nothing of it comes from elsewhere."""
    paths = api_document.of(request.app).get("paths", {})
    rows = "".join(
        f"<tr><td>{escape(method.upper())}</td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(str(operation.get('summary') or ''))}</td></tr>"
        for path, operations in sorted(paths.items())
        for method, operation in operations.items()
        if isinstance(operation, dict)
    )
    table = f"<table><tr><th>Method</th><th>Path</th><th></th></tr>{rows}</table>"
    return page.document("jobmeter API", f'<p>In full: <a href="/openapi.json">/openapi.json</a></p>{table}')


ROUTES = [health, openapi, docs]

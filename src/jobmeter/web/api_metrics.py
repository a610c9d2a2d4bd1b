"""`/metrics`: what Prometheus scrapes."""

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State

from jobmeter.service import scraping
from jobmeter.service.serving import Server

OPENMETRICS = "application/openmetrics-text"


@get(
    "/metrics",
    opt={"needs": "read"},
    media_type=MediaType.TEXT,
    operation_id="scrapeMetrics",
    tags=["metrics"],
    summary="Give the runs that are alive as metrics",
    sync_to_thread=True,
)
def metrics(request: Request[object, object, State], state: State) -> Response[bytes]:
    """Write the page in the text format, or in OpenMetrics where that is accepted."""
    server: Server = state.server
    openmetrics = OPENMETRICS in request.headers.get("accept", "")
    body = server.scraper.render(openmetrics=openmetrics, outlets=server.outlets.counts())
    return Response(body, media_type=scraping.CONTENT_TYPES[openmetrics])


ROUTES = [metrics]

"""A job's output, page by page."""

from typing import Annotated, Literal

from litestar import Response
from litestar.params import Parameter

from jobmeter.model.log_page import LogPage
from jobmeter.service import by_id, log_pages
from jobmeter.web import answering
from jobmeter.web.answering import Asked, answer, reads, server_of
from jobmeter.web.api_runs import RunId

TAG = "output"


@reads("/api/v1/runs/{run_id:str}/logs", "getLogs", "Read a job's output", TAG)
def get_logs(  # noqa: PLR0913  # one argument a parameter of the address
    request: Asked,
    run_id: RunId,
    stream: Annotated[
        Literal["stdout", "stderr", "log"] | None,
        Parameter(description="Which output; without it the first that there is."),
    ] = None,
    offset: Annotated[
        int,
        Parameter(
            description="The byte to begin at; the page begins with the line it is in.", ge=0, le=2**62
        ),
    ] = 0,
    limit: Annotated[
        int, Parameter(description="How many lines a page holds.", ge=1, le=log_pages.MOST_LINES)
    ] = log_pages.DEFAULT_LINES,
    search: Annotated[
        str | None,
        Parameter(
            description="Only lines with this text; ASCII letters match in both cases.",
            min_length=1,
            max_length=log_pages.LONGEST_SEARCH,
        ),
    ] = None,
    tail: Annotated[
        int | None,
        Parameter(
            description="The last so many lines, in place of an offset.", ge=1, le=log_pages.MOST_LINES
        ),
    ] = None,
    at: Annotated[
        str | None,
        Parameter(
            description="The last line that had come by then, in place of an offset: " + answering.MOMENT,
            max_length=40,
        ),
    ] = None,
) -> Response[LogPage]:
    """Read lines of a job's output from an offset, a moment, its end, or those with a text; secrets are cut out.

    To follow a run, ask for `offset=<next>` again and again, or listen to `/api/v1/runs/{run_id}/stream`. One request
    searches 64 MiB at most; `next` says where to go on.
    """
    moment = answering.moment(at)
    wanted = log_pages.Wanted(stream=stream, offset=offset, limit=limit, search=search, tail=tail, at=moment)
    home = server_of(request).home
    run = by_id.ask(home, run_id, lambda _, run: run)
    return answer(request, log_pages.page(run, wanted))


ROUTES = [get_logs]

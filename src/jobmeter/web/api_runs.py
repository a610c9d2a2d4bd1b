"""Runs: lists, facets, one run, what people add to it, the bin."""

from typing import Annotated, Any, Literal

from litestar import Response, delete, patch, post
from litestar.params import Body, Parameter

from jobmeter.model import answers, report_answers
from jobmeter.service import by_id, changing, run_pages, run_parts, shapes
from jobmeter.web import answering
from jobmeter.web.answering import ADMIN, REFUSALS, Asked, answer, reads, server_of

TAG = "runs"
RunId = Annotated[str, Parameter(description="The whole id of a run, as `GET /api/v1/runs` lists it.")]
Fields = Annotated[
    str | None,
    Parameter(
        description="Only these keys of every run, by comma: `run_id,status,headline`.", max_length=2000
    ),
]
Filter = Annotated[
    str | None,
    Parameter(
        description="A filter as `jobmeter ls --filter` takes it: `status=failed and wall>2h`, or words to search for.",
        max_length=run_pages.LONGEST_FILTER,
    ),
]
_LISTED, _SHOWN = tuple(answers.RunListed.__annotations__), tuple(answers.RunShown.__annotations__)


@reads("/api/v1/runs", "listRuns", "List runs", TAG)
def list_runs(  # noqa: PLR0913  # one argument a parameter of the address
    request: Asked,
    q: Filter = None,
    sort: Annotated[
        str,
        Parameter(
            description="The field to order by: `started`, `wall`, `memory_peak`, `loss`.", max_length=200
        ),
    ] = "started",
    order: Annotated[
        Literal["desc", "asc"],
        Parameter(description="Largest and latest first, text from A; `asc` turns it round."),
    ] = "desc",
    limit: Annotated[
        int, Parameter(description="How many runs a page holds.", ge=1, le=run_pages.MOST_RUNS)
    ] = run_pages.DEFAULT_LIMIT,
    cursor: Annotated[
        str | None,
        Parameter(description="`next` of the page before.", max_length=run_pages.LONGEST_CURSOR),
    ] = None,
    fields: Fields = None,
) -> Response[answers.RunsPage]:
    """List the runs that match, newest first unless told otherwise, a page at a time.

    Pages follow one another by `cursor`, whatever begins or is deleted meanwhile. What was not measured is absent.
    """
    names = run_pages.chosen(fields, _LISTED)
    asked = run_pages.Asked(q=q, sort=sort, reverse=order == "asc", limit=limit, cursor=cursor)
    return answer(request, run_pages.page(server_of(request).home, asked).as_record(names))


@reads("/api/v1/runs/facets", "countRuns", "Count runs by what they have in common", TAG)
def facets(
    request: Asked,
    q: Filter = None,
    names: Annotated[
        str,
        Parameter(
            description="Fields to count by, by comma; `tag` is every tag as key=value.", max_length=2000
        ),
    ] = ",".join(run_pages.FACETS),
) -> Response[answers.Facets]:
    """Count the runs that match by the values of some fields, the hundred most frequent of each."""
    found = run_pages.facets(server_of(request).home, q, answering.listed(names))
    return answer(request, {"facets": found})


@reads("/api/v1/runs/{run_id:str}", "getRun", "Show one run", TAG)
def show_run(request: Asked, run_id: RunId, fields: Fields = None) -> Response[answers.RunShown]:
    """Show all that is known of a run but its series, steps and output: as `jobmeter show --json`."""
    names = run_pages.chosen(fields, _SHOWN)
    found = by_id.ask(server_of(request).home, run_id, run_parts.shown)
    return answer(request, {key: found[key] for key in names if key in found} if names else found)


@patch(
    "/api/v1/runs/{run_id:str}",
    opt=ADMIN,
    operation_id="changeRun",
    summary="Change name, project, tags or notes of a run",
    tags=[TAG],
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=REFUSALS,
)
def change_run(
    request: Asked,
    run_id: RunId,
    data: Annotated[changing.Change, Body(description="What is not said stays.")],
) -> Response[answers.RunListed]:
    """Change what people say of a run: what was recorded stays as it is.

    A tag of null is taken off; a note is added to those that are there. `notes` writes those anew: by what one says
    now, what it is to say, or null to take it away.
    """
    server = server_of(request)
    run = changing.change(server.home, run_id, data)
    server.touch(run_id)
    return answer(request, shapes.listed(run))


@delete(
    "/api/v1/runs/{run_id:str}",
    opt=ADMIN,
    operation_id="deleteRun",
    summary="Delete a run, into the bin first",
    tags=[TAG],
    status_code=200,
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=REFUSALS,
)
def delete_run(
    request: Asked,
    run_id: RunId,
    purge: Annotated[
        bool, Parameter(description="Destroy it, also where it lies in the bin already.")
    ] = False,
) -> Response[answers.Deleted]:
    """Move a run to the bin of the home, from where it can be restored until `jobmeter gc` empties it."""
    server = server_of(request)
    freed = 0
    if purge:
        freed = changing.purge(server.home, run_id)
    else:
        changing.remove(server.home, run_id)
    server.touch(run_id)
    return answer(request, {"run_id": run_id, "purged": purge, "freed_bytes": freed})


@post(
    "/api/v1/runs/{run_id:str}/restore",
    opt=ADMIN,
    operation_id="restoreRun",
    summary="Take a run out of the bin again",
    tags=[TAG],
    status_code=200,
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=REFUSALS,
)
def restore_run(request: Asked, run_id: RunId) -> Response[answers.Restored]:
    """Take a run out of the bin again; lists show it a moment later."""
    server = server_of(request)
    changing.restore(server.home, run_id)
    server.touch(run_id)
    return answer(request, {"run_id": run_id})


@reads("/api/v1/bin", "listBin", "List what was deleted and can be restored", TAG)
def list_bin(request: Asked) -> Response[answers.Bin]:
    """List the runs in the bin."""
    return answer(request, {"runs": changing.listed(server_of(request).home)})


@reads("/api/v1/runs/{run_id:str}/events", "listEvents", "List what happened in a run", TAG)
def list_events(request: Asked, run_id: RunId) -> Response[answers.Events]:
    """List what happened in a run in order of time, each event with the measurements of its moment."""
    return answer(request, by_id.ask(server_of(request).home, run_id, run_parts.events))


@reads("/api/v1/runs/{run_id:str}/processes", "listProcesses", "List who used it", TAG)
def list_processes(request: Asked, run_id: RunId) -> Response[answers.Processes]:
    """List the processes of a run, those that used most CPU time first, and the same by command and by role."""
    return answer(request, by_id.ask(server_of(request).home, run_id, run_parts.processes))


@reads("/api/v1/runs/{run_id:str}/report", "getReport", "Say why a run ended and what to change", TAG)
def get_report(request: Asked, run_id: RunId) -> Response[report_answers.ReportTold]:
    """Say why a run ended, what stood out and what to change: as `jobmeter analyze --json`.

    A run that goes on is analysed as it stands.
    """
    return answer(request, by_id.ask(server_of(request).home, run_id, run_parts.report))


@reads("/api/v1/runs/{run_id:str}/ranks", "getRanks", "Lay the ranks of a run's job side by side", TAG)
def get_ranks(request: Asked, run_id: RunId) -> Response[dict[str, Any]]:
    """Lay the ranks of the job a run belongs to side by side: as `jobmeter ranks --json`."""
    return answer(request, by_id.ask(server_of(request).home, run_id, run_parts.ranks))


ROUTES = [
    list_runs,
    facets,
    show_run,
    change_run,
    delete_run,
    restore_run,
    list_bin,
    list_events,
    list_processes,
    get_report,
    get_ranks,
]

"""What a page of runs asks besides the list: which fields there are, small lines and badges of the rows in sight."""

from typing import Annotated

from litestar import Response
from litestar.params import Parameter

from jobmeter.model import list_answers
from jobmeter.service import field_list, glances
from jobmeter.web import answering
from jobmeter.web.answering import Asked, answer, reads, server_of

TAG = "runs"


@reads("/api/v1/runs/fields", "listFields", "List the fields that filter runs", TAG)
def list_fields(request: Asked) -> Response[list_answers.FieldsTold]:
    """List what `q` may compare and `sort` order by, with the operators and the kind of value each takes.

    Tags, settings and metrics are those of the newest runs; others can be asked for as well.
    """
    return answer(request, {"fields": field_list.told(server_of(request).home)})


@reads("/api/v1/runs/glances", "glanceAtRuns", "Show the health and small lines of some runs", TAG)
def glance_at_runs(
    request: Asked,
    runs: Annotated[
        str,
        Parameter(
            description="Whole ids of runs, by comma: 1 to 100 of them.", max_length=glances.MOST_LETTERS
        ),
    ],
    lines: Annotated[
        str | None,
        Parameter(
            description="Lines to add, by comma: `memory`, `cpu`, `loss`; without it none.", max_length=100
        ),
    ] = None,
) -> Response[list_answers.Glances]:
    """Show what a table draws beside the figures of its rows.

    Runs that nobody analysed yet are analysed as far as a moment suffices; `waiting` names the others. Runs that are
    gone are left out.
    """
    home = server_of(request).home
    return answer(request, glances.glances(home, answering.listed(runs), answering.listed(lines)))


ROUTES = [list_fields, glance_at_runs]

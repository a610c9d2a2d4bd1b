"""What a run was: config, environment and provenance."""

from litestar import Response

from jobmeter.model import context_answers
from jobmeter.service import by_id, run_context
from jobmeter.web.answering import Asked, answer, reads, server_of
from jobmeter.web.api_runs import TAG, RunId


@reads("/api/v1/runs/{run_id:str}/context", "getContext", "Say what a run was", TAG)
def get_context(request: Asked, run_id: RunId) -> Response[context_answers.RunContext]:
    """Give a run's config, where and with what it ran, which source each number came from and why some have none.

    Secrets were cut out when it was recorded. `again` is the command that records the job once more.
    """
    return answer(request, by_id.ask(server_of(request).home, run_id, run_context.shown))


ROUTES = [get_context]

"""What runs now, over all hosts and ranks."""

import time

from litestar import Response

from jobmeter.model import live_answers
from jobmeter.service import living
from jobmeter.web.answering import Asked, answer, reads, server_of


@reads("/api/v1/live", "listLiving", "List what runs now", "runs")
def list_living(request: Asked) -> Response[live_answers.Living]:
    """List what runs now job by job, with how far each is, how long it still takes, and which ranks are behind."""
    return answer(request, living.told(server_of(request).home, time.time()))


ROUTES = [list_living]

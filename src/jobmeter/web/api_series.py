"""Series and steps of a run, as coarse as a chart needs them."""

from typing import Annotated

from litestar import Response
from litestar.params import Parameter

from jobmeter.errors import UsageError
from jobmeter.model import chart_answers
from jobmeter.service import by_id, charts
from jobmeter.web import answering
from jobmeter.web.answering import Asked, answer, reads, server_of
from jobmeter.web.api_runs import RunId

TAG = "series"
Points = Annotated[
    int,
    Parameter(
        description="How many points a line has at most; each keeps the least and largest of what it stands for.",
        ge=2,
        le=charts.MOST_POINTS,
    ),
]


@reads("/api/v1/runs/{run_id:str}/series", "getSeries", "Read measurements over time", TAG)
def get_series(  # noqa: PLR0913  # one argument a parameter of the address
    request: Asked,
    run_id: RunId,
    keys: Annotated[
        str | None,
        Parameter(
            description="Measurements, by comma; without them those of the job, its devices and host.",
            max_length=4000,
        ),
    ] = None,
    instances: Annotated[
        str | None, Parameter(description="Only these processes or devices, by comma.", max_length=4000)
    ] = None,
    begin: Annotated[str | None, Parameter(query="from", description=answering.MOMENT, max_length=40)] = None,
    end: Annotated[str | None, Parameter(query="to", description=answering.MOMENT, max_length=40)] = None,
    points: Points = charts.DEFAULT_POINTS,
) -> Response[chart_answers.Lines]:
    """Read series of a run, each as at most `points` stretches of consecutive samples.

    Minima and maxima are exact however coarse the line is. Counters come as their rate a second.
    """
    wanted = charts.Wanted(
        names=answering.listed(keys),
        instances=answering.listed(instances),
        begin=answering.moment(begin),
        end=answering.moment(end, last=True),
        points=points,
    )
    home = server_of(request).home
    return answer(request, by_id.ask(home, run_id, lambda store, run: charts.series(store, run, wanted)))


@reads("/api/v1/runs/{run_id:str}/steps", "getSteps", "Read metrics over the steps of a training", TAG)
def get_steps(  # noqa: PLR0913  # one argument a parameter of the address
    request: Asked,
    run_id: RunId,
    metrics: Annotated[
        str | None,
        Parameter(
            description="Metrics, by comma: `loss,lr`; without them the first 50 of `metrics`.",
            max_length=4000,
        ),
    ] = None,
    ranks: Annotated[
        str | None, Parameter(description="Only these ranks, by comma.", max_length=400, pattern="^[0-9, ]*$")
    ] = None,
    begin: Annotated[
        int | None, Parameter(query="from", description="The first step.", ge=-(2**53), le=2**53)
    ] = None,
    end: Annotated[
        int | None, Parameter(query="to", description="The last step.", ge=-(2**53), le=2**53)
    ] = None,
    points: Points = charts.DEFAULT_POINTS,
) -> Response[chart_answers.Curves]:
    """Read metrics of a run over its steps, every rank and source a line of its own.

    A value that is not finite is null among minima and maxima, and its word (`NaN`) in `last`.
    """
    wanted = charts.Wanted(
        names=answering.listed(metrics), ranks=_ranks(ranks), begin=begin, end=end, points=points
    )
    home = server_of(request).home
    return answer(request, by_id.ask(home, run_id, lambda store, run: charts.steps(store, run, wanted)))


@reads("/api/v1/runs/{run_id:str}/clock", "getClock", "Read when the steps of a training were taken", TAG)
def get_clock(
    request: Asked, run_id: RunId, points: Points = charts.DEFAULT_POINTS
) -> Response[chart_answers.Clocks]:
    """Read when steps were taken, at most at `points` of each rank and source, and how fast they went.

    Between two places steps went by evenly, as far as one answer can say: it is how steps are laid over time.
    """
    home = server_of(request).home
    return answer(request, by_id.ask(home, run_id, lambda store, run: charts.clocks(store, run, points)))


def _ranks(text: str | None) -> tuple[int, ...]:
    numbers = answering.listed(text)
    if not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in numbers):
        raise UsageError("there is a rank that is none", hint="whole numbers, by comma: 0,1,2")
    return tuple(map(int, numbers))


ROUTES = [get_series, get_steps, get_clock]

"""What jobs should ask for, from all runs of theirs."""

from typing import Annotated, Literal

from litestar import Response
from litestar.params import Parameter

from jobmeter.model import answers
from jobmeter.service import sizing
from jobmeter.web.answering import Asked, answer, reads, server_of


@reads("/api/v1/sizing", "sizeJobs", "Advise on what jobs should ask for", "sizing")
def size_jobs(
    request: Asked,
    job: Annotated[
        str | None,
        Parameter(
            description="A job by its key, name or project, or a run of it; without it all.", max_length=500
        ),
    ] = None,
    since: Annotated[
        str | None,
        Parameter(
            description="Learn from runs since then: `2026-11-01`, or an age such as `30d`.", max_length=40
        ),
    ] = None,
    target: Annotated[
        Literal["docker", "k8s", "nextflow", "slurm"] | None,
        Parameter(description="Also write the lines of this scheduler."),
    ] = None,
) -> Response[answers.Sized]:
    """Advise on memory, CPUs, time and GPUs of jobs, the largest saving first: as `jobmeter size --json`."""
    return answer(request, {"jobs": sizing.told(server_of(request).home, job, since=since, target=target)})


ROUTES = [size_jobs]

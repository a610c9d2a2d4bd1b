"""The routes that dashboards of trainings and ai-toolkit's page ask for, with their names and keys."""

from typing import Annotated

from litestar import Response, post
from litestar.params import Body, Parameter

from jobmeter.model import seed_answers
from jobmeter.service import analytics, by_id, job_analysis, job_apply
from jobmeter.web import answering
from jobmeter.web.answering import READ, Asked, answer, reads, server_of

TAG = "trainings"
JobId = Annotated[str, Parameter(description="A job's id, the id of a run of it, or the name of a run.")]


@reads("/api/training/{job_id:str}/analytics", "getJobAnalytics", "Give the figures of one training", TAG)
def job_analytics(request: Asked, job_id: JobId) -> Response[seed_answers.JobAnalytics]:
    """Give duration, throughput, GPUs, checkpoints, losses and scores of a job.

    What is not known is null, and `warnings` says why.
    """
    return answer(request, analytics.served(server_of(request).home, job_id))


@reads("/api/training/analytics/summary", "getSummary", "Sum all jobs up", TAG)
def summary(
    request: Asked,
    page: Annotated[
        int | None, Parameter(description="Also list the jobs on this page, newest first.", ge=1, le=10**9)
    ] = None,
    per_page: Annotated[
        int, Parameter(description="How many jobs a page holds.", ge=1, le=analytics.MOST_PER_PAGE)
    ] = 50,
) -> Response[seed_answers.SystemAnalytics]:
    """Sum all jobs of the home up; with a page also list the jobs on it.

    The sum is kept as long as nothing changes: ask with If-None-Match or If-Modified-Since.
    """
    found, changed_at = analytics.served_system(server_of(request).home, page=page, per_page=per_page)
    return answer(request, found, changed_at=changed_at)


@reads("/api/training/analytics/compare", "compareJobs", "Lay trainings side by side", TAG)
def compare(
    request: Asked,
    job_ids: Annotated[str, Parameter(description="Jobs, by comma; at most 20.", max_length=4000)],
) -> Response[seed_answers.JobsCompared]:
    """Lay duration, throughput, loss and GPU utilisation of jobs side by side, and name the best."""
    return answer(request, analytics.served_compare(server_of(request).home, answering.listed(job_ids)))


@reads("/api/jobs/{job_id:str}/analysis", "getJobAnalysis", "Analyse a job for ai-toolkit's page", TAG)
def analysis(request: Asked, job_id: JobId) -> Response[seed_answers.JobAnalysis]:
    """Give a job's health, recommendations, log errors and a timeline of the machine's memory."""
    return answer(request, by_id.ask_job(server_of(request).home, job_id, job_analysis.of_run))


@post(
    "/api/jobs/{job_id:str}/apply",
    opt=READ,
    operation_id="applyAdvice",
    summary="Give a job's config with the advice in it",
    tags=[TAG],
    status_code=200,
    sync_to_thread=True,
    before_request=answering.refuse_unknown,
    responses=answering.refusals(400, 401, 403, 404, 413, 429, 503),
)
def apply(
    request: Asked,
    job_id: JobId,
    data: Annotated[
        job_apply.Wish | None, Body(description="Without a body: all advice, on the recorded config.")
    ] = None,
) -> Response[seed_answers.ConfigApplied]:
    """Give a config with the job's recommendations in it. Nothing is written and nothing is started.

    Without a text the config that was recorded with the run is changed; secrets are cut out of that one.
    """
    wish = data or job_apply.Wish()
    home = server_of(request).home
    return answer(
        request, by_id.ask_job(home, job_id, lambda store, run: job_apply.changed(store, run, job_id, wish))
    )


ROUTES = [job_analytics, summary, compare, analysis, apply]

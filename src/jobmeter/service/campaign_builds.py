"""What a campaign is told of a build, from whatever there is: its log, its description, a run of jobmeter's.

What is told is a mapping of the fields of a build's record; a field that is not known is absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobmeter.analysis import buildsamples, buildstats
from jobmeter.formats import buildfacts, buildlog
from jobmeter.formats.buildfacts import BuildFacts
from jobmeter.model import endings
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import RunView
from jobmeter.service import campaign_text
from jobmeter.service.campaign_book import CANCELLED, FAILURE, SUCCESS, Record

LOCAL = "local"
"""The region of builds that name none."""
_TIMEOUT_CODE = 124
_PLAIN = (
    *("build_id", "status", "machine_type", "worker_pool", "log_url", "error", "queue_wait_seconds"),
    *(
        "working_seconds",
        "duration_seconds",
        "fetch_source_seconds",
        "build_phase_seconds",
        "push_image_seconds",
    ),
    *("build_start_time", "build_end_time", "total_steps", "failed_step"),
)
"""Fields that a record and a description call the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One build as somebody tells of it."""

    region: str | None = None
    fields: Record = field(default_factory=dict)

    @property
    def build_id(self) -> str | None:
        """Its id, where it has one."""
        found = self.fields.get("build_id")
        return found if isinstance(found, str) else None

    def laid_over(self, other: "Told") -> "Told":
        """Take what another knows, and this one knows better."""
        return Told(region=self.region or other.region, fields=other.fields | self.fields)


def succeeded(status: str | None) -> bool | None:
    """Tell success from failure; None while a build has not ended."""
    if status is None or buildfacts.BuildFacts(status=status).state is None:
        return None
    return status == SUCCESS


def from_facts(facts: BuildFacts) -> Told:
    """Take what Cloud Build says of a build."""
    record = facts.as_record()
    told: Record = {key: record[key] for key in _PLAIN if key in record}
    told |= _given(
        success=succeeded(facts.status),
        timestamp=facts.finished_at or facts.created_at,
        build_duration_minutes=_minutes(facts.build_phase_seconds),
        push_duration_minutes=_minutes(facts.push_image_seconds),
    )
    return Told(region=facts.region, fields=told)


def metrics_of_log(
    text: str, build_id: str = "", debug: campaign_text.Debug = campaign_text.silent
) -> Record:
    """Compute what a campaign keeps of the samples in a log; without any: empty lists and zeros."""
    campaign_text.say_parsing(debug, build_id)
    samples = buildlog.find_samples(text)
    metrics = buildstats.build_metrics(samples or ())
    if samples is not None:
        campaign_text.say_parsed(debug, metrics)
    return metrics


def from_run(view: RunView) -> Told:
    """Take a run as a build: its status, how long it took, and what its samples say."""
    run = view.run
    found = buildsamples.samples_of(view)
    status = _status(run)
    told: Record = {key: run.results[key] for key in _PLAIN if key in run.results}
    told = (
        _given(
            build_id=run.run_id,
            build_type=run.name if run.provenance.origin == "jobmeter" else None,
            status=status,
            success=succeeded(status),
            timestamp=run.ended_at or run.started_at,
            duration_seconds=_whole(run.wall_seconds),
            working_seconds=_whole(run.wall_seconds),
            timeout_reason="WORKING" if run.exit_code == _TIMEOUT_CODE else None,
            error=_error(run),
            run_id=run.run_id,
            sample_scope=found.scope if found.samples else None,
        )
        | told
    )
    region = run.results.get("region") or run.tags.get("region") or run.project or run.host
    return Told(
        region=None if region is None else str(region), fields=told | buildstats.build_metrics(found.samples)
    )


def _status(run: Run) -> str:
    if run.exit_code == _TIMEOUT_CODE:
        return "TIMEOUT"
    if run.status in LIVE:
        return "WORKING"
    known = {Status.COMPLETED: SUCCESS, Status.CANCELLED: CANCELLED, Status.LOST: "STATUS_UNKNOWN"}
    return known.get(run.status, FAILURE)


def _error(run: Run) -> str | None:
    if run.status is Status.COMPLETED or run.exit_code is None:
        return None
    by = endings.cause(run)
    return f"ended {by}" if by else f"exit code {run.exit_code}"


def _given(**named: object) -> Record:
    return {name: value for name, value in named.items() if value is not None}


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _minutes(seconds: int | None) -> float | None:
    return None if seconds is None else round(seconds / 60, 2)


def from_description(document: Mapping[str, object]) -> Told:
    """Take what `gcloud builds describe` printed."""
    return from_facts(buildfacts.from_description(document))


def around_log(text: str) -> Told:
    """Take what stands around a log."""
    return from_facts(buildfacts.from_log(text))


def from_log(text: str) -> Told:
    """Take what stands around a log, and the samples within."""
    told = around_log(text)
    samples = buildlog.find_samples(text)
    if samples is None:
        return told
    return Told(region=told.region, fields=told.fields | buildstats.build_metrics(samples))

"""Ranks that waited for one another in vain: more time only where one was slow, never where one had died."""

from collections.abc import Iterable, Iterator

from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model import units
from jobmeter.model.report import Cause, Evidence, Finding, LogError, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Raise the timeout where a rank was only late; say what to look for where none was seen to be."""
    if case.verdict.cause is not Cause.NCCL_TIMEOUT:
        return
    error = next((one for one in case.view.log_errors if one.signature == "nccl_timeout"), None)
    stopped = next(case.found("rank_stopped"), None)
    if stopped is not None:
        yield _lost(stopped)
        return
    late = next(_lateness(case), None)
    timeout = None if error is None else error.fields.get("timeout_seconds")
    known = isinstance(timeout, int | float) and 0 < timeout < 1e8
    if late is None or error is None or not known:
        yield _look(case, error)
        return
    longer = int(2 * float(timeout))  # type: ignore[arg-type]  # checked above
    yield Recommendation(
        rule="nccl_timeout",
        severity=Severity.CRITICAL,
        title="Give late ranks more time",
        action=f"Set the timeout of init_process_group (ddp_timeout) to {longer} s, and mend what makes the rank late",
        impact=f"A rank may be late by {units.format_seconds(longer)} before the others give up",
        config_path="ddp_timeout",
        current_value=timeout,
        recommended_value=longer,
        evidence=(
            facts.quoted(error, "they gave up"),
            Evidence(sentence=late.sentence, source=late.detector),
        ),
    )


def _lateness(case: Case) -> Iterator[Finding]:
    """Give what shows that a rank was slow and came in the end: a stall to the end is the waiting itself."""
    yield from case.found("stragglers")
    yield from (found for found in case.found("stall") if not found.figures.get("at_end"))


def _lost(stopped: Finding) -> Recommendation:
    run_id = stopped.figures.get("run_id")
    return Recommendation(
        rule="nccl_timeout",
        severity=Severity.CRITICAL,
        title=f"Find out why rank {stopped.rank} stopped",
        action=f"Look at what that rank said and used: `jobmeter analyze {run_id}`, `jobmeter logs {run_id}`. "
        "A longer timeout would only make the others wait longer",
        impact="The others only waited for it",
        evidence=(
            Evidence(sentence=stopped.sentence, source=stopped.detector, rank=stopped.rank),
            *stopped.evidence,
        ),
    )


def _look(case: Case, error: LogError | None) -> Recommendation:
    quoted = () if error is None else (facts.quoted(error, "they gave up"),)
    return Recommendation(
        rule="nccl_timeout",
        severity=Severity.CRITICAL,
        title="Find the rank that did not come",
        action="Run again with TORCH_NCCL_TRACE_BUFFER_SIZE=20000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1: "
        "the dump names the collective that one rank never entered. A longer timeout would only wait longer",
        impact="Says which rank left the common path, and where",
        config_path="TORCH_NCCL_TRACE_BUFFER_SIZE",
        recommended_value=20000,
        evidence=quoted or case.verdict.evidence,
    )

"""A full disk: keep fewer checkpoints, or write where there is room."""

from collections.abc import Iterable

from jobmeter.analysis import advice
from jobmeter.analysis.case import Case
from jobmeter.model import units
from jobmeter.model.report import Cause, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Say how much room the job needs for what it writes."""
    if case.verdict.cause is not Cause.DISK_FULL:
        return
    written = case.view.run.headline.get("io_write_bytes")
    saved = sum(event.type == "checkpoint" for event in case.view.events)
    told = [] if written is None or not written.value else [f"{units.format_bytes(written.value)} in all"]
    told += [f"{saved} checkpoint{'' if saved == 1 else 's'}"] if saved else []
    yield Recommendation(
        rule="disk_full",
        severity=Severity.CRITICAL,
        title="Make room on the disk",
        action="Write to a file system with room, or keep fewer checkpoints (save_total_limit)",
        impact=f"Room to finish: it had written {', '.join(told)}" if told else "Room to finish",
        evidence=advice.verdict_evidence(case.verdict),
    )

"""Save before the time limit: what a run that is cut off did since its last checkpoint is lost."""

from collections.abc import Iterable

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.model import units
from jobmeter.model.report import Cause, Evidence, Recommendation, Severity

_CUT_OFF = frozenset((Cause.TIMEOUT, Cause.OOM_CGROUP, Cause.OOM_HOST, Cause.OOM_CUDA, Cause.KILLED_SIGNAL))
_LEAST_SECONDS = 300.0
_BEFORE_SECONDS = 300


def advise(case: Case) -> Iterable[Recommendation]:
    """Save more often, and on the signal that comes before the end, where a training lost much."""
    run = case.view.run
    if case.verdict.cause not in _CUT_OFF or run.steps is None or run.ended_at is None:
        return
    saved = [event.timestamp for event in case.view.events if event.type == "checkpoint"]
    begin = max(saved, default=run.started_at)
    lost = None if begin is None else run.ended_at - begin
    if lost is None or not _LEAST_SECONDS < lost < 1e9:
        return
    slurm = configs.is_slurm(run) and case.verdict.cause is Cause.TIMEOUT
    action = "Save a checkpoint more often"
    if slurm:
        action += f", and on SIGUSR1, which #SBATCH --signal=B:USR1@{_BEFORE_SECONDS} sends before the end"
    count = f"the last of {len(saved)} checkpoints" if saved else "its start, without a checkpoint"
    yield Recommendation(
        rule="checkpoint",
        severity=Severity.WARNING,
        title="Save before the end",
        action=action,
        impact=f"{units.format_seconds(lost)} of training were lost",
        config_path="--signal" if slurm else None,
        recommended_value=f"B:USR1@{_BEFORE_SECONDS}" if slurm else None,
        evidence=(
            Evidence(
                sentence=f"it ended {units.format_seconds(lost)} after {count}",
                source="event checkpoint",
                value=round(lost, 1),
            ),
        ),
    )

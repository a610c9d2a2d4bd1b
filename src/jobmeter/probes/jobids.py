"""What the processes of one launch share: the name their launcher gave the job.

Without it every recorder of a distributed job is a job of its own. A launcher's variables outlive it, so the
batch system's word is narrowed by the step and by the launcher inside it: two trainings that follow one
another in one batch script are two jobs.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SPECIAL_STEPS = 0xFFFFFF00
"""Slurm numbers its batch, interactive and external steps from the top: all of a batch script is in one."""


def shared(environ: "Mapping[str, str]", parent: str) -> str:
    """Name the job of a distributed process; `parent` names it on one host where no launcher does."""
    elastic = environ.get("TORCHELASTIC_RUN_ID", "none")
    slurm = environ.get("SLURM_JOB_ID")
    if slurm:
        step = environ.get("SLURM_STEP_ID", "")
        inside = step.isdigit() and int(step) < _SPECIAL_STEPS
        name = f"slurm-{slurm}.{step}" if inside else f"slurm-{slurm}"
        return name if elastic in ("none", "", slurm) else f"{name}-{elastic}"
    if elastic not in ("none", ""):
        return f"torchelastic-{elastic}"
    return environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid") or parent

"""`--gres` that fits: fewer GPUs where some of them never did anything."""

from collections.abc import Iterable, Sequence

from jobmeter.analysis import configs, gpus
from jobmeter.analysis.case import Case
from jobmeter.analysis.configs import Asked
from jobmeter.analysis.readings import Readings
from jobmeter.model.report import Evidence, Recommendation, Severity
from jobmeter.model.run import Status

_IDLE_PERCENT = 1.0
"""At its busiest: a GPU that never showed more did nothing."""
_FEWEST_SAMPLES = 10


def advise(case: Case) -> Iterable[Recommendation]:
    """Give back GPUs that stood idle, where somebody asked for them."""
    run = case.view.run
    asked = configs.request(run, Asked.GPUS)
    if run.status is not Status.COMPLETED or (asked is None and not configs.is_slurm(run)):
        return
    known = [util for _, util in gpus.each_worked(case.view) if len(util.values) >= _FEWEST_SAMPLES]
    used = sum(bool(util.values.max() > _IDLE_PERCENT) for util in known)
    if 0 < used < len(known):
        yield _fewer(Asked.GPUS.value if asked is None else asked.path, used, known)


def _fewer(path: str, used: int, known: Sequence[Readings]) -> Recommendation:
    given = len(known)
    return Recommendation(
        rule="gpus_request",
        severity=Severity.WARNING,
        title="Ask for fewer GPUs",
        action=f"Set {path}=gpu:{used}",
        impact=f"Frees the {given - used} of {given} GPUs that never did anything",
        config_path=path,
        current_value=f"gpu:{given}",
        recommended_value=f"gpu:{used}",
        evidence=(
            Evidence(sentence=f"{used} of {given} GPUs were ever busy", source=known[0].key, value=used),
        ),
    )

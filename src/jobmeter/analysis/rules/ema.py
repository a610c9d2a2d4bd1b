"""No second copy of the weights (exponential moving average) where memory runs short."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, rooms
from jobmeter.analysis.case import Case
from jobmeter.model.report import Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Do without the average of the weights where one is kept."""
    found = configs.find(case.view.run, "ema")
    room = rooms.model(case)
    if found is None or found.value is not True or room is None or not room.is_critical:
        return
    yield Recommendation(
        rule="ema",
        severity=Severity.CRITICAL,
        title="Disable EMA (use_ema: false)",
        action=f"Set {found.path.rpartition('.')[2]}: false",
        impact="Saves ~1GB for LoRA; for a full model as much as its trained weights in 32 bits",
        config_path=found.path,
        current_value=True,
        recommended_value=False,
        evidence=(room.evidence(), advice.setting_evidence(found)),
    )

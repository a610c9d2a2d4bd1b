"""Batches in memory that the GPU can copy from by itself, where it waits for data."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, rooms
from jobmeter.analysis.case import Case
from jobmeter.model.report import Evidence, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Pin batches where that is off and a GPU starves."""
    found = configs.find(case.view.run, "pin_memory")
    starved = next(case.found("gpu_starved"), None)
    if found is None or found.value is not False or starved is None:
        return
    if rooms.GPU_PEAK not in case.view.run.headline:
        return
    yield Recommendation(
        rule="pin_memory",
        severity=Severity.INFO,
        title="Pin batches in memory",
        action=f"Set {found.path.rpartition('.')[2]}: true, and copy with non_blocking=True",
        impact="Copies to the GPU run beside the computing; how much that gains is not predicted",
        config_path=found.path,
        current_value=False,
        recommended_value=True,
        evidence=(
            Evidence(sentence=starved.sentence, source=starved.key or "gpu_starved"),
            advice.setting_evidence(found),
        ),
    )

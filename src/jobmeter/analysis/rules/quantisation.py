"""Weights in eight bits where the memory the model lives in runs short, and its config can ask for that."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs, rooms
from jobmeter.analysis.case import Case
from jobmeter.model.report import Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Quantise a model that is not, where its config knows the word."""
    found = configs.find(case.view.run, "quantise")
    room = rooms.model(case)
    if found is None or found.value not in (False, None) or room is None or not room.is_critical:
        return
    # `load_in_8bit: false` stands beside `load_in_4bit: true`, and the two exclude one another
    if any(value not in (False, None) for value in configs.values_of(case.view.run, "quantise")):
        return
    qtype = "qtype: qfloat8" if found.path.endswith("quantize") else f"{found.path}: true"
    yield Recommendation(
        rule="quantisation",
        severity=Severity.CRITICAL,
        title=f"Enable quantization ({qtype})",
        action=f"Set {found.path.rpartition('.')[2]}: true",
        impact=f"Reduces model memory by 50% ({room.words}; activations and optimizer stay as they are, "
        "and only adapters such as LoRA can be trained)",
        config_path=found.path,
        current_value=found.value,
        recommended_value=True,
        evidence=(room.evidence(), advice.setting_evidence(found)),
    )

"""Another process on the same GPU: what it holds is not there for the job."""

from collections.abc import Iterable

from jobmeter.analysis import rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model import units
from jobmeter.model.report import Cause, Evidence, Recommendation, Severity

_MUCH = 0.05
"""Of the GPU's memory: what less would not have saved the job."""
_ACTION = "Ask for a GPU of your own, or end what else you run there: nvidia-smi lists it"


def advise(case: Case) -> Iterable[Recommendation]:
    """Speak of a neighbour that cost the job its memory, else of one that was seen."""
    told = list(_after_failure(case))
    yield from told
    seen = next(case.found("gpu_neighbour"), None)
    if seen is None or told:
        return
    yield Recommendation(
        rule="gpu_neighbour",
        severity=seen.severity,
        title="Share no GPU",
        action=_ACTION,
        impact="Speed and memory of the job no longer depend on a neighbour",
        evidence=(Evidence(sentence=seen.sentence, source=seen.key or "gpu_neighbour"),),
    )


def _after_failure(case: Case) -> Iterable[Recommendation]:
    if case.verdict.cause is not Cause.OOM_CUDA:
        return
    for error in rooms.cuda_errors(case.view):
        held, total = rooms.field(error, "other_process_bytes"), rooms.field(error, "total_bytes")
        if held is None or (total is not None and held < _MUCH * total):
            continue
        yield Recommendation(
            rule="gpu_neighbour",
            severity=Severity.CRITICAL,
            title="Share no GPU",
            action=_ACTION,
            impact=f"{units.format_bytes(held)} more for the job",
            evidence=(facts.quoted(error, f"another process held {units.format_bytes(held)}"),),
        )
        return

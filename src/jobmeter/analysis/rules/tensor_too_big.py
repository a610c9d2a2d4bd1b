"""One allocation larger than a whole GPU, or half of one: no setting of the allocator helps, the tensor must shrink."""

from collections.abc import Iterable

from jobmeter.analysis import rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model import units
from jobmeter.model.report import Cause, Recommendation, Severity

_HALF = 0.5


def advise(case: Case) -> Iterable[Recommendation]:
    """Name a single tensor that cannot fit."""
    if case.verdict.cause is not Cause.OOM_CUDA:
        return
    for error in rooms.cuda_errors(case.view):
        tried, total = rooms.field(error, "tried_bytes"), rooms.field(error, "total_bytes")
        if tried is None or total is None or tried < _HALF * total:
            continue
        share = "more than the whole GPU has" if tried > total else "more than half of the GPU"
        yield Recommendation(
            rule="tensor_too_big",
            severity=Severity.CRITICAL,
            title="One tensor is too large",
            action="Split the operation of the traceback: shorter sequences, chunks, or a smaller batch",
            impact=f"One allocation of {units.format_bytes(tried)} is {share} ({units.format_bytes(total)})",
            evidence=(facts.quoted(error, "the allocation that failed"),),
        )
        return

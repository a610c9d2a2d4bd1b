"""GPU memory that PyTorch holds but cannot use, because it lies in pieces: segments that can grow mend that."""

from collections.abc import Iterable, Mapping

from jobmeter.analysis import rooms
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model import units
from jobmeter.model.report import Cause, LogError, Recommendation, Severity

_VARIABLE, _GROWING = "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"
_MUCH = 0.1
"""Of what PyTorch holds."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Let segments grow where an allocation failed beside enough memory in pieces."""
    if case.verdict.cause is not Cause.OOM_CUDA or _is_set(case.view.run.context.get("environment")):
        return
    for error in rooms.cuda_errors(case.view):
        unused = _unused(error)
        if unused is None:
            continue
        tried = rooms.field(error, "tried_bytes") or 0.0
        enough = "enough for what failed" if unused >= tried else "a part of what failed"
        yield Recommendation(
            rule="fragmentation",
            severity=Severity.CRITICAL,
            title="Let GPU memory segments grow",
            action=f"Set {_VARIABLE}={_GROWING} in the job's environment",
            impact=f"Up to {units.format_bytes(unused)} that lies in pieces can be used: {enough}",
            config_path=_VARIABLE,
            recommended_value=_GROWING,
            evidence=(facts.quoted(error, f"{units.format_bytes(unused)} were reserved and not allocated"),),
        )
        return


def _is_set(environment: object) -> bool:
    told = environment.get(_VARIABLE) if isinstance(environment, Mapping) else None
    return isinstance(told, str) and _GROWING.lower() in told.lower()


def _unused(error: LogError) -> float | None:
    reserved, allocated = rooms.field(error, "reserved_bytes"), rooms.field(error, "allocated_bytes")
    if reserved is None or allocated is None:
        return None
    unused = reserved - allocated
    tried = rooms.field(error, "tried_bytes")
    is_much = unused > _MUCH * reserved or (tried is not None and unused >= tried)
    return unused if unused > 0 and is_much else None

"""A loss that became NaN or ran away: smaller steps, and gradients that cannot jump."""

from collections.abc import Iterable

from jobmeter.analysis import advice, configs
from jobmeter.analysis.case import Case
from jobmeter.model.report import Cause, Recommendation, Severity

_LESS = 10
"""A tenth: less than that mostly ends the same way."""
_IMPACT = "Mostly it is steps of the optimiser that are too large: the first thing to try, and not certain"
_CLIP = "clip gradients (max_grad_norm: 1.0)"


def advise(case: Case) -> Iterable[Recommendation]:
    """Say which learning rate to try next."""
    if case.verdict.cause not in (Cause.NAN_LOSS, Cause.DIVERGED):
        return
    found = configs.find(case.view.run, "learning_rate")
    rate = None if found is None else found.number
    evidence = advice.verdict_evidence(case.verdict)
    if found is None or rate is None or rate <= 0:
        yield Recommendation(
            rule="learning_rate",
            severity=Severity.CRITICAL,
            title="Lower the learning rate",
            action=f"Try a tenth of it, and {_CLIP}",
            impact=_IMPACT,
            evidence=evidence,
        )
        return
    lower = float(f"{rate / _LESS:.6g}")
    yield Recommendation(
        rule="learning_rate",
        severity=Severity.CRITICAL,
        title=f"Lower the learning rate to {lower:g}",
        action=f"Set {found.path.rpartition('.')[2]}: {lower:g}, and {_CLIP}",
        impact=_IMPACT,
        config_path=found.path,
        current_value=rate,
        recommended_value=lower,
        evidence=(*evidence, advice.setting_evidence(found)),
    )

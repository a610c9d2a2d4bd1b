"""A worker that died without a word: how to make it speak, and where else a kill is told.

Shared memory that ran out is another matter: `shared_memory` knows what to do.
"""

from collections.abc import Iterable

from jobmeter.analysis import advice
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts, story
from jobmeter.model.report import Cause, Recommendation, Severity

_ALONE = "Run its work in the main process once (num_workers: 0, or without the pool)"
_TOLD = {
    "Killed": ", and look for who sent SIGKILL: mostly the kernel for want of memory (dmesg | grep -i kill), "
    "else a supervisor or a user",
    "Segmentation fault": ", with python -X faulthandler: it shows the line that crashed",
}
_NOT_MEMORY = ", and look for who sent SIGKILL: a supervisor (systemd-oomd and earlyoom are such) or a user"
_OTHERS = frozenset(("Bus error", "SIGBUS"))


def advise(case: Case) -> Iterable[Recommendation]:
    """Let the work fail where its error is seen."""
    error = story.root(case.view) if case.verdict.cause is Cause.WORKER_KILLED else None
    if error is None or "shared_memory" in error.fields or error.fields.get("signal") in _OTHERS:
        return
    signal = error.fields.get("signal")
    is_spared = signal == "Killed" and facts.spare_memory(case.view) is not None
    yield Recommendation(
        rule="dead_worker",
        severity=Severity.WARNING,
        title="Find out why the worker died",
        action=f"{_ALONE}{_NOT_MEMORY if is_spared else _TOLD.get(str(signal), '')}",
        impact="A worker that dies says nothing; in the main process an error shows with its traceback",
        evidence=advice.verdict_evidence(case.verdict),
    )

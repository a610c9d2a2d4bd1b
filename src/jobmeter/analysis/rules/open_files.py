"""Too many open files: a higher limit, fewer files, or a way to share tensors that needs fewer of them.

The limit is known only where the job's own command sets it: then it is raised there, because what is set before the
job would be undone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model.report import Cause, Evidence, LogError, Recommendation, Severity

_ENOUGH = 65536
_SET = re.compile(r"\bulimit\s+(?:-[SH]\s+)*-[SH]*n[SH]*\s+(\d{1,9})\b")
_LEAK = "or close files: a leak is likely when the number of open ones keeps growing"


def advise(case: Case) -> Iterable[Recommendation]:
    """Raise the limit on descriptors, or need fewer; for a DataLoader share by names instead."""
    if case.verdict.cause is not Cause.RESOURCE_LIMIT:
        return
    for error in case.view.log_errors:
        if error.signature != "resource_limit" or error.fields.get("limit") != "open_files":
            continue
        workers = configs.value_of(case.view.run, "num_workers")
        sharing = isinstance(workers, int) and workers > 0
        tensor = "; or torch.multiprocessing.set_sharing_strategy('file_system')" if sharing else ""
        yield _advice(error, _own_limit(case.view.run.command), tensor)
        return


def _own_limit(command: Sequence[str]) -> int | None:
    """Find what the command itself sets; None where it leaves the limit alone."""
    found = [int(number) for word in command for number in _SET.findall(word)]
    return found[-1] if found else None


def _advice(error: LogError, own: int | None, tensor: str) -> Recommendation:
    wanted = _ENOUGH if own is None or own < _ENOUGH else 2 * own
    raised = f"Run ulimit -n {wanted} before the job"
    if own is not None:
        undone = "set before the job, it would be undone"
        raised = f"Raise ulimit -n {own} to {wanted} in the job's own command ({undone})"
    return Recommendation(
        rule="open_files",
        severity=Severity.CRITICAL,
        title="Allow more open files, or close them",
        action=f"{raised}, {_LEAK}{tensor}",
        impact="The job can go on opening files; if it never closes them, only later does it fail: "
        "ls /proc/PID/fd | wc -l counts them",
        config_path=None if own is None else "ulimit -n",
        current_value=own,
        recommended_value=None if own is None else wanted,
        evidence=tuple(_evidence(error, own)),
    )


def _evidence(error: LogError, own: int | None) -> Iterator[Evidence]:
    yield facts.quoted(error, "the limit was reached")
    if own is not None:
        yield Evidence(sentence=f"the job's own command says ulimit -n {own}", source="command", value=own)

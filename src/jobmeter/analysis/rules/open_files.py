"""Too many open files: a higher limit, or a way to share tensors between processes that needs fewer of them."""

from collections.abc import Iterable

from jobmeter.analysis import configs
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import facts
from jobmeter.model.report import Cause, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Raise the limit on descriptors; for a DataLoader share by names instead."""
    if case.verdict.cause is not Cause.RESOURCE_LIMIT:
        return
    for error in case.view.log_errors:
        if error.signature != "resource_limit" or error.fields.get("limit") != "open_files":
            continue
        workers = configs.value_of(case.view.run, "num_workers")
        sharing = isinstance(workers, int) and workers > 0
        tensor = "; or torch.multiprocessing.set_sharing_strategy('file_system')" if sharing else ""
        yield Recommendation(
            rule="open_files",
            severity=Severity.CRITICAL,
            title="Allow more open files",
            action=f"Run ulimit -n 65536 before the job{tensor}",
            impact="The job can go on opening files; if it never closes them, only later does it fail",
            config_path="ulimit -n",
            recommended_value=65536,
            evidence=(facts.quoted(error, "the limit was reached"),),
        )
        return

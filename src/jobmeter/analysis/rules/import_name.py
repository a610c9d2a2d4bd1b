"""A name that a module of the job's own, or of Python's, does not have: the import to correct.

What a package brought is another matter: `missing_module` asks for another version of it.
"""

import sys
from collections.abc import Iterable

from jobmeter.analysis import advice, frames
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import names, story
from jobmeter.analysis.verdict.names import Named
from jobmeter.model.report import Cause, Recommendation, Severity


def advise(case: Case) -> Iterable[Recommendation]:
    """Say which import to correct, and where it stands."""
    error = story.root(case.view) if case.verdict.cause is Cause.IMPORT_ERROR else None
    named = None if error is None else names.read(error.message)
    if error is None or named is None or (named.is_installed and not named.is_circular):
        return
    frame = frames.own(error)
    where = "" if frame is None else f" at {frame.place}"
    title, action, impact = _told(named, where)
    yield Recommendation(
        rule="import_name",
        severity=Severity.CRITICAL,
        title=title,
        action=action,
        impact=impact,
        evidence=advice.verdict_evidence(case.verdict),
    )


def _told(named: Named, where: str) -> tuple[str, str, str]:
    name, module = named.name, named.module
    gets_past = f"The job gets past its import of {name}"
    if named.is_circular:
        doubt = f", or rename {named.path} if a library of that name was meant" if named.is_doubtful else ""
        return (
            "Break the circle of imports",
            f"Move the import of {name} from {module}{where} into the function that needs it{doubt}",
            f"{gets_past}: {module} was still being read itself when {name} was asked of it",
        )
    correct = f"{module} has no {name}: correct the name in the import{where}"
    if named.path is None and module.partition(".")[0] not in sys.stdlib_module_names:
        return (
            f"Install what brings {module}.{name}",
            f"{module} is a folder without code: install what brings {module}.{name}, or correct the import{where}",
            gets_past,
        )
    if module.partition(".")[0] in sys.stdlib_module_names and not named.is_of_python and named.path:
        return (
            f"Rename {named.path}",
            f"Rename {named.path}: it hides Python's own {module}, which may have {name}",
            f"{gets_past}, if it was Python's {module} that was meant",
        )
    if named.is_of_python:
        return (
            f"Correct the import of {name}",
            correct,
            f"{gets_past}; {module} comes with Python, and another version of Python may have the name",
        )
    file = "" if named.path is None else f", or add it to {named.path}"
    return f"Correct the import of {name}", f"{correct}{file}", gets_past

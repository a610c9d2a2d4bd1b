"""A module that is not installed: the command that installs it, where the job looked for it.

What can mislead: a package may be called otherwise than what it brings; only the best known of those are known here.
"""

import re
from collections.abc import Iterable, Sequence

from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import story
from jobmeter.model.report import Cause, Evidence, Recommendation, Severity

_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]*)")
_NAME = re.compile(r"cannot import name '?(\w+)'? from '?([A-Za-z_][\w.]*)")
_PYTHON = re.compile(r"(.*/)?python[\d.]*")
_PACKAGES = {
    "Crypto": "pycryptodome",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""What brings a module of another name."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Say what to install."""
    error = story.root(case.view) if case.verdict.cause is Cause.IMPORT_ERROR else None
    if error is None:
        return
    module, name = _MODULE.search(error.message), _NAME.search(error.message)
    if module is not None:
        package = _package(module[1])
        title, what = f"Install {package}", f"{package}"
        impact = f"The job gets past its import of {module[1]}"
    elif name is not None:
        package = _package(name[2])
        title, what = f"Install a version of {package} that has {name[1]}", f"--upgrade {package}"
        impact = f"{name[2]} is installed, but in a version without {name[1]}: an older one may be the right one too"
    else:
        return
    yield Recommendation(
        rule="missing_module",
        severity=Severity.CRITICAL,
        title=title,
        action=f"Run {_python(case.view.run.command)} -m pip install {what}",
        impact=impact,
        evidence=case.verdict.evidence or (Evidence(sentence=case.verdict.sentence, source="verdict"),),
    )


def _package(module: str) -> str:
    top = module.partition(".")[0]
    return _PACKAGES.get(top, top.replace("_", "-"))


def _python(command: Sequence[str]) -> str:
    """Name the interpreter that the job ran with: another one has other packages."""
    return command[0] if command and _PYTHON.fullmatch(command[0]) else "python"

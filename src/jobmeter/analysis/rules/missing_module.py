"""A module that is not installed: the command that installs it, where the job looked for it.

A stranger's package of the same name is worse than no advice: what may be the job's own file is told with that doubt,
and what surely is one is left alone. What can mislead: a package may be called otherwise than what it brings; only the
best known of those are known here.
"""

import re
import sys
from collections.abc import Iterable, Sequence

from jobmeter.analysis import advice
from jobmeter.analysis.case import Case
from jobmeter.analysis.verdict import story
from jobmeter.model.report import Cause, Recommendation, Severity

_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]*)")
_NO_MODULE = re.compile(r"; '[^']*' is (?:not )?a package")
"""`python -m` of a folder, or a file where a package should be: nothing to install brings that."""
_NAME = re.compile(
    r"cannot import name '?(\w+)'? from '([A-Za-z_][\w.]*)' \(.*[/\\](?:site|dist)-packages[/\\]"
)
"""Only of what was installed: a module elsewhere is the job's own, and so is one that is only partially initialized."""
_PYTHON = re.compile(r"(.*/)?python[\d.]*")
_PACKAGES = {
    "Crypto": "pycryptodome",
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "distutils": "setuptools",
    "dotenv": "python-dotenv",
    "pkg_resources": "setuptools",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""What brings a module of another name."""


_SHARED = frozenset(
    ("azure", "backports", "google", "mpl_toolkits", "nvidia", "ruamel", "sphinxcontrib", "zope")
)
"""Names that many packages share: none of them is called so, or not the one that is meant."""


def advise(case: Case) -> Iterable[Recommendation]:
    """Say what to install."""
    error = story.root(case.view) if case.verdict.cause is Cause.IMPORT_ERROR else None
    told = None if error is None else _told(error.message)
    if told is None:
        return
    title, what, impact = told
    yield Recommendation(
        rule="missing_module",
        severity=Severity.CRITICAL,
        title=title,
        action=f"Run {_python(case.view.run.command)} -m pip install {what}",
        impact=impact,
        evidence=advice.verdict_evidence(case.verdict),
    )


def _told(message: str) -> tuple[str, str, str] | None:
    """Say what to do, what to give to pip and what comes of it; None where nothing can be installed."""
    name, module = _NAME.search(message), _MODULE.search(message)
    if name is not None:
        return _other_version(name[2], name[1])
    if module is None or _NO_MODULE.search(message):
        return None
    # of a name with dots Python names the first part that is missing: those before it are there
    top, _, part = module[1].partition(".")
    if part:
        return _other_version(top, module[1], f", unless {top} is a folder of yours")
    package = _package(top)
    impact = f"The job gets past its import of {top}, unless it is a file of yours: then PYTHONPATH must lead to it"
    return None if package is None else (f"Install {package}", package, impact)


def _other_version(module: str, part: str, doubt: str = "") -> tuple[str, str, str] | None:
    package = _package(module.partition(".")[0])
    if package is None:
        return None
    return (
        f"Install a version of {package} that has {part}",
        f"--upgrade {package}",
        f"{module} is there, but in a version without {part}: an older one may be the right one too{doubt}",
    )


def _package(top: str) -> str | None:
    """Name the package that brings a module; None for what comes with Python itself, or with many packages."""
    if top in _PACKAGES:
        return _PACKAGES[top]
    if top in _SHARED or top in sys.stdlib_module_names or top.startswith("_"):
        return None
    return top.replace("_", "-")


def _python(command: Sequence[str]) -> str:
    """Name the interpreter that the job ran with: another one has other packages."""
    return command[0] if command and _PYTHON.fullmatch(command[0]) else "python"

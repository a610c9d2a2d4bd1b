"""Which rules speak: a digest of everything that decides what a report says of the same run.

It is taken of the sources themselves, so that nobody need remember to count a version up. Where they are not
files (an installation in an archive) the version alone tells.
"""

import functools
import hashlib
from pathlib import Path

import jobmeter

PARTS = (
    "analysis",
    "formats/errorlines",
    "model/metrics.py",
    "model/report.py",
    "service/analysis.py",
    "service/analysis_view.py",
    "service/history.py",
    "service/log_errors.py",
    "service/told_exceptions.py",
)
"""Under the package: what findings, advice, verdicts and log errors are made by."""


@functools.cache
def digest(package: Path = Path(jobmeter.__file__).parent) -> str:
    """Hash the version and the sources of analysis."""
    made = hashlib.sha256(jobmeter.__version__.encode())
    for part in PARTS:
        path = package / part
        for file in (path,) if path.suffix else sorted(path.rglob("*.py")):
            if file.is_file():
                made.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return made.hexdigest()

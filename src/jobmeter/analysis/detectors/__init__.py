"""What stands out in a run: one detector a module, each a pure function from a view to findings.

A detector without the data it needs finds nothing. Same view, same findings, in the same order.
"""

from collections.abc import Iterable
from typing import Protocol

from jobmeter.model.report import Finding
from jobmeter.model.view import RunView


class Detector(Protocol):
    """A module in this folder: its name is the detector's."""

    def detect(self, view: RunView) -> Iterable[Finding]:
        """Look at one run."""


DETECTORS: dict[str, str] = {}
"""By name, in alphabetical order: the module."""

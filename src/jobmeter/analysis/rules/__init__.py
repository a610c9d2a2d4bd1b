"""What to change: one rule a module, each a pure function from a case to recommendations.

A rule without the data it needs is silent; a prediction it makes has an interval and is held against the
next run.
"""

from collections.abc import Iterable
from typing import Protocol

from jobmeter.analysis.case import Case
from jobmeter.model.report import Recommendation


class Rule(Protocol):
    """A module in this folder: its name is the rule's."""

    def advise(self, case: Case) -> Iterable[Recommendation]:
        """Say what to change after this run."""


RULES: dict[str, str] = {}
"""By name, in alphabetical order: the module."""

"""What a rule may know of a run: the run itself and what analysis already found out about it."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobmeter.model.report import Finding, Verdict
from jobmeter.model.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run, its verdict and its findings."""

    view: RunView
    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    def found(self, detector: str) -> Iterator[Finding]:
        """Go through what one detector found, worst first."""
        return (finding for finding in self.findings if finding.detector == detector)

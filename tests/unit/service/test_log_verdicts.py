"""Why jobs ended, by their text alone: many tools, many wordings, and text that only looks like a failure."""

from pathlib import Path

import pytest

from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, Verdict
from jobmeter.service import log_analysis
from support.failing_logs import CASES
from support.harmless_logs import HARMLESS

SILENT = (Cause.UNKNOWN, Cause.COMPLETED)


def verdict_on(text: str, folder: Path) -> Verdict:
    path = folder / "job.log"
    path.write_bytes(text.encode())
    return court.decide(log_analysis.view(path))


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_a_failure_tells_its_cause(name: str, tmp_path: Path) -> None:
    text, cause = CASES[name]
    assert verdict_on(text, tmp_path).cause is cause


@pytest.mark.parametrize("name", HARMLESS)
def test_text_that_only_looks_like_a_failure_is_none(name: str, tmp_path: Path) -> None:
    assert verdict_on(HARMLESS[name], tmp_path).cause in SILENT


@pytest.mark.parametrize("name", CASES)
def test_every_verdict_quotes_its_evidence(name: str, tmp_path: Path) -> None:
    found = verdict_on(CASES[name][0], tmp_path)
    assert found.evidence
    assert found.confidence >= 0.5

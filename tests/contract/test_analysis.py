"""What every detector, rule and judge must do: be registered, be silent without data, never raise, never differ."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from jobmeter.analysis import detectors, engine, rules
from jobmeter.analysis.case import Case
from jobmeter.analysis.detectors import DETECTORS
from jobmeter.analysis.rules import RULES
from jobmeter.analysis.verdict import court
from jobmeter.model.report import Cause, Report, Verdict
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView
from support import odd_views

EMPTY = RunView(run=Run(run_id="r", job_id="r", status=Status.COMPLETED, command=()), series={})
DONE = Verdict(cause=Cause.COMPLETED, sentence="it completed", confidence=1.0)
ODD = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def modules(package: ModuleType) -> set[str]:
    folder = Path(str(package.__file__)).parent
    return {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}


@pytest.mark.parametrize(("package", "registry"), [(detectors, DETECTORS), (rules, RULES)])
def test_every_module_of_the_folder_is_registered_under_its_own_name(
    package: ModuleType, registry: dict[str, str]
) -> None:
    assert list(registry) == sorted(registry)
    assert registry == {name: f"{package.__name__}.{name}" for name in registry}
    speaking = {
        name for name in modules(package) if hasattr(import_module(f"{package.__name__}.{name}"), "detect")
    }
    speaking |= {
        name for name in modules(package) if hasattr(import_module(f"{package.__name__}.{name}"), "advise")
    }
    assert set(registry) == speaking


def test_each_says_in_a_docstring_what_it_is_for() -> None:
    for path in (*DETECTORS.values(), *RULES.values()):
        assert len(str(import_module(path).__doc__).split()) > 5, path


def test_a_detector_without_data_finds_nothing() -> None:
    assert {name: list(import_module(path).detect(EMPTY)) for name, path in DETECTORS.items()} == {
        name: [] for name in DETECTORS
    }


def test_a_rule_without_data_advises_nothing() -> None:
    nothing = Case(view=EMPTY, verdict=DONE)
    assert {name: list(import_module(path).advise(nothing)) for name, path in RULES.items()} == {
        name: [] for name in RULES
    }


def test_an_empty_run_has_a_verdict() -> None:
    verdict = court.decide(EMPTY)
    assert verdict.sentence
    assert 0.0 <= verdict.confidence <= 1.0


@ODD
@given(odd_views.odd_views())
def test_no_run_is_too_odd(view: RunView) -> None:
    report = engine.examine(view)
    assert report == engine.examine(view)
    record = report.as_record()
    assert not odd_views.not_finite(record)
    assert json.loads(json.dumps(record)) == record
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report).as_record() == record
    for advice in report.recommendations:
        assert all(one.low <= one.after <= one.high for one in advice.predictions)
    assert 0.0 <= report.verdict.confidence <= 1.0
    assert {finding.detector for finding in report.findings} <= set(DETECTORS)
    assert {advice.rule for advice in report.recommendations} <= set(RULES)

"""The types of JSON answers hold for what is answered: no key that they do not name, no value of another kind."""

import json
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
import pytest

from jobmeter.model import answers, report_answers, seed_answers
from jobmeter.service import by_id, comparing, job_analysis, run_parts, shapes
from support import served_homes
from support.served_homes import BUILD, FAILED, KINDS, TRAINED


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    return str(served_homes.write(tmp_path_factory.mktemp("answers")))


def unnamed(document: Any, kind: Any, path: str = "") -> list[str]:
    """List the keys of a document that its type does not name."""
    if is_typeddict(kind) and isinstance(document, dict):
        hints = get_type_hints(kind)
        extra = [f"{path}.{key}" for key in document if key not in hints]
        known = [key for key in document if key in hints]
        return extra + [line for key in known for line in unnamed(document[key], hints[key], f"{path}.{key}")]
    if get_origin(kind) is list and isinstance(document, list):
        return [line for one in document for line in unnamed(one, get_args(kind)[0], f"{path}[]")]
    if get_origin(kind) is dict and isinstance(document, dict):
        return [
            line for key, one in document.items() for line in unnamed(one, get_args(kind)[1], f"{path}.{key}")
        ]
    return []


def holds(document: object, kind: Any) -> bool:
    sent = json.loads(json.dumps(document))
    msgspec.convert(sent, kind)
    assert unnamed(sent, kind) == []
    return True


@pytest.mark.parametrize("run_id", KINDS)
def test_runs(home: str, run_id: str) -> None:
    assert holds(by_id.ask(home, run_id, lambda _, run: shapes.listed(run)), answers.RunListed)
    assert holds(by_id.ask(home, run_id, run_parts.shown), answers.RunShown)
    assert holds(by_id.ask(home, run_id, run_parts.events), answers.Events)
    assert holds(by_id.ask(home, run_id, run_parts.processes), answers.Processes)


@pytest.mark.parametrize("run_id", KINDS)
def test_what_analysis_says(home: str, run_id: str) -> None:
    assert holds(by_id.ask(home, run_id, run_parts.report), report_answers.ReportTold)
    assert holds(by_id.ask(home, run_id, job_analysis.of_run), seed_answers.JobAnalysis)


def test_comparisons(home: str) -> None:
    assert holds(comparing.compare_ids(home, [BUILD, TRAINED, FAILED]).as_record(), report_answers.Compared)


def test_a_key_that_is_not_named_is_noticed() -> None:
    assert unnamed({"runs": [{"run_id": "a", "colour": "red"}]}, answers.RunsPage) == [".runs[].colour"]


def test_a_value_of_another_kind_is_noticed() -> None:
    with pytest.raises(msgspec.ValidationError):
        holds({"run_id": 7}, answers.RunListed)

"""The OpenAPI document held against a real server: thousands of requests made up from it, every answer as it says.

The full form is JOBMETER_SCHEMA_EXAMPLES=5000; without it a few hundred are made, the same each time.
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import hypothesis
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from jobmeter.web import api_bodies, api_examples
from support import postgres, served_homes, server
from support.server import Served

EXAMPLES = int(os.environ.get("JOBMETER_SCHEMA_EXAMPLES", "400"))
SPARE = 40
SENSIBLE = {
    "fields": ["run_id", "status,headline", "steps,tags,run_id"],
    "from": ["1794736210", "2026-11-15T09:50:20Z", "-30m", "10"],
    "instances": ["4713@100", "a,b"],
    "job_ids": ["aitk-7", f"aitk-7,{served_homes.BUILD}", f"{served_homes.FAILED},lora"],
    "keys": ["cgroup_mem_current", "proc_rss,cgroup_cputime", "host_net_receive"],
    "metrics": ["loss", "lr,loss", "batch_size"],
    "names": ["status", "tag,host", "user,cause,project"],
    "q": [
        "status=failed",
        "wall>1s",
        "loss<1",
        "tag.k=v and not nightly",
        "started>-7d",
        "name~a or host=node7",
    ],
    "ranks": ["0", "0,1", "7"],
    "runs": [f"{served_homes.BUILD},{served_homes.TRAINED}", ",".join(served_homes.KINDS)],
    "search": ["loss", "compiling", "TOKEN", "y"],
    "sort": ["wall", "name", "loss", "tag.k", "cgroup_mem_peak", "config.lr"],
    "to": ["1794736250", "60"],
}
"""What a parameter can be that is more than text."""
CHANGING = frozenset(("deleteRun", "restoreRun"))
HARD_TO_GUESS = frozenset(("applyAdvice", "changeRun", "endSilence", "getRegion", "restoreRun", "syncRun"))
"""What needs a text or a state that cannot be made up; tests of their own answer 200."""
STREAMED = "text/event-stream"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a home of strange runs from an index in a file, and in a database."""
    home = served_homes.write(tmp_path_factory.mktemp(request.param) / "home", spare=SPARE)
    if request.param == "sqlite":
        with server.serving(home) as running:
            yield running
        return
    with postgres.database() as url, server.serving(home, "--database", url) as running:
        yield running


@pytest.fixture(scope="module")
def document(served: Served) -> dict[str, Any]:
    answer = served.client.get("/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def operations(document: dict[str, Any]) -> list[Any]:
    """Take every operation apart from streams, which do not end."""
    schema = schemathesis.openapi.from_dict(document)
    found = [one.ok() for one in schema.get_all_operations()]
    return [one for one in found if STREAMED not in str(one.definition.raw["responses"].get("200"))]


def known(name: str, operation_id: str) -> list[str]:
    """Name things that are there, for the parameters of a path."""
    if name == "run_id":
        return served_homes.spares(SPARE) if operation_id in CHANGING else list(served_homes.KINDS)
    return ["aitk-7", served_homes.TRAINED, "lora", served_homes.JOB] if name == "job_id" else ["us-central1"]


@strategies.composite
def cases(draw: strategies.DrawFn, operation: Any, mode: GenerationMode) -> tuple[Any, bool]:
    """Make up a request, mostly about something that is there."""
    case = draw(operation.as_strategy(generation_mode=mode))
    names = list(case.path_parameters or {})
    placed = bool(names) and draw(strategies.integers(0, 3)) > 0
    if placed:
        operation_id = operation.definition.raw.get("operationId", "")
        case.path_parameters = {
            name: draw(strategies.sampled_from(known(name, operation_id))) for name in names
        }
    if mode is GenerationMode.POSITIVE:
        for name in sorted({*(case.query or {})} & {*SENSIBLE}):
            if draw(strategies.integers(0, 3)):
                case.query[name] = draw(strategies.sampled_from(SENSIBLE[name]))
    return case, placed


@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore::Warning")  # of the generator about itself
def test_every_answer_is_as_the_document_says(served: Served, document: dict[str, Any]) -> None:
    found = operations(document)
    assert len(found) > 25
    each = max(4, EXAMPLES // (2 * len(found)))
    sent = 0
    unanswered = set()
    for operation in found:
        good = walk(served, operation, GenerationMode.POSITIVE, each)
        bad = walk(served, operation, GenerationMode.NEGATIVE, each)
        sent += good.total() + bad.total()
        if not good[200] + good[201]:
            unanswered.add(operation.definition.raw["operationId"])
    assert sent >= 0.6 * EXAMPLES
    # what only ever refuses was not tested
    assert unanswered <= HARD_TO_GUESS
    assert served.client.get("/health").json()["status"] == "ok"


def walk(served: Served, operation: Any, mode: GenerationMode, examples: int) -> Counter[int]:
    """Send some requests of one kind; what the server does wrong is an error with the request that shows it."""
    statuses: Counter[int] = Counter()

    @hypothesis.settings(
        max_examples=examples,
        database=None,
        derandomize="JOBMETER_SCHEMA_EXAMPLES" not in os.environ,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    @hypothesis.given(cases(operation, mode))
    def check(made: tuple[Any, bool]) -> None:
        case, placed = made
        answer = case.call(base_url=served.url, headers={"Authorization": f"Bearer {served.token}"})
        statuses[answer.status_code] += 1
        spoilt = mode is GenerationMode.NEGATIVE and is_spoilt(case, answer, placed=placed)
        more = [negative_data_rejection] if spoilt else []
        case.validate_response(answer, checks=[*CHECKS, *more])

    try:
        check()
    except hypothesis.errors.Unsatisfiable:
        return statuses  # nothing can be sent that the document does not allow
    return statuses


def is_spoilt(case: Any, answer: Any, *, placed: bool) -> bool:
    """Tell whether something spoilt is in the request that was sent.

    A path made anew is not, nor is the token, which is ours, nor a parameter that is an empty list.
    """
    sent = {name for name, _ in parse_qsl(urlsplit(answer.request.url).query, keep_blank_values=True)}
    all_sent = {*(case.query or {})} <= sent
    for one in case.meta.phase.data.mutations:
        match one.parameter_location:
            case ParameterLocation.QUERY if all_sent or one.parameter in sent:
                return True
            case ParameterLocation.PATH if not placed:
                return True
            case ParameterLocation.BODY:
                return True
    return False


def test_every_example_is_as_its_schema_says(document: dict[str, Any]) -> None:
    checked = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            name = operation["operationId"]
            for content, examples in (
                (operation["responses"].get("200", {}).get("content", {}), api_examples.ANSWERS),
                (operation.get("requestBody", {}).get("content", {}), api_bodies.BODIES),
            ):
                if name in examples:
                    schema = content["application/json"]["schema"] | {"components": document["components"]}
                    jsonschema_rs.validate(schema, examples[name])
                    checked.add(name)
    assert checked == {*api_examples.ANSWERS, *api_bodies.BODIES}


def test_every_route_has_a_name_and_a_sentence(document: dict[str, Any]) -> None:
    ids = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("summary"), f"{method} {path}"
            assert operation.get("description"), f"{method} {path}"
            ids.append(operation["operationId"])
            for parameter in operation.get("parameters", []):
                assert parameter.get("description"), f"{method} {path} {parameter['name']}"
    assert len(set(ids)) == len(ids)

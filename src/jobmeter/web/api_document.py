"""The OpenAPI document as clients read it: what the framework derives from the routes, with what it leaves out.

Descriptions of fields are the docstrings beside them in the model, so that they are written once. A parameter that may
be left out is not one that may be null: in an address there is no null.
"""

import ast
import inspect
from importlib import import_module
from typing import Any

from litestar import Litestar

from jobmeter.web import answering, api_bodies, api_examples, problems

Node = dict[str, Any]

_MODULES = (
    "jobmeter.model.alert_answers",
    "jobmeter.model.answers",
    "jobmeter.model.chart_answers",
    "jobmeter.model.context_answers",
    "jobmeter.model.list_answers",
    "jobmeter.model.log_page",
    "jobmeter.model.report_answers",
    "jobmeter.model.seed_answers",
    "jobmeter.model.sync",
    "jobmeter.service.changing",
    "jobmeter.service.job_apply",
    "jobmeter.web.api_sync",
    "jobmeter.web.pages",
)
"""Where the classes of answers and bodies are."""
_PATH = {"run_id": "The whole id of a run, as `GET /api/v1/runs` lists it."}
_COMMON = (400, 401, 403, 404, 429, 503)
_OPEN = frozenset(("/health",))


def of(app: Litestar) -> Node:
    """Give the document of an application, made once."""
    known: Node | None = app.state.get("openapi_document")
    if known is None:
        known = completed(app.openapi_schema.to_schema())
        app.state["openapi_document"] = known
    return known


def completed(document: Node) -> Node:
    """Add descriptions, examples and refusals to what was derived."""
    schemas: Node = document.setdefault("components", {}).setdefault("schemas", {})
    told = _docstrings()
    for name, schema in schemas.items():
        _describe(schema, told.get(schema.get("title", name), {}))
    for path, operations in document.get("paths", {}).items():
        for operation in operations.values():
            if isinstance(operation, dict):
                _complete(operation, is_open=path in _OPEN)
    return document


def _complete(operation: Node, *, is_open: bool) -> None:
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
        if parameter["name"] in _PATH:
            parameter.setdefault("description", _PATH[parameter["name"]])
    responses: Node = operation["responses"]
    if is_open:
        operation["security"] = []
    else:
        for status in _COMMON:
            if status == 400 or str(status) not in responses:
                responses[str(status)] = _refusal(answering.REASONS[status])
        responses["4XX"] = _refusal("Another reason why the request is not answered.")
    if "ETag" in responses.get("200", {}).get("headers", {}):
        responses["304"] = {"description": "What was sent as If-None-Match still holds."}
    example = api_examples.ANSWERS.get(operation.get("operationId", ""))
    if example is not None:
        responses["200"]["content"]["application/json"]["example"] = example
    sent = api_bodies.BODIES.get(operation.get("operationId", ""))
    if sent is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = sent


def _refusal(description: str) -> Node:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {problems.MEDIA_TYPE: {"schema": schema}}}


def _without_null(schema: Node) -> Node:
    choices = [one for one in schema.get("oneOf", ()) if one.get("type") != "null"]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{key: value for key, value in schema.items() if key not in ("oneOf", "default")}}


def _describe(schema: Node, told: dict[str, str]) -> None:
    if "" in told:
        schema.setdefault("description", told[""])
    for name, text in told.items():
        part = schema.get("properties", {}).get(name)
        # beside a reference nothing else may stand in older readers
        if part is not None and "$ref" not in part:
            part.setdefault("description", text)


def _docstrings() -> dict[str, dict[str, str]]:
    """Read what the model says of its classes, and of their fields."""
    found: dict[str, dict[str, str]] = {}
    for name in _MODULES:
        for statement in ast.parse(inspect.getsource(import_module(name))).body:
            if isinstance(statement, ast.ClassDef):
                inherited = [found.get(base.id, {}) for base in statement.bases if isinstance(base, ast.Name)]
                merged = {key: text for part in inherited for key, text in part.items()}
                found[statement.name] = merged | _of_class(statement)
    return found


def _of_class(statement: ast.ClassDef) -> dict[str, str]:
    told = {}
    own = ast.get_docstring(statement)
    if own is not None:
        told[""] = own
    for field, after in zip(statement.body, statement.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(after, ast.Expr):
            continue
        name, text = field.target, after.value
        if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
            told[name.id] = inspect.cleandoc(text.value)
    return told

"""What is added to the OpenAPI document that the framework derives."""

from typing import Any

from jobmeter.web import api_document


def operation(**more: object) -> dict[str, Any]:
    return {"operationId": "x", "responses": {"200": {"description": "ok"}}, **more}


def completed(path: str = "/x", **more: object) -> dict[str, Any]:
    document = {"paths": {path: {"get": operation(**more)}}}
    found: dict[str, Any] = api_document.completed(document)["paths"][path]["get"]
    return found


def parameter(schema: dict[str, object], name: str = "limit") -> dict[str, Any]:
    (found,) = completed(parameters=[{"name": name, "in": "query", "schema": schema}])["parameters"]
    changed: dict[str, Any] = found
    return changed


def test_a_parameter_that_may_be_left_out_is_not_null() -> None:
    schema = {"oneOf": [{"type": "integer"}, {"type": "null"}], "minimum": 1, "description": "How many."}
    assert parameter(schema)["schema"] == {"type": "integer", "minimum": 1, "description": "How many."}


def test_a_parameter_of_several_kinds_stays() -> None:
    schema: dict[str, object] = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    assert parameter(schema)["schema"] == schema


def test_the_id_of_a_run_is_described_where_nobody_did() -> None:
    assert "id of a run" in parameter({"type": "string"}, "run_id")["description"]


def test_every_route_says_how_it_refuses() -> None:
    responses = completed()["responses"]
    assert set(responses) == {"200", "400", "401", "403", "404", "429", "503", "4XX"}
    assert responses["404"]["content"] == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }


def test_what_needs_no_token_says_so() -> None:
    found = completed("/health")
    assert (found["security"], set(found["responses"])) == ([], {"200"})


def test_a_route_with_a_tag_may_answer_that_nothing_changed() -> None:
    found = completed(responses={"200": {"headers": {"ETag": {}}}})
    assert "304" in found["responses"]


def test_what_a_route_says_itself_of_a_refusal_stays() -> None:
    assert completed(responses={"404": {"description": "gone"}})["responses"]["404"] == {
        "description": "gone"
    }


def test_fields_are_described_by_the_model() -> None:
    line = {"title": "Line", "properties": {"rate": {"type": "boolean"}, "key": {"type": "string"}}}
    shown = {"title": "RunShown", "properties": {"headline": {"type": "object"}, "verdict": {"$ref": "#/x"}}}
    document = api_document.completed(
        {"paths": {}, "components": {"schemas": {"Line": line, "RunShown": shown}}}
    )
    schemas = document["components"]["schemas"]
    assert (
        schemas["Line"]["properties"]["rate"]["description"] == "Values are a counter's share of each second."
    )
    assert "description" not in schemas["Line"]["properties"]["key"]
    assert schemas["RunShown"]["properties"]["headline"]["description"].startswith("`cpu_seconds`")
    assert schemas["RunShown"]["properties"]["verdict"] == {"$ref": "#/x"}
    assert schemas["RunShown"]["description"].startswith("All that is known of a run")

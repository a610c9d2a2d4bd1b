"""Answers are strict JSON, whatever was measured and however things are called."""

import json
from dataclasses import dataclass

import pytest

from jobmeter.web import encoding


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    values: tuple[float, ...]


def strict(body: bytes) -> object:
    def refuse(word: str) -> object:
        raise AssertionError(word)

    return json.loads(body, parse_constant=refuse)


@pytest.mark.parametrize("name", ["plain", "käse", "broken \udcff name", "\x1b[31m", "</script>"])
def test_any_name_and_any_number_is_strict_json(name: str) -> None:
    thing = Thing(name, (1.5, float("nan"), float("inf"), float("-inf"), -0.0))
    body = encoding.encode({"things": [thing], "count": 2**53 + 1})
    assert strict(body) == {
        "things": [{"name": name, "values": [1.5, None, None, None, -0.0]}],
        "count": 9007199254740993,
    }

"""What the recorder writes without `json` must be what `json` reads."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.runfolder import jsontext

SURROGATES = st.text(st.characters(categories=None, exclude_categories=None), max_size=20)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**9), 10**9).map(lambda n: n / 1000)
    | SURROGATES
)
DOCUMENTS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SURROGATES, inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_every_plain_document_comes_back(document: object) -> None:
    text = jsontext.dumps(document)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == document


@given(st.floats())
def test_every_number_is_one_or_null(number: float) -> None:
    read = json.loads(jsontext.dumps(number))
    assert read is None if not math.isfinite(number) else read == round(number, 6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        (float("inf"), "null"),
        (float("-inf"), "null"),
        (0.1 + 0.2, "0.3"),
        (1e22, "1e+22"),
        (True, "true"),
        (10**30, "1" + 30 * "0"),
        ("\udcff\ud800", '"\\udcff\\ud800"'),
        ("a\x00\x1b\n\u2028", '"a\\u0000\\u001b\\n\\u2028"'),
        ((1, [2], {"k": ()}), '[1, [2], {"k": []}]'),
    ],
)
def test_the_text_is_written_out(value: object, text: str) -> None:
    assert jsontext.dumps(value) == text


def test_the_order_of_keys_is_kept() -> None:
    assert (
        jsontext.mapping({"b": 1, "a": {"z": None, "y": False}}) == '{"b": 1, "a": {"z": null, "y": false}}'
    )


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot write set as JSON"):
        jsontext.dumps({"k": {1}})

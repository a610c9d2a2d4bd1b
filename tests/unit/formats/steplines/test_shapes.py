"""Lines that differ in their digits only are looked at once; each keeps its own numbers and names."""

import pytest

from jobmeter.formats.steplines import numbers, shapes
from support import logtext


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("step: 12 loss: 3.45e-05", "step: 00 loss: 0.00e-00"),
        ("top1: 0.51 lr_0=1e-4", "top1: 0.00 lr_0=0e-0"),
        ("2025-01-04 17:18:04 host01 Acc@5 98.2", "0000-00-00 00:00:00 host01 Acc@5 00.0"),
    ],
)
def test_a_shape_has_the_digits_of_names_and_no_others(line: str, shape: str) -> None:
    assert shapes.of(line) == shape


def test_numbers_of_one_shape_are_not_mixed_up():
    text = "step: 1 loss: 0.5 lr: 1e-4\nstep: 2 loss: 0.4 lr: 2e-5\nstep: 3 loss: nan lr: 2e-5\n"
    steps = logtext.rows(text)
    assert [(step, metrics["lr"]) for _, step, metrics in steps] == [(1, 1e-4), (2, 2e-5), (3, 2e-5)]
    assert [metrics["loss"] for _, _, metrics in steps[:2]] == [0.5, 0.4]


def test_names_that_differ_in_a_digit_stay_apart():
    text = "step: 1 loss1: 0.5 map50-95: 0.7\nstep: 2 loss2: 0.4 map50-75: 0.6\n"
    assert logtext.rows(text) == [
        ("generic", 1, {"loss1": 0.5, "map50-95": 0.7}),
        ("generic", 2, {"loss2": 0.4, "map50-75": 0.6}),
    ]


@pytest.mark.parametrize(
    ("line", "name"), [("step: 1 1st-loss 0.5", "1st-loss"), ("step: 1 3rd-loss 0.5", "3rd-loss")]
)
def test_a_name_that_begins_with_a_digit_is_read_from_its_own_line(line: str, name: str) -> None:
    ((_, _, metrics),) = logtext.rows(line + "\n")
    assert metrics == {name: 0.5}


def test_what_a_logger_says_of_its_caller_moves_no_number():
    text = "train.py:128 step: 17 | loss 0.25\ntrain.py:129 step: 18 | loss 0.75\n"
    assert [(step, metrics["loss"]) for _, step, metrics in logtext.rows(text)] == [(17, 0.25), (18, 0.75)]


def test_pairs_of_one_shape_have_their_own_values():
    assert numbers.pairs("a2: 15, b=0.5s") == {"a2": 15, "b_s": 0.5}
    assert numbers.pairs("a3: 16, b=0.7s") == {"a3": 16, "b_s": 0.7}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("+5", 5),
        ("-5", -5),
        ("5.", 5.0),
        ("1,000.5", 1000.5),
        ("1_0", None),
        ("²", None),
        ("1,00", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_they_are_printed(word: str, value: float | None) -> None:
    assert numbers.number(word) == value

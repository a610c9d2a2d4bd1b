"""Where runs stand in an order, and what a filter makes of odd fields."""

from itertools import pairwise

import pytest

from jobmeter.model.quantities import Moment
from jobmeter.model.query import All, Compare, Either, Field, Not, Op, Place, Word, number_in, quote
from jobmeter.model.stretches import Stretches


def at(value: float | str | None, started_at: float | None = 1.0, run_id: str = "r") -> Place:
    return Place(value=value, started_at=started_at, run_id=run_id)


@pytest.mark.parametrize(
    ("reverse", "order"),
    [
        (
            False,
            [at(9), at(2.5), at(2, 5.0), at(2, 1.0, "b"), at(2, 1.0, "a"), at(2, None), at("a"), at("B")],
        ),
        (
            True,
            [at(2), at(9.0), at("B"), at("a", 2.0), at("A", 1.0), at(None, 3.0), at(None), at(None, None)],
        ),
    ],
)
def test_places_are_in_one_order(reverse: bool, order: list[Place]) -> None:
    for before, after in pairwise(order):
        assert after.is_after(before, reverse=reverse)
        assert not before.is_after(after, reverse=reverse)


def test_what_has_a_value_comes_before_what_has_none_in_any_order() -> None:
    for reverse in (False, True):
        assert at(None).is_after(at("z"), reverse=reverse)
        assert at("z").is_after(at(-1), reverse=reverse)


def test_a_run_without_a_start_is_the_oldest() -> None:
    assert at(1, None, "z").is_after(at(1, 0.0, "a"), reverse=False)
    assert not at(1, 0.0, "a").is_after(at(1, None, "z"), reverse=False)
    assert not at(1).is_after(at(1), reverse=False)


def test_a_metric_is_found_under_the_name_and_in_the_unit_of_its_quantity() -> None:
    field = Field("metric.time_ms", "metric.time", 0.001)
    assert field.of({"metric.time_ms": 5, "metric.time": 9.0}) == 5
    assert field.of({"metric.time": 0.25}) == 250.0
    assert field.of({"metric.time": "NaN"}) == "NaN"
    assert field.of({}) is None


def test_a_number_that_is_asked_for_a_word_is_only_ever_different() -> None:
    assert Compare(Field("wall"), Op.NE, "long").matches({"wall": 5})
    assert not Compare(Field("wall"), Op.EQ, "long").matches({"wall": 5})


def test_a_share_of_nothing_is_no_share() -> None:
    share = Compare(Field("memory_peak"), Op.GE, "0%", Moment(0, 0), "memory_limit")
    assert not share.matches({"memory_peak": 5, "memory_limit": 0})
    assert share.matches({"memory_peak": 5, "memory_limit": 10})


def test_text_is_compared_as_a_number_where_it_is_one() -> None:
    above = Compare(Field("tag.n"), Op.GT, "5", Moment(5, 5))
    assert [above.matches({"tag.n": text}) for text in ("7", "3", "many", "inf", "4KiB")] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert number_in("-Infinity") == float("-inf")


def test_filters_are_written_as_they_are_read() -> None:
    tree = Not(All((Word("a b"), Either((Compare(Field("name"), Op.HAS, 'q"x'), Word("not"))))))
    assert str(tree) == 'not ("a b" and (name~"q\\"x" or "not"))'
    assert quote("plain") == "plain"


def test_a_line_is_coarse_once_a_stretch_has_two_points() -> None:
    def line(*counts: int) -> Stretches:
        zeros = [0.0] * len(counts)
        return Stretches(
            key="k",
            instance="",
            begins=zeros,
            ends=zeros,
            counts=counts,
            lows=zeros,
            highs=zeros,
            means=zeros,
            lasts=zeros,
        )

    assert not line(1, 1).is_coarse
    assert line(1, 2).is_coarse

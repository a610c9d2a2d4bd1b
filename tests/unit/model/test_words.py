"""The recorder's light `Enum` behaves like the standard one wherever we use it."""

import copy
import enum
import pickle
from typing import Any

import pytest

from jobmeter.model import measurement, words

ALL = [measurement.Kind, measurement.Unit, measurement.Scope, measurement.Reduce, measurement.Stat]


def real(light: Any) -> Any:
    """Make the standard enum of the same members."""
    return enum.Enum(light.__name__, {member.name: member.value for member in light})  # type: ignore[misc]


@pytest.mark.parametrize("light", ALL, ids=lambda light: light.__name__)
def test_members_values_and_order_are_those_of_an_enum(light: Any) -> None:
    standard = real(light)
    assert [(m.name, m.value) for m in light] == [(m.name, m.value) for m in standard]
    assert len(light) == len(standard)
    assert [str(m) for m in light] == [str(m) for m in standard]
    assert [repr(m) for m in light] == [repr(m) for m in standard]


@pytest.mark.parametrize("light", ALL, ids=lambda light: light.__name__)
def test_a_member_is_found_by_its_value_and_is_itself(light: Any) -> None:
    for member in light:
        assert light(member.value) is member
        assert getattr(light, member.name) is member
        assert member in light
        assert isinstance(member, light)
        assert {member: 1}[light(member.value)] == 1
        assert member == light(member.value)
        assert member != member.value


@pytest.mark.parametrize("light", ALL, ids=lambda light: light.__name__)
@pytest.mark.parametrize("value", ["nope", None, 7, ["unhashable"]])
def test_what_is_no_value_is_refused_as_by_an_enum(light: Any, value: object) -> None:
    with pytest.raises(ValueError, match="is not a valid") as ours:
        light(value)
    with pytest.raises(ValueError, match="is not a valid") as theirs:
        real(light)(value)
    assert str(ours.value) == str(theirs.value)


def test_members_survive_copying_and_pickling() -> None:
    member = measurement.Kind.GAUGE
    assert copy.copy(member) is member
    assert copy.deepcopy({"kind": member})["kind"] is member
    assert pickle.loads(pickle.dumps(member)) is member  # noqa: S301  # our own bytes


def test_members_of_two_sets_differ_even_with_one_value() -> None:
    assert measurement.Reduce("max") is measurement.Reduce.MAX
    assert measurement.Reduce.MEAN != measurement.Stat.MEAN
    assert measurement.Stat.MEAN not in measurement.Reduce


def test_a_match_statement_tells_members_apart() -> None:
    def name(kind: measurement.Kind) -> str:
        match kind:
            case measurement.Kind.GAUGE:
                return "level"
            case measurement.Kind.COUNTER:
                return "total"
            case _:
                return "other"

    assert [name(kind) for kind in measurement.Kind] == ["level", "total", "other", "other"]


def test_the_light_class_is_what_runs() -> None:
    assert not issubclass(words.Enum, enum.Enum)

"""How many steps there are to be."""

import pytest

from jobmeter.analysis import planned
from jobmeter.model.view import Event


@pytest.mark.parametrize("told", [True, False, 0, -5, 10**15, 2.5, "100", None])
def test_what_is_no_number_of_steps_is_not_taken_for_one(told: object) -> None:
    assert planned.steps({"max_steps": told}, []) is None
    assert planned.steps({"max_steps": told, "steps": 300}, []) == 300


def test_what_the_training_says_itself_comes_before_its_settings() -> None:
    event = Event(timestamp=1.0, type="config", details={"max_steps": 200, "steps": 7})
    assert planned.steps({"max_steps": 300}, [event]) == 200


def test_settings_that_are_no_settings_say_nothing() -> None:
    assert planned.steps("max_steps", []) is None

"""How many steps a training is to take, as far as anybody said: its own words first, then its settings."""

from collections.abc import Iterable, Mapping
from typing import TypeGuard

from jobmeter.model.view import Event

_MOST_STEPS = 1e15
_MAX_STEPS = ("max_steps", "total_steps", "num_steps", "max_iters")
_MAX_STEPS_IN_CONFIG = (*_MAX_STEPS, "steps")
"""In an event `steps` may count anything."""


def steps(config: object, events: Iterable[Event]) -> int | None:
    """Say how many steps there are to be; None where nobody said."""
    told = [event.details.get(name) for event in events for name in _MAX_STEPS]
    if isinstance(config, Mapping):
        told += [config.get(name) for name in _MAX_STEPS_IN_CONFIG]
    return next((most for most in told if _is_count(most)), None)


def _is_count(most: object) -> TypeGuard[int]:
    # `max_steps: true` says that there is an end, not that it comes after one step
    return isinstance(most, int) and not isinstance(most, bool) and 0 < most < _MOST_STEPS

"""By what a run ended, in words."""

import pytest

from jobmeter.model import endings
from support import views


@pytest.mark.parametrize(
    ("context", "signal", "words"),
    [
        ({}, None, ""),
        ({}, "SIGKILL", "by SIGKILL"),
        ({"options": {"timeout": 5.0}}, "SIGTERM", "by SIGTERM"),
        (
            {"ended_by": "timeout", "options": {"timeout": 5.0}},
            "SIGTERM",
            "at its time limit of 5 s, by SIGTERM",
        ),
        ({"ended_by": "timeout", "options": {"timeout": 5400}}, None, "at its time limit of 1 h 30 min"),
        ({"ended_by": "timeout", "options": {}}, None, "at its time limit"),
        ({"ended_by": "timeout", "options": "none"}, "SIGKILL", "at its time limit, by SIGKILL"),
    ],
)
def test_a_time_limit_is_told_before_the_signal(
    context: dict[str, object], signal: str | None, words: str
) -> None:
    assert endings.cause(views.view([], context=context, signal=signal).run) == words

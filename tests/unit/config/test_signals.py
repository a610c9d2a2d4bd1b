"""Names and numbers of signals, against the standard library's own table."""

import signal

import pytest

from jobmeter.config import signals


@pytest.mark.parametrize("known", list(signal.Signals), ids=lambda known: known.name)
def test_every_signal_of_this_system_is_known_by_name_and_number(known: signal.Signals) -> None:
    assert signals.number(known.name) == int(known)
    assert signals.number(known.name.removeprefix("SIG").lower()) == int(known)
    assert signals.number(str(int(known))) == int(known)
    assert signals.number(signals.name(int(known))) == int(known)


def test_a_signal_without_a_name_has_its_number() -> None:
    assert signals.name(40) == "SIG40"
    assert signals.number("40") == 40


@pytest.mark.parametrize("word", ["", "NOPE", "SIG_IGN", "_DFL", "0", "65", "-9", "²", "9.5", "SIG"])
def test_what_is_no_signal_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="use a name such as USR1 or TERM"):
        signals.number(word)

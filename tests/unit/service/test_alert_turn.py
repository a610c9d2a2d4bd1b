"""Of several servers of one home one watches for alerts."""

import threading
from pathlib import Path

import pytest

from jobmeter.service import alert_turn
from jobmeter.service.alert_turn import OnlyOne


def test_a_second_server_waits_until_the_first_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_turn, "_LOOK_SECONDS", 0.01)
    stopping = threading.Event()
    first, second = OnlyOne(str(tmp_path)), OnlyOne(str(tmp_path))
    assert first.wait(stopping)
    got: list[bool] = []
    waiting = threading.Thread(target=lambda: got.append(second.wait(stopping)))
    waiting.start()
    while not second.was_anothers:
        assert waiting.is_alive()
    assert got == []
    first.release()
    waiting.join(10)
    assert (got, first.was_anothers, second.was_anothers) == ([True], False, True)
    second.release()


def test_who_is_told_to_stop_waits_no_longer(tmp_path: Path) -> None:
    stopping = threading.Event()
    first, second = OnlyOne(str(tmp_path)), OnlyOne(str(tmp_path))
    assert first.wait(stopping)
    stopping.set()
    assert not second.wait(stopping)
    first.release()


def test_a_home_nobody_can_write_to_is_watched(tmp_path: Path) -> None:
    only_one = OnlyOne(str(tmp_path / "absent"))
    assert only_one.wait(threading.Event())
    only_one.release()

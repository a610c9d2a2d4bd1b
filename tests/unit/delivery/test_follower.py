"""Every task has its turns while a run lasts, a last one at its end, and the process leaves in bounded time."""

import threading
import time
from pathlib import Path

import pytest

from jobmeter.delivery import follower, push_task
from jobmeter.delivery.follower import Followed


class Hanging:
    """A task that never comes back."""

    def turn(self, *, ended: bool) -> float | None:
        threading.Event().wait(3600)
        return 0.0 if ended else None


class Counting:
    """A task that notes its turns."""

    def __init__(self, *pauses: float | None) -> None:
        self.turns: list[bool] = []
        self.called = threading.Event()
        self._pauses = list(pauses)

    def turn(self, *, ended: bool) -> float | None:
        self.turns.append(ended)
        self.called.set()
        return self._pauses.pop(0)

    def wait(self) -> None:
        assert self.called.wait(10)


def test_a_task_has_turns_while_the_run_lasts_and_one_at_its_end() -> None:
    task = Counting(0.0, 0.0, 3600.0, None)

    def until_third_turn() -> None:
        while len(task.turns) < 3:
            assert task.called.wait(10)

    follower.follow([task], until_third_turn, patience_seconds=5.0)
    assert task.turns == [False, False, False, True]


def test_a_task_that_has_nothing_more_to_do_is_asked_again_at_the_end_only() -> None:
    task = Counting(None, None)
    follower.follow([task], task.wait, patience_seconds=5.0)
    assert task.turns[-1] is True
    assert len(task.turns) <= 2


def test_after_the_end_a_task_tries_again_as_long_as_there_is_patience() -> None:
    task = Counting(3600.0, 0.01, 0.01, 3600.0)
    follower.follow([task], task.wait, patience_seconds=2.0)
    assert task.turns == [False, True, True, True]


def test_a_task_that_hangs_does_not_hold_up_another() -> None:
    quick = Counting(0.0, 0.0, 3600.0, None)
    begun = time.monotonic()
    follower.follow([Hanging(), quick], quick.wait, patience_seconds=-4.5)
    assert quick.turns[-1] is True
    assert time.monotonic() - begun < 30


def test_without_tasks_nobody_waits_for_the_end() -> None:
    follower.follow([], lambda: time.sleep(3600), patience_seconds=0.0)


def test_a_run_that_never_began_is_not_followed(tmp_path: Path) -> None:
    assert follower.main([str(tmp_path / "gone")]) == 0
    assert not (tmp_path / "gone").exists()


def test_a_server_that_cannot_be_is_noted_beside_the_run(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "none"), "HOME": str(tmp_path)}
    assert push_task.begin(Followed(tmp_path, environ)) is None
    assert push_task.begin(Followed(tmp_path, {**environ, "JOBMETER_SERVER": "ftp://x"})) is None
    assert "not a server's address" in (tmp_path / "push.json").read_text()
    named = {**environ, "JOBMETER_SERVER": "http://127.0.0.1:9", "JOBMETER_PUSH_INTERVAL": "nonsense"}
    assert isinstance(push_task.begin(Followed(tmp_path, named)), push_task.PushTask)


def test_a_task_that_cannot_begin_leaves_the_others_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken_task.py"
    broken.write_text("def begin(followed):\n    raise OSError(28, 'No space left on device')\n")
    (tmp_path / "good_task.py").write_text(
        "def begin(followed):\n    (followed.folder / 'begun').touch()\n    return None\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(follower, "TASKS", {"broken": "broken_task", "good": "good_task"})
    (tmp_path / "run.jsonl").touch()
    monkeypatch.setattr(follower, "CONTROL_FD", 999)
    assert follower.main([str(tmp_path)]) == 0
    assert (tmp_path / "begun").exists()
    assert capsys.readouterr().err == "jobmeter: broken_task: [Errno 28] No space left on device\n"

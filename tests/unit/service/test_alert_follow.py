"""Alerts of one run without a server: a real folder, a real receiver, and what outlives the process."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter.delivery.follower import Followed
from jobmeter.errors import StoreError
from jobmeter.service import alert_follow, alerting, lifecycle
from support import folders, receivers
from support.alerted import Job


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


RULES = """
[rules.high]
key = "memory"
value = "100MiB"
for = "2s"
clear_for = "1s"
[rules.ended]
kind = "verdict"
[rules.found]
kind = "finding"
[rules.budget]
kind = "budget"
gpu_hours = 0
per = "project"
"""


def settle(home: Path, receiver: receivers.Receiver, rules: str = RULES) -> None:
    (home / "alerts.toml").write_text(
        f'[channels.hook]\nurl = "{receiver.url}/x"\nallow = ["127.0.0.0/8"]\ngroup = "0.01s"\n{rules}'
    )


def begin(job: Job) -> alert_follow.FolderAlerts | None:
    environ = {"XDG_CONFIG_HOME": str(job.home / "config")}
    return alert_follow.begin(Followed(job.folder, environ))


def started(job: Job) -> alert_follow.FolderAlerts:
    task = begin(job)
    assert task is not None
    return task


def told(receiver: receivers.Receiver) -> list[tuple[str, str]]:
    alerts = [one for posted in receiver.posted for one in json.loads(posted.body)["alerts"]]
    return [(one["state"], one["rule"]) for one in alerts]


def finish(task: alert_follow.FolderAlerts) -> None:
    """Let a task do all that is left after the end of a run."""
    deadline = time.monotonic() + 30
    while (pause := task.turn(ended=True)) is not None:
        assert time.monotonic() < deadline
        time.sleep(min(pause, 0.02))


def test_a_run_is_followed_to_its_end(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    job.memory(150, times=5)
    assert task.turn(ended=False) == alert_follow.LOOK_SECONDS
    receiver.wait_for(1)
    job.memory(50, times=3)
    task.turn(ended=False)
    job.end(status="failed", exit_code=1)
    finish(task)
    assert told(receiver) == [("firing", "high"), ("resolved", "high"), ("firing", "ended")]
    remembered = alert_follow.read(job.folder)
    assert remembered is not None
    assert remembered.book.is_done
    assert remembered.waiting.messages == ()
    assert not (job.folder / alert_follow.LOCK).exists()
    changes = (tmp_path / "changes.jsonl").read_text()
    assert folders.RUN_ID in changes


def test_another_process_goes_on_where_one_was_killed(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    job.memory(150, times=5)
    task.turn(ended=False)
    receiver.wait_for(1)
    task.close()  # what the kernel does for a killed process; what it remembered is in the folder
    again = started(job)
    job.memory(150, times=3)
    again.turn(ended=False)
    job.memory(50, times=3)
    job.end()
    finish(again)
    assert told(receiver) == [("firing", "high"), ("resolved", "high")]


def test_only_one_process_evaluates_a_run(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    assert begin(job) is None
    task.close()
    again = started(job)
    again.close()


def test_a_lock_that_was_taken_away_while_it_was_opened_keeps_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who held it lets go between the opening of the file and its locking: another would lock a new file."""
    first, flock = alert_follow.lock(tmp_path), fcntl.flock
    assert first is not None

    def let_go_before(fd: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        alert_follow.release(tmp_path, first)
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", let_go_before)
    second = alert_follow.lock(tmp_path)
    assert second is not None
    assert alert_follow.lock(tmp_path) is None
    alert_follow.release(tmp_path, second)


def test_a_lock_in_a_folder_that_is_gone_is_let_go_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    held = alert_follow.lock(folder)
    assert held is not None
    (folder / alert_follow.LOCK).unlink()
    folder.rmdir()
    folder.write_text("not a folder any more")
    alert_follow.release(folder, held)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(held)


def test_without_settings_nothing_is_watched_for(tmp_path: Path) -> None:
    job = Job(tmp_path)
    assert begin(job) is None
    assert not (job.folder / alert_follow.LOCK).exists()


def test_settings_that_cannot_be_are_told_by_the_list(tmp_path: Path) -> None:
    (tmp_path / "alerts.toml").write_text("[rules.r]\nkind = 'weather'\n")
    job = Job(tmp_path)
    assert begin(job) is None
    (trouble,) = alerting.troubles(str(tmp_path))
    assert "rule r: kind is weather" in trouble


def test_a_receiver_that_never_answers_holds_nobody_up_for_ever(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_follow, "LINGER_SECONDS", 0.2)
    receiver.statuses = [500] * 50
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    job.memory(10)
    job.end(status="failed", exit_code=1)
    finish(task)
    remembered = alert_follow.read(job.folder)
    assert remembered is not None
    (message,) = remembered.waiting.messages
    assert message.fate.value == "dead"


def test_a_folder_that_was_thrown_away_ends_the_task(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    job.folder.rename(tmp_path / "elsewhere")
    assert task.turn(ended=False) is None


def test_a_memory_that_was_cut_off_is_none(tmp_path: Path) -> None:
    (tmp_path / alert_follow.FILE).write_text('{"book":{"run_')
    assert alert_follow.read(tmp_path) is None


def test_the_budget_of_a_project_is_held_against_all_its_runs(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    job.sample(nvml_util={"GPU-a": 50.0})
    task.turn(ended=False)
    job.end()
    finish(task)
    assert ("firing", "budget") in told(receiver)


def test_a_disk_that_is_full_keeps_nobody_from_being_told(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)
    monkeypatch.setattr(lifecycle, "append_line", full)
    monkeypatch.setattr(alert_follow, "save", full)
    job.memory(150, times=5)
    task.turn(ended=False)
    receiver.wait_for(1)
    task.close()
    assert told(receiver) == [("firing", "high")]


def test_an_index_that_fails_is_tried_again_for_as_long_as_a_follower_stays(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(tmp_path, receiver)
    job = Job(tmp_path)
    task = started(job)

    def broken(_: float) -> None:
        raise StoreError("locked")

    task._indexed = broken  # type: ignore[method-assign,assignment]
    assert task.turn(ended=False) == alert_follow.LOOK_SECONDS
    assert task.turn(ended=True) == alert_follow.LAST_LOOK_SECONDS
    monkeypatch.setattr(alert_follow, "LINGER_SECONDS", -1.0)
    assert task.turn(ended=True) is None


def test_nothing_is_left_in_the_temporary_folder(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    settle(tmp_path, receiver)
    task = started(Job(tmp_path))
    assert os.listdir(scratch) != []
    task.close()
    assert os.listdir(scratch) == []


def test_what_cannot_be_read_at_the_end_is_tried_again(tmp_path: Path, receiver: receivers.Receiver) -> None:
    settle(tmp_path, receiver, rules="")
    job = Job(tmp_path)
    task = started(job)
    job.event("alert", title="bad batch", text="loss is 1e9", level="ERROR")
    job.end()
    known = (job.folder / "run.jsonl").read_bytes()
    (job.folder / "run.jsonl").unlink()
    (job.folder / "run.jsonl").symlink_to("run.jsonl")  # cannot be opened just now
    assert task.turn(ended=True) is not None
    (job.folder / "run.jsonl").unlink()
    (job.folder / "run.jsonl").write_bytes(known)
    finish(task)
    assert told(receiver) == [("firing", "told")]

"""Alerts of a server: what is looked at, what is remembered, and whose runs are left alone."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jobmeter.delivery.follower import Followed
from jobmeter.model.alert import Change, RunBook, Silence, Turn
from jobmeter.service import (
    alert_follow,
    alert_records,
    alert_server,
    alert_silences,
    alerting,
    index,
    keeping,
    live,
)
from jobmeter.service.alerting import Wanted
from jobmeter.stores import Store
from jobmeter.stores.server_db import ServerDb
from support import folders, receivers
from support.alerted import Job
from support.recorder import wait_for

RULES = """
[rules.high]
key = "memory"
value = "100MiB"
for = "2s"
clear_for = "1s"
"""


@pytest.fixture
def receiver() -> Iterator[receivers.Receiver]:
    with receivers.receiver() as found:
        yield found


@pytest.fixture(autouse=True)
def _own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


class Desk:
    """The alerts of a server without the server: a test says when the index was kept up and when to look."""

    def __init__(self, home: Path, receiver: receivers.Receiver, rules: str = RULES) -> None:
        self.home = home
        self.receiver = receiver
        self.touched: list[str] = []
        self.warnings: list[str] = []
        self.hub = live.Hub()
        self.write(rules)
        self.open()

    def write(self, rules: str) -> None:
        (self.home / "alerts.toml").write_text(
            f'[channels.hook]\nurl = "{self.receiver.url}/x"\nallow = ["127.0.0.0/8"]\ngroup = "0.01s"\n{rules}'
        )

    def open(self) -> None:
        self.db = ServerDb.open(self.home)
        self.alerts = alert_server.ServerAlerts(
            str(self.home),
            self.db,
            self.read,
            touch=self.touched.append,
            hub=self.hub,
            warn=self.warnings.append,
        )

    def close(self) -> None:
        self.alerts.stop()
        self.db.close()

    @contextmanager
    def read(self) -> Iterator[Store]:
        with index.open_index(self.home) as opened:
            opened.refresh()
            yield opened.ask(lambda store: store)

    def tick(self, now: float, change: keeping.Change = keeping.Change.GREW) -> None:
        """Have the run looked at as if its turn had come."""
        with self.read() as store:
            self.alerts.observe(store, [keeping.Changed(folders.RUN_ID, change)])
        self.alerts._looked.clear()
        self.alerts.tick(now)
        self.alerts._courier.turn()
        time.sleep(0.02)  # the time a message waits for company
        self.alerts._courier.turn()

    def told(self) -> list[tuple[str, str]]:
        alerts = [one for posted in self.receiver.posted for one in json.loads(posted.body)["alerts"]]
        return [(one["state"], one["rule"]) for one in alerts]

    def shown(self, now: float, **wanted: object) -> dict[str, list[dict[str, object]]]:
        return alerting.told_by(self.alerts, Wanted(**wanted), now)  # type: ignore[arg-type,return-value]


def received(job: Job) -> Job:
    """Say that a run was pushed by another machine."""
    (job.folder / "synced.json").write_text("{}")
    return job


def test_a_run_that_was_pushed_fires_once_and_resolves_once(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    for mib in (150, 150, 150, 150, 50, 50, 50):
        job.memory(mib)
        desk.tick(job.wall)
    job.end()
    desk.tick(job.wall + 1)
    assert desk.told() == [("firing", "high"), ("resolved", "high")]
    assert desk.touched == [folders.RUN_ID, folders.RUN_ID]
    shown = desk.shown(job.wall)
    assert [one["state"] for one in shown["alerts"]] == ["resolved"]
    assert [one["state"] for one in shown["history"]] == ["resolved", "firing"]
    assert shown["undelivered"] == []
    assert not (job.folder / alert_follow.LOCK).exists()
    desk.close()


def test_what_fires_survives_a_restart(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    desk.close()
    desk.open()
    job.memory(150, times=2)
    desk.tick(job.wall)
    assert desk.told() == [("firing", "high")]
    job.memory(50, times=3)
    desk.tick(job.wall)
    assert desk.told() == [("firing", "high"), ("resolved", "high")]
    desk.close()


def test_what_could_not_be_told_is_told_after_a_restart(tmp_path: Path, receiver: receivers.Receiver) -> None:
    receiver.statuses = [500]
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    (waiting,) = desk.shown(job.wall)["undelivered"]
    assert (waiting["state"], waiting["error"]) == ("waiting", "answered 500")
    desk.close()
    desk.open()
    desk.alerts._courier._clock = lambda: time.time() + 60
    assert desk.alerts._courier.turn() == 1
    assert desk.told() == [("firing", "high"), ("firing", "high")]
    keys = {posted.headers["Idempotency-Key"] for posted in receiver.posted}
    assert len(keys) == 1
    desk.close()


def test_a_run_that_ended_long_ago_is_not_looked_at(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver, '[rules.ended]\nkind = "verdict"\n')
    folders.write_run(tmp_path, end={"status": "failed", "exit_code": 1})
    desk.tick(folders.STARTED + 200_000, keeping.Change.NEW)
    assert desk.told() == []
    desk.tick(folders.STARTED + 100, keeping.Change.NEW)
    assert desk.told() == [("firing", "ended")]
    desk.tick(folders.STARTED + 110)
    assert desk.told() == [("firing", "ended")]
    desk.close()


def test_runs_that_ended_while_the_server_was_down_are_looked_at(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(tmp_path, receiver, '[rules.ended]\nkind = "verdict"\n')
    desk.alerts.records.keep_looked_at(time.time() - 3600)
    desk.close()
    folders.write_run(tmp_path, seconds=5, started=time.time() - 60, end={"status": "failed", "exit_code": 1})
    desk.open()
    desk.alerts.start()
    receiver.wait_for(1)
    desk.close()
    assert desk.told() == [("firing", "ended")]
    assert desk.warnings == []


def test_a_run_with_a_follower_is_left_to_it_and_shown(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    follower = alert_follow.begin(Followed(job.folder, dict(os.environ)))
    assert follower is not None
    job.memory(150, times=5)
    follower.turn(ended=False)
    receiver.wait_for(1)
    desk.tick(job.wall)
    assert [one["state"] for one in desk.shown(job.wall)["alerts"]] == ["firing"]
    assert [one["state"] for one in desk.shown(job.wall)["history"]] == ["firing"]
    job.end()
    while follower.turn(ended=True) is not None:
        time.sleep(0.02)
    desk.tick(job.wall)
    assert desk.told() == [("firing", "high"), ("resolved", "high")]
    assert [one["state"] for one in desk.shown(job.wall)["alerts"]] == ["resolved"]
    desk.close()


def test_a_run_that_was_over_before_its_follower_began_is_told_once(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    job.memory(150, times=5)
    job.end()
    desk.tick(job.wall)
    receiver.wait_for(1)
    assert alert_follow.begin(Followed(job.folder, dict(os.environ))) is None
    assert not (job.folder / alert_follow.LOCK).exists()
    told = desk.told()
    desk.tick(job.wall)
    assert desk.told() == told
    assert told[0] == ("firing", "high")
    shown = alerting.told_of(str(tmp_path), Wanted(), job.wall)["alerts"]
    assert [one["rule"] for one in shown] == ["high"]  # type: ignore[attr-defined]
    desk.close()


def test_the_history_of_a_server_says_who_asked_for_silence(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    begin = folders.STARTED
    silence = Silence(id="hush", where="", begin=begin, until=begin + 3600.0, rules=(), comment="", by="me")
    alert_silences.add(str(tmp_path), silence)
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    job.memory(150, times=5)
    desk.tick(job.wall)
    assert desk.told() == []
    (event,) = [one for one in desk.shown(job.wall)["history"] if one["state"] == "firing"]
    assert event["silenced_by"] == silence.id
    desk.close()


def test_a_follower_that_ends_while_the_server_looks_has_told_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wrote its last word after the server had looked for one, and let go before the server took hold."""
    lock, done = alert_follow.lock, alert_follow.Remembered(book=RunBook(run_id="r", is_done=True))

    def ends_meanwhile(folder: Path) -> int | None:
        alert_follow.save(folder, done)
        return lock(folder)

    monkeypatch.setattr(alert_follow, "lock", ends_meanwhile)
    assert alert_follow.take_over(tmp_path) == (None, done)
    assert not (tmp_path / alert_follow.LOCK).exists()


def test_a_run_whose_follower_was_killed_is_taken_over(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    follower = alert_follow.begin(Followed(job.folder, dict(os.environ)))
    assert follower is not None
    job.memory(150, times=5)
    follower.turn(ended=False)
    receiver.wait_for(1)
    follower.close()
    job.memory(50, times=3)
    desk.tick(job.wall)
    assert desk.told() == [("firing", "high"), ("resolved", "high")]
    # and a follower that is started now leaves it to the server
    assert alert_follow.begin(Followed(job.folder, dict(os.environ))) is None
    desk.close()


def test_what_a_killed_follower_had_not_told_yet_is_told(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    receiver.statuses += [503]
    follower = alert_follow.begin(Followed(job.folder, dict(os.environ)))
    assert follower is not None
    job.memory(150, times=5)
    follower.turn(ended=False)
    receiver.wait_for(1)
    follower.close()
    assert [one["state"] for one in alerting.told_of(str(tmp_path), Wanted(), job.wall)["undelivered"]] == [
        "waiting"
    ]  # type: ignore[attr-defined]
    desk.tick(job.wall)
    receiver.wait_for(2)
    # refused once, then taken
    assert desk.told() == [("firing", "high"), ("firing", "high")]
    assert desk.alerts.messages() == ()
    assert alerting.told_of(str(tmp_path), Wanted(), job.wall)["undelivered"] == []
    desk.close()


def test_a_run_that_cannot_be_looked_at_holds_up_no_other(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    look = desk.alerts._look
    seen: list[str] = []

    def look_or_fail(run_id: str, now: float) -> None:
        seen.append(run_id)
        if run_id == "broken":
            raise ZeroDivisionError("a bug")
        look(run_id, now)

    monkeypatch.setattr(desk.alerts, "_look", look_or_fail)
    with desk.read() as store:
        desk.alerts.observe(store, [keeping.Changed("broken", keeping.Change.ENDED)])
    for _ in range(20):
        desk.tick(job.wall)
    assert desk.told() == [("firing", "high")]
    assert desk.warnings == ["alerts of broken are not watched for: ZeroDivisionError: a bug"]
    assert seen.count("broken") == 10
    desk.close()


def test_live_readers_are_told(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    published: list[live.LiveEvent] = []
    desk.hub.publish = lambda events: published.extend(events)  # type: ignore[method-assign,assignment]
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    (event,) = published
    assert (event.kind, event.run_id, event.project) == (live.Kind.ALERT, folders.RUN_ID, "app")
    assert event.data["rule"] == "high"
    desk.close()


def test_rules_are_read_again_when_their_file_changed(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    desk.alerts.tick(0.0)
    desk.write('[rules.other]\nkey = "memory"\nvalue = 1\nfor = 0\n')
    desk.alerts._next.clear()
    desk.alerts.tick(0.0)
    assert "other" in desk.alerts.settings.rules
    desk.write("[rules.other]\nkind = 'weather'\n")
    desk.alerts._next.clear()
    desk.alerts.tick(0.0)
    assert "other" in desk.alerts.settings.rules
    (warning,) = desk.warnings
    assert warning.startswith("the rules of alerts stay as they were: ")
    desk.close()


def test_a_budget_of_a_project_is_one_alert_for_all_its_runs(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(
        tmp_path,
        receiver,
        '[rules.team]\nkind = "budget"\ngpu_hours = 1\nper = "project"\nwhere = "project=app"\n',
    )
    job = received(Job(tmp_path))
    job.sample(nvml_util={"GPU-a": 50.0, "GPU-b": 50.0})
    desk.tick(folders.STARTED + 60)
    assert desk.told() == []
    desk.alerts._next.clear()
    desk.tick(folders.STARTED + 7200)
    desk.alerts._next.clear()
    desk.tick(folders.STARTED + 7260)
    assert desk.told() == [("firing", "team")]
    (shown,) = desk.shown(folders.STARTED + 7260)["alerts"]
    assert (shown["run_id"], shown["instance"]) == (alert_server.HOME, "app")
    desk.close()


def test_runs_that_are_gone_are_forgotten(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    job.memory(150, times=5)
    desk.tick(job.wall)
    with desk.read() as store:
        desk.alerts.observe(store, [keeping.Changed(folders.RUN_ID, keeping.Change.GONE)])
    desk.alerts.tick(job.wall)
    assert desk.shown(job.wall)["alerts"] == []
    assert alert_follow.lock(job.folder) is not None
    desk.close()


def test_a_server_takes_away_no_lock_that_is_not_its_own(
    tmp_path: Path, receiver: receivers.Receiver
) -> None:
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    held = alert_follow.lock(job.folder)
    assert held is not None
    job.memory(150, times=5)
    desk.tick(job.wall)
    job.end()
    desk.tick(job.wall + 1)
    assert desk.told() == [("firing", "high"), ("resolved", "high")]
    assert alert_follow.lock(job.folder) is None
    alert_follow.release(job.folder, held)
    desk.close()


def test_a_server_that_ends_leaves_no_lock_behind(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = Job(tmp_path)
    job.memory(50)
    desk.tick(job.wall)
    assert (job.folder / alert_follow.LOCK).exists()
    desk.close()
    assert not (job.folder / alert_follow.LOCK).exists()


def test_a_run_that_the_index_does_not_know(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    desk.tick(0.0)
    assert desk.told() == []
    desk.close()


def test_only_what_is_asked_for_is_listed(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver, RULES + '[rules.low]\nkey = "memory"\nvalue = 1\nfor = 0\n')
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    assert len(desk.shown(job.wall)["alerts"]) == 2
    assert [one["rule"] for one in desk.shown(job.wall, rule="low")["alerts"]] == ["low"]
    assert desk.shown(job.wall, run_id="another")["alerts"] == []
    assert desk.shown(job.wall, states=frozenset((alerting.State.PENDING,)))["alerts"] == []
    assert len(desk.shown(job.wall, limit=1)["alerts"]) == 1
    desk.close()


def test_a_fault_with_one_run_is_told_once_and_ends_nothing(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, receiver)
    times = []

    def fail(now: float) -> None:
        times.append(now)
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(desk.alerts, "tick", fail)
    monkeypatch.setattr(alert_server, "TICK_SECONDS", 0.01)
    desk.alerts.start()
    wait_for(lambda: len(times) > 3)
    desk.close()
    assert desk.warnings == ["alerts are not watched for: ZeroDivisionError: a bug"]


def test_the_list_without_a_server_shows_what_it_left(tmp_path: Path, receiver: receivers.Receiver) -> None:
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    desk.close()
    told = alerting.told_of(str(tmp_path), Wanted(), job.wall)
    assert [one["rule"] for one in told["alerts"]] == ["high"]  # type: ignore[attr-defined,index]
    assert len(told["history"]) == 1  # type: ignore[arg-type]


def test_history_and_books_are_bounded(
    tmp_path: Path, receiver: receivers.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_records, "MOST_HISTORY", 5)
    monkeypatch.setattr(alert_records, "MOST_BOOKS", 5)
    monkeypatch.setattr(alert_records, "_SLACK", 2)
    desk = Desk(tmp_path, receiver)
    job = received(Job(tmp_path))
    job.memory(150, times=5)
    desk.tick(job.wall)
    records = desk.alerts.records
    (book,) = records.books()
    for number in range(20):
        records.keep(replace(book, run_id=f"2026-{number:03}", is_done=True))
        records.note(Change(turn=Turn.FIRED, standing=book.standings[0], at=float(number)), job="j")
    assert len(records.books()) <= 7
    assert len(records.history()) <= 7
    assert len(desk.db.documents("alert_history")) == len(records.history())
    assert not records.note(Change(turn=Turn.FIRED, standing=book.standings[0], at=19.0), job="j")
    desk.close()


def test_documents_of_a_newer_version_are_left_out(tmp_path: Path) -> None:
    with ServerDb.open(tmp_path) as db:
        db.put("alert_run", "x", b'{"run_id": 7}')
        db.put("alert_outbox", "", b'{"messages": 7}')
        records = alert_records.AlertRecords(db)
        assert records.books() == []
        assert records.waiting() is None

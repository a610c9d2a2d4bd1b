"""Silences of a home: kept in a file that only grows, obeyed by whoever evaluates."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobmeter.errors import UnknownError, UsageError
from jobmeter.model.alert import Op, Rule, RunBook, Silence, State, Threshold, Turn
from jobmeter.service import alert_desk, alert_rule_text, alert_silences
from jobmeter.service.alert_settings import AlertSettings
from jobmeter.service.alert_silences import Silences
from support import folders
from support.alerted import Job, said

NOW = folders.STARTED
RULE = Rule(
    name="high",
    condition=Threshold(key="memory", op=Op.ABOVE, value=100 * folders.MIB, clear=100 * folders.MIB),
)
SETTINGS = AlertSettings(rules={"high": RULE})


def silenced(home: Path, where: str = "", *, seconds: float = 60.0, rules: tuple[str, ...] = ()) -> Silence:
    made = alert_silences.new(where, seconds=seconds, now=NOW, rules=rules)
    alert_silences.add(str(home), made)
    return made


def test_a_silence_is_read_back_until_it_is_ended(tmp_path: Path) -> None:
    made = alert_silences.new("project=app", seconds=60, now=NOW, rules=["high"], comment="disks", by="ann")
    alert_silences.add(str(tmp_path / "new" / "home"), made)
    (found,) = alert_silences.read(str(tmp_path / "new" / "home"))
    assert found == replace(made, begin=found.begin, until=found.until)
    assert found.until == pytest.approx(NOW + 60, abs=0.001)
    alert_silences.remove(str(tmp_path / "new" / "home"), made.id, now=NOW + 1)
    assert alert_silences.read(str(tmp_path / "new" / "home")) == []


def test_lines_that_are_no_silences_are_left_out(tmp_path: Path) -> None:
    silenced(tmp_path)
    with (tmp_path / alert_silences.FILE).open("ab") as file:
        file.write(b'garbage\n{"type":"silence","id":"x"}\n{"type":"newer"}\n')
    assert len(alert_silences.read(str(tmp_path))) == 1


def test_a_silence_that_does_not_hold_cannot_be_ended(tmp_path: Path) -> None:
    made = silenced(tmp_path)
    with pytest.raises(UnknownError, match="no silence nope holds"):
        alert_silences.remove(str(tmp_path), "nope", now=NOW)
    with pytest.raises(UnknownError):
        alert_silences.remove(str(tmp_path), made.id, now=NOW + 61)


@pytest.mark.parametrize(
    ("where", "seconds", "comment"),
    [("nosuch=3", 60.0, ""), ("", 0.0, ""), ("", -5.0, ""), ("", 1e12, ""), ("", 60.0, "x" * 1001)],
)
def test_a_silence_that_cannot_be(where: str, seconds: float, comment: str) -> None:
    with pytest.raises(UsageError):
        alert_silences.new(where, seconds=seconds, now=NOW, comment=comment)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write to"):
        alert_silences.add(str(tmp_path / "file"), alert_silences.new("", seconds=60, now=NOW))


def test_a_silence_holds_for_its_runs_and_rules(tmp_path: Path) -> None:
    silences = Silences(str(tmp_path))
    known = {"project": "app"}
    assert silences.over(known, "high", NOW) is None
    made = silenced(tmp_path, "project=app", rules=("high",))
    assert silences.over(known, "high", NOW + 1) == made.id
    assert silences.over(known, "low", NOW + 1) is None
    assert silences.over({"project": "other"}, "high", NOW + 1) is None
    assert silences.over(known, "high", NOW + 61) is None


class Desk:
    """A job whose changes are told, or not."""

    def __init__(self, home: Path) -> None:
        self.job = Job(home, rules=[RULE])
        self.silences = Silences(str(home))

    def tell(self, mib: float) -> list[tuple[str, str]]:
        self.job.memory(mib)
        changes = self.job.look()
        run = self.job.store.run(folders.RUN_ID)
        assert run is not None
        book, told = alert_desk.tell(
            run, self.job.book, changes, settings=SETTINGS, silences=self.silences, now=self.job.wall
        )
        self.job.book = book
        return [(notice.turn.value, notice.rule) for notice, _ in told]


def test_what_fires_during_a_silence_is_noted_but_not_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    made = silenced(tmp_path, seconds=1000)
    assert desk.tell(150) == []
    assert desk.job.book.standings[0].silenced_by == made.id
    assert desk.tell(50) == []
    assert desk.job.book.standings[0].state is State.RESOLVED


def test_what_fired_and_resolved_within_one_look_during_a_silence_is_not_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    silenced(tmp_path, seconds=1000)
    desk.job.memory(150)
    assert desk.tell(50) == []


def test_what_still_fires_when_a_silence_is_over_is_told_then(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    silenced(tmp_path, seconds=3.5)
    assert [desk.tell(150), desk.tell(150), desk.tell(150)] == [[], [], []]
    assert desk.tell(150) == [("firing", "high")]
    assert desk.tell(150) == []
    assert desk.tell(50) == [("resolved", "high")]


def test_who_was_told_that_it_fires_is_told_that_it_resolved(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.tell(150) == [("firing", "high")]
    silenced(tmp_path, seconds=1000)
    assert desk.tell(50) == [("resolved", "high")]


def test_a_rule_that_is_no_more_is_told_to_nobody(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[replace(RULE, name="old")])
    job.memory(150)
    changes = job.look()
    run = job.store.run(folders.RUN_ID)
    assert run is not None
    _, told = alert_desk.tell(
        run, job.book, changes, settings=SETTINGS, silences=Silences(str(tmp_path)), now=NOW
    )
    assert [names for _, names in told] == [()]


def test_changes_are_events_of_the_run_each_once(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[RULE])
    job.memory(150)
    changes = job.look()
    assert said(changes) == [("firing", "high")]
    first, second = alert_desk.EventWriter(str(tmp_path)), alert_desk.EventWriter(str(tmp_path))
    assert first.write(job.folder, changes) == 1
    assert first.write(job.folder, changes) == 0
    assert second.write(job.folder, changes) == 0  # another process, after a crash
    first.forget(job.folder)
    job.look()
    (event,) = job.store.events(folders.RUN_ID)
    assert event.type == "alert"
    assert {key: event.details[key] for key in ("rule", "state", "severity", "title", "value")} == {
        "rule": "high",
        "state": "firing",
        "severity": "warning",
        "title": "firing: high",
        "value": 150.0 * folders.MIB,
    }


def test_our_own_events_are_not_taken_for_the_jobs(tmp_path: Path) -> None:
    told = alert_rule_text.defaults()["told"]
    job = Job(tmp_path, rules=[RULE, told])
    job.memory(150)
    changes = job.look()
    alert_desk.EventWriter(str(tmp_path)).write(job.folder, changes)
    assert job.look() == []
    assert [one.rule for one in job.book.standings] == ["high"]


def test_evaluators_of_two_homes_write_files_of_their_own(tmp_path: Path) -> None:
    names = {alert_desk.events_file(str(tmp_path / name)) for name in ("a", "b")}
    assert len(names) == 2
    assert alert_desk.events_file(str(tmp_path / "a")) == alert_desk.events_file(f"{tmp_path}/./a")


def test_a_notice_names_the_run_as_people_know_it(tmp_path: Path) -> None:
    job = Job(tmp_path, rules=[RULE])
    job.memory(150)
    (change,) = job.look()
    run = job.store.run(folders.RUN_ID)
    assert run is not None
    notice = alert_desk.notice_of(run, change)
    assert (notice.job, notice.project, notice.user, notice.turn) == ("nightly", "app", "u", Turn.FIRED)
    assert alert_desk.notice_of(replace(run, name=None), change).job == "make -j4"
    assert RunBook(run_id="x").standings == ()


def test_a_silence_that_cannot_be_read_keeps_nothing_quiet_and_disturbs_nothing(tmp_path: Path) -> None:
    good = alert_silences.new("project=app", seconds=60, now=100.0)
    for one in (replace(good, id="odd", where="nosuch=1"), good):
        alert_silences.add(str(tmp_path), one)
    known = alert_silences.Silences(str(tmp_path))
    assert known.over({"project": "other"}, "high", 110.0) is None
    assert known.over({"project": "app"}, "high", 110.0) == good.id

"""A checkpoint that the loop announced, the log says and the disk shows is one checkpoint."""

from tests.support.views import event

from jobmeter.model.view import Event
from jobmeter.service import event_twins

DISK = {"path": "/srv/out/checkpoint-6", "bytes": 93898, "step": 6, "clock": "modification time"}


def told(seconds: float, **details: object) -> Event:
    return event(seconds, "checkpoint", **details)


def test_what_the_loop_said_and_what_the_disk_shows_are_one() -> None:
    found = event_twins.without((told(10.1, **DISK), told(10.3, step=6, path="out/checkpoint-6")))
    assert [(one.timestamp, one.details) for one in found] == [(told(10.1).timestamp, DISK)]


def test_the_first_telling_gains_what_only_the_second_knew() -> None:
    found = event_twins.without((told(10, step=6), told(11, step=6, path="checkpoint-6")))
    assert [one.details for one in found] == [{"step": 6, "path": "checkpoint-6"}]


def test_other_steps_and_other_paths_are_other_checkpoints() -> None:
    events = (
        told(10, step=6, path="last.pt"),
        told(11, step=7, path="last.pt"),
        told(12, step=7, path="best.pt"),
    )
    assert event_twins.without(events) == events


def test_checkpoints_that_say_nothing_of_themselves_stay_two() -> None:
    events = (told(10), told(11), told(12, step=3))
    assert event_twins.without(events) == events


def test_the_same_path_an_hour_later_is_another_checkpoint() -> None:
    events = (told(0, path="last.pt"), told(3600, path="last.pt"))
    assert event_twins.without(events) == events


def test_other_events_are_left_as_they_are() -> None:
    events = (event(1, "alert", step=3), event(1, "alert", step=3))
    assert event_twins.without(events) == events

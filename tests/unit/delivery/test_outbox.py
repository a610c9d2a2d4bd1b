"""What waits to be told: grouped, held back, tried again, given up; whatever the clock does."""

from dataclasses import replace

import msgspec

from jobmeter.delivery import outbox
from jobmeter.delivery.channels import Channel
from jobmeter.delivery.outbox import Fate, Outbox, Waiting
from jobmeter.delivery.webhooks import Outcome, Webhook
from jobmeter.model.alert import Notice, Turn
from jobmeter.model.report import Severity

TEAM = Channel(name="team", webhook=Webhook(url="https://example.org/x"), group_seconds=10.0, per_hour=3)
FINE = Outcome(is_delivered=True, sentence="accepted")
LATER = Outcome(is_delivered=False, sentence="answered 500", may_retry=True)
NEVER = Outcome(is_delivered=False, sentence="answered 404")


def notice(name: str = "n1", turn: Turn = Turn.FIRED, severity: Severity = Severity.WARNING) -> Notice:
    return Notice(
        id=name, turn=turn, rule="r", run_id="1", instance="", severity=severity, sentence="too much", at=0.0
    )


def box(channel: Channel = TEAM) -> Outbox:
    return Outbox({"team": channel})


def test_changes_of_a_few_seconds_are_one_message() -> None:
    waiting = box()
    waiting.add(notice("n1"), ["team"], 100.0)
    waiting.add(notice("n2"), ["team"], 105.0)
    waiting.add(notice("n2"), ["team"], 106.0)
    assert waiting.take_due(109.9) == []
    (message,) = waiting.take_due(110.0)
    assert [one.id for one in message.notices] == ["n1", "n2"]
    waiting.settle(message, FINE, 110.0, chance=0.0)
    assert waiting.messages == ()
    assert waiting.is_empty()


def test_a_message_that_is_under_way_takes_in_nothing_more() -> None:
    waiting = box()
    waiting.add(notice("n1"), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    waiting.add(notice("n2"), ["team"], 10.5)
    waiting.settle(message, FINE, 11.0, chance=0.0)
    assert [[one.id for one in left.notices] for left in waiting.messages] == [["n2"]]


def test_a_message_keeps_its_id_while_it_is_tried() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 0.0)
    (first,) = waiting.take_due(10.0)
    waiting.settle(first, LATER, 11.0, chance=0.0)
    assert waiting.take_due(15.9) == []
    (second,) = waiting.take_due(16.0)
    assert (first.id, first.attempts, second.attempts) == (second.id, 1, 2)


def test_pauses_grow_up_to_ten_minutes_and_differ_by_chance() -> None:
    assert [outbox.pause_seconds(attempt, 0.0) for attempt in (1, 2, 3, 7, 8, 20)] == [
        5,
        10,
        20,
        320,
        600,
        600,
    ]
    assert outbox.pause_seconds(3, 1.0) == 10


def test_a_receiver_that_names_a_time_is_left_alone_until_then() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    waiting.settle(message, replace(LATER, retry_after_seconds=300.0), 10.0, chance=0.0)
    assert waiting.take_due(309.0) == []
    assert len(waiting.take_due(310.0)) == 1


def test_what_is_refused_for_good_is_kept_as_dead() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    waiting.settle(message, NEVER, 11.0, chance=0.0)
    assert waiting.is_empty()
    (dead,) = outbox.dead(waiting.messages)
    assert (dead.fate, dead.error) == (Fate.DEAD, "answered 404")
    assert waiting.take_due(1e6) == []


def test_after_twelve_attempts_a_message_is_given_up() -> None:
    waiting = box(replace(TEAM, per_hour=1000))
    waiting.add(notice(), ["team"], 0.0)
    now, attempts = 10.0, 0
    while not waiting.is_empty():
        for message in waiting.take_due(now):
            waiting.settle(message, LATER, now, chance=0.0)
            attempts += 1
        now += 1.0
    assert attempts == 12


def test_a_channel_that_had_enough_waits_and_then_tells_all_at_once() -> None:
    waiting = box(replace(TEAM, group_seconds=0.0))
    for number in range(3):
        waiting.add(notice(f"n{number}"), ["team"], float(number))
        (message,) = waiting.take_due(float(number))
        waiting.settle(message, FINE, float(number), chance=0.0)
    waiting.add(notice("n3"), ["team"], 10.0)
    assert waiting.take_due(10.0) == []
    waiting.add(notice("n4"), ["team"], 20.0)
    assert waiting.take_due(3599.0) == []
    (message,) = waiting.take_due(3600.0)
    assert [one.id for one in message.notices] == ["n3", "n4"]


def test_a_clock_set_back_holds_nothing_up_for_longer_than_an_hour() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 1_000_000.0)
    assert waiting.take_due(1000.0) == []
    assert waiting.messages[0].due_at == 4600.0
    assert len(waiting.take_due(4600.0)) == 1


def test_times_of_use_from_before_the_clock_was_set_back_do_not_count() -> None:
    kept = Waiting(sent={"team": (9_000.0, 9_001.0, 9_002.0)})
    waiting = Outbox({"team": replace(TEAM, group_seconds=0.0)}, kept)
    waiting.add(notice(), ["team"], 100.0)
    assert len(waiting.take_due(100.0)) == 1


def test_what_waits_is_the_same_after_a_restart() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    stored = msgspec.json.encode(waiting.kept())
    again = Outbox({"team": TEAM}, msgspec.json.decode(stored, type=Waiting))
    (retried,) = again.take_due(15.0)
    assert (retried.id, retried.attempts) == (message.id, 2)


def test_what_waits_for_company_is_sent_at_the_end() -> None:
    waiting = box(replace(TEAM, group_seconds=3600.0))
    waiting.add(notice("n1"), ["team"], 0.0)
    waiting.hasten(1.0)
    (message,) = waiting.take_due(1.0)
    waiting.settle(message, LATER, 1.0, chance=0.0)
    waiting.hasten(2.0)
    assert waiting.take_due(2.0) == []


def test_what_still_waits_at_the_very_end_is_dead() -> None:
    waiting = box()
    waiting.add(notice("n1"), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    waiting.settle(message, NEVER, 10.0, chance=0.0)
    waiting.add(notice("n2"), ["team"], 20.0)
    waiting.give_up("the run is over")
    assert [one.error for one in outbox.dead(waiting.messages)] == ["answered 404", "the run is over"]


def test_only_so_many_dead_messages_are_kept() -> None:
    waiting = box(replace(TEAM, group_seconds=0.0, per_hour=10_000))
    for number in range(205):
        waiting.add(notice(f"n{number}"), ["team"], 0.0)
        (message,) = waiting.take_due(0.0)
        waiting.settle(message, NEVER, 0.0, chance=0.0)
    assert len(waiting.messages) == 200
    assert waiting.messages[0].notices[0].id == "n5"


def test_channels_get_what_they_want() -> None:
    quiet = replace(TEAM, name="quiet", least=Severity.CRITICAL, tells_resolved=False)
    waiting = Outbox({"team": TEAM, "quiet": quiet})
    both = ["team", "quiet", "gone"]
    waiting.add(notice("a", severity=Severity.WARNING), both, 0.0)
    waiting.add(notice("b", severity=Severity.CRITICAL), both, 0.0)
    waiting.add(notice("c", turn=Turn.RESOLVED, severity=Severity.CRITICAL), both, 0.0)
    got = {one.channel: [told.id for told in one.notices] for one in waiting.messages}
    assert got == {"team": ["a", "b", "c"], "quiet": ["b"]}


def test_a_message_of_a_channel_that_is_no_more_is_still_taken() -> None:
    waiting = Outbox({"team": TEAM})
    waiting.add(notice(), ["team"], 0.0)
    left = Outbox({}, waiting.kept())
    assert len(left.take_due(10.0)) == 1


def test_a_message_is_shown_with_why_it_waits() -> None:
    waiting = box()
    waiting.add(notice(), ["team"], 0.0)
    (message,) = waiting.take_due(10.0)
    waiting.settle(message, LATER, 10.0, chance=0.0)
    record = waiting.messages[0].as_record()
    assert record["state"] == "waiting"
    assert record["next_attempt_at"] == "1970-01-01T00:00:15.000Z"
    assert record["error"] == "answered 500"
    assert record["attempts"] == 1

"""Alerts as people ask for them: where they stand, what is watched for, silences, and a test of every channel."""

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import msgspec

from jobmeter.delivery import channels
from jobmeter.delivery.outbox import Message, Waiting
from jobmeter.errors import UsageError
from jobmeter.model import quantities, units
from jobmeter.model.alert import (
    Absence,
    Budget,
    Ended,
    Found,
    Notice,
    Per,
    Rule,
    RunBook,
    Silence,
    Standing,
    State,
    Threshold,
    Told,
    Turn,
)
from jobmeter.model.quantities import Dimension
from jobmeter.model.report import Severity
from jobmeter.service import alert_follow, alert_settings, alert_silences, index
from jobmeter.service.alert_records import AlertRecords
from jobmeter.service.alert_server import ServerAlerts
from jobmeter.stores import server_db

Record = dict[str, object]

MOST_LISTED = 1000
_NEWEST_FOLDERS = 500
_KINDS = {
    Absence: "absence",
    Budget: "budget",
    Ended: "verdict",
    Found: "finding",
    Threshold: "threshold",
    Told: "told",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which alerts are asked for."""

    states: frozenset[State] = frozenset()
    """Empty for all."""
    rule: str | None = None
    run_id: str | None = None
    limit: int = 100

    def takes(self, standing: Standing, now: float) -> bool:
        """Tell whether an alert is asked for."""
        if self.states and standing.state_at(now) not in self.states:
            return False
        return self.rule in (None, standing.rule) and self.run_id in (None, standing.run_id)


def told_by(server: ServerAlerts, wanted: Wanted, now: float) -> Record:
    """Lay out what a server knows of alerts."""
    return _told(server.records.books(), server.records.history(), server.messages(), wanted, now)


def told_of(home: str, wanted: Wanted, now: float) -> Record:
    """Lay out what a home knows of alerts: its server's memory, and that of its newest runs."""
    books: dict[str, RunBook] = {}
    history: list[Record] = []
    messages: list[Message] = []
    if Path(home, server_db.FILE).exists():
        with server_db.ServerDb.open(Path(home)) as db:
            records = AlertRecords(db)
            books |= {book.run_id: book for book in records.books()}
            history = records.history()
            messages += (records.waiting() or Waiting()).messages
    for remembered in _of_folders(home):
        books[remembered.book.run_id] = remembered.book
        messages += remembered.waiting.messages
    return _told(books.values(), history, messages, wanted, now)


def _of_folders(home: str) -> Iterator[alert_follow.Remembered]:
    folders = index.list_folders(Path(home))
    for name in sorted(folders, reverse=True)[:_NEWEST_FOLDERS]:
        remembered = alert_follow.read(folders[name] / name)
        if remembered is not None:
            yield remembered


def troubles(home: str) -> list[str]:
    """Say why alerts of the newest runs were not watched for."""
    return sorted({one.trouble for one in _of_folders(home) if one.trouble is not None})


def _told(
    books: Iterable[RunBook],
    history: Sequence[Record],
    messages: Iterable[Message],
    wanted: Wanted,
    now: float,
) -> Record:
    found = [one for book in books for one in book.standings if wanted.takes(one, now)]
    found.sort(
        key=lambda one: (_URGENCY[one.state_at(now)], one.severity.order, -(one.fired_at or one.since))
    )
    past = [
        one
        for one in history
        if wanted.rule in (None, one.get("rule")) and wanted.run_id in (None, one.get("run_id"))
    ]
    return {
        "alerts": [one.as_record(now) for one in found[: wanted.limit]],
        "history": past[: wanted.limit],
        "undelivered": [one.as_record() for one in list(messages)[: wanted.limit]],
    }


_URGENCY = {State.FIRING: 0, State.PENDING: 1, State.RESOLVED: 2}


def load(home: str, cwd: str | None = None) -> alert_settings.AlertSettings:
    """Read the rules and channels that hold for a home."""
    return alert_settings.load(home, os.environ, cwd or home, now=time.time())


def rules_told(settings: alert_settings.AlertSettings) -> Record:
    """Lay out what is watched for and whom is told, nothing secret in it."""
    return {
        "rules": [_rule(rule) for rule in settings.rules.values()],
        "channels": [channel.as_record() for channel in settings.channels.values()],
        "files": list(settings.files),
    }


def _rule(rule: Rule) -> Record:
    return {
        "name": rule.name,
        "kind": _KINDS[type(rule.condition)],
        "sentence": sentence_of(rule),
        "where": rule.where,
        "severity": rule.severity.value,
        "for_seconds": rule.for_seconds,
        "clear_for_seconds": rule.clear_for_seconds,
        "repeat_seconds": rule.repeat_seconds,
        "channels": list(rule.channels),
    }


def sentence_of(rule: Rule) -> str:
    """Say what a rule watches for."""
    held = f" for {units.format_seconds(rule.for_seconds)}" if rule.for_seconds else ""
    match rule.condition:
        case Threshold() as one:
            percent = " % of its limit" if one.of_limit else ""
            return f"{one.key} {one.op.value} {units.format_metric(one.value)}{percent}{held}"
        case Absence():
            return f"no sample{held}"
        case Found() as one:
            which = ", ".join(sorted(one.detectors)) or "anything"
            return f"analysis finds {which}, {one.least.value} or worse{held}"
        case Ended() as one:
            return f"a run ends with {', '.join(sorted(cause.value for cause in one.causes))}"
        case Budget() as one:
            whose = {Per.RUN: "a run", Per.PROJECT: "a project", Per.USER: "a user", Per.ALL: "all runs"}
            span = f" within {units.format_seconds(one.window_seconds)}" if one.window_seconds else ""
            return f"{whose[one.per]}: {one.spent.value} > {units.format_metric(one.limit)}{span}"
        case Told() as one:
            return f"the job raises an alert of level {one.least.value} or above"
        case _:
            assert_never(rule.condition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of a test through one channel."""

    channel: str
    target: str
    is_delivered: bool
    sentence: str

    def as_record(self) -> Record:
        """Render for JSON."""
        return {
            "channel": self.channel,
            "target": self.target,
            "delivered": self.is_delivered,
            "sentence": self.sentence,
        }


def try_channels(settings: alert_settings.AlertSettings, names: Sequence[str], now: float) -> list[Tried]:
    """Send a test through channels, all of them where none is named, and say what happened to each."""
    for name in names:
        if name not in settings.channels:
            known = ", ".join(settings.channels) or "there is none"
            raise UsageError(f"no channel is called {name}", hint=f"channels: {known}")
    tried = []
    for name in names or settings.channels:
        channel = settings.channels[name]
        outcome = channels.deliver(
            channel, (_test_notice(now),), message_id=f"test-{secrets.token_hex(8)}", now=now
        )
        tried.append(
            Tried(
                channel=name,
                target=channel.target,
                is_delivered=outcome.is_delivered,
                sentence=outcome.sentence,
            )
        )
    return tried


def _test_notice(now: float) -> Notice:
    return Notice(
        id=f"test-{secrets.token_hex(8)}",
        turn=Turn.FIRED,
        rule="test",
        run_id="test",
        instance="",
        severity=Severity.INFO,
        sentence="this is a test: alerts of jobmeter reach you here",
        at=now,
        job="jobmeter alerts test",
        host=os.uname().nodename,
    )


class NewSilence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A silence that is asked for."""

    where: str = ""
    """A filter as `jobmeter ls --filter` takes it; empty for all runs."""
    seconds: float
    """How long it lasts from now on."""
    rules: list[str] = []
    """Only these; empty for all."""
    comment: str = ""


def silence(home: str, wanted: NewSilence, *, by: str, now: float) -> Silence:
    """Keep alerts quiet for a while."""
    made = alert_silences.new(
        wanted.where, seconds=wanted.seconds, now=now, rules=wanted.rules, comment=wanted.comment, by=by
    )
    alert_silences.add(home, made)
    return made


def unsilence(home: str, silence_id: str, *, now: float) -> Silence:
    """End a silence early."""
    return alert_silences.remove(home, silence_id, now=now)


def silences_told(home: str, now: float) -> Record:
    """Lay out the silences that hold or will, the one that ends last first."""
    known = [one for one in alert_silences.read(home) if one.until > now]
    return {"silences": [one.as_record(now) for one in sorted(known, key=lambda one: -one.until)]}


def span(text: str) -> float:
    """Read how long a silence lasts."""
    found = quantities.parse_quantity(text)
    if found is None or found.dimension is not Dimension.SECONDS or found.value <= 0:
        raise UsageError(f"{text[:40]} is no span of time", hint="as in 30m, 2h, 3d")
    return found.value

"""One look at one run with all rules: what it remembers comes in, what changed comes out.

Nothing is told or written here. The same look twice, from the same memory, gives the same changes with the same ids.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from jobmeter.delivery import alert_rules
from jobmeter.model.alert import (
    Absence,
    Budget,
    Change,
    Ended,
    Found,
    Holds,
    Per,
    Rule,
    RunBook,
    Sign,
    Standing,
    State,
    Threshold,
    Told,
)
from jobmeter.model.query import Filter
from jobmeter.model.report import Report
from jobmeter.model.run import LIVE, Run, Status
from jobmeter.model.view import Event
from jobmeter.service import alert_budgets, alert_signs, fields, filters, step_summary
from jobmeter.stores import StepStatistics, Store

Analyst = Callable[[], Report | None]
"""Gives what analysis says of the run; None while it is too soon to ask again."""
Groups = Callable[[Rule, Budget], Iterable[Sign]]
"""Gives where the sums of many runs stand."""

OVER = "the run is over"
NO_RUN = Run(run_id="", job_id="", status=Status.RUNNING, command=())
"""Stands for all runs together."""
_LONGEST_LOOK_SECONDS = 60.0
"""What may count of the time between two looks: one who was held up saw nothing meanwhile."""
_MOST_STANDINGS = 200
"""Of one run: a job that raises a thousand alerts of its own is told of that many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What there is to look at."""

    store: Store
    run: Run
    folder: Path
    now: float
    analyst: Analyst
    since_seconds: float = 0.0
    """Since the last look, by the monotonic clock of who looks; none where that was before a restart."""
    groups: Groups | None = None
    """None where somebody else holds the sums of many runs against budgets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """What came since the last look."""

    samples: alert_signs.Samples
    steps: list[StepStatistics]
    events: list[Event]
    words: dict[str, int]
    report: Report | None
    done: bool
    """The run is over and all of it was read."""


@dataclass(slots=True)
class Looking:
    """Where alerts stand while one look is under way."""

    run_id: str
    standings: dict[tuple[str, str, str], Standing]
    changes: list[Change] = field(default_factory=list)

    def take(self, rule: Rule, signs: Iterable[Sign]) -> None:
        """Let alerts turn by what was seen."""
        for sign in signs:
            name = (rule.name, self.run_id, sign.instance)
            known = self.standings.get(name)
            if known is None and (sign.holds is not Holds.YES or len(self.standings) >= _MOST_STANDINGS):
                continue
            self.put(name, alert_rules.advance(rule, known, self.run_id, sign))

    def put(self, name: tuple[str, str, str], turned: alert_rules.Turned) -> None:
        """Note where an alert stands now, and its turn."""
        standing, change = turned
        if standing is None:
            self.standings.pop(name, None)
        else:
            self.standings[name] = standing
        if change is not None:
            self.changes.append(change)


class Watcher:
    """Holds runs against rules."""

    def __init__(self, rules: Mapping[str, Rule], *, now: float) -> None:
        self.rules = dict(rules)
        self._filters = {
            rule.name: filters.parse(rule.where, now=now) for rule in rules.values() if rule.where
        }

    def filter_of(self, rule: Rule) -> Filter | None:
        """Give which runs a rule is about; None for all."""
        return self._filters.get(rule.name)

    def look(self, scene: Scene, book: RunBook) -> tuple[RunBook, list[Change]]:
        """Look at a run once."""
        run = scene.run
        known = fields.of_run(run)
        rules = [
            rule
            for rule in self.rules.values()
            if (where := self._filters.get(rule.name)) is None or where.matches(known)
        ]
        looking = Looking(run.run_id, {one.name: one for one in book.standings})
        news = self._news(scene, book, rules)
        step_seconds = min(scene.since_seconds, _LONGEST_LOOK_SECONDS)
        watched = book.watched_seconds + step_seconds
        quiet = 0.0 if news.samples.end > book.offset else book.quiet_seconds + step_seconds
        for rule in rules:
            standing = [one.instance for one in looking.standings.values() if one.rule == rule.name]
            signs = self._signs(rule, scene, book, news, standing)
            if isinstance(rule.condition, Absence | Budget | Found) or alert_signs.is_metric(rule):
                # what no sample carries a clock for: neither a clock that is set nor a pause of ours adds to it
                signs = (replace(sign, clock=watched) for sign in signs)
            looking.take(rule, signs)
        _close(looking, scene, {rule.name for rule in rules}, done=news.done)
        end = news.samples.end
        return RunBook(
            run_id=run.run_id,
            standings=tuple(looking.standings.values()),
            offset=end,
            watched_seconds=watched,
            quiet_seconds=quiet,
            steps={alert_signs.writer_of(one): one.count for one in step_summary.best_first(news.steps)},
            words=news.words,
            is_done=news.done,
        ), looking.changes

    def _news(self, scene: Scene, book: RunBook, rules: Sequence[Rule]) -> _News:
        run_id, over = scene.run.run_id, scene.run.status not in LIVE
        found = alert_signs.samples(scene.folder, book.offset, closed=over)
        done = over and found.is_all
        asks_steps = scene.run.steps is not None and any(map(alert_signs.is_metric, rules))
        asks_words = any(isinstance(rule.condition, Told) for rule in rules)
        events, words = (
            alert_signs.words(scene.folder, book.words, closed=done) if asks_words else ([], book.words)
        )
        return _News(
            samples=found,
            steps=scene.store.step_statistics(run_id) if asks_steps else [],
            events=events,
            words=words,
            report=self._report(scene, rules, over=done),
            done=done,
        )

    def _report(self, scene: Scene, rules: Iterable[Rule], *, over: bool) -> Report | None:
        asked = [rule.condition for rule in rules if isinstance(rule.condition, Found | Ended)]
        if not asked or (not over and all(isinstance(one, Ended) for one in asked)):
            return None
        return scene.analyst()

    def _signs(
        self, rule: Rule, scene: Scene, book: RunBook, news: _News, known: Sequence[str]
    ) -> Iterator[Sign]:
        run, now = scene.run, scene.now
        match rule.condition:
            case Threshold() as condition if alert_signs.is_metric(rule):
                yield from alert_signs.of_steps(condition, news.steps, book.steps, now)
            case Threshold() as condition:
                yield from alert_signs.of_samples(condition, run, news.samples.windows)
            case Absence():
                yield from _absence(scene, book, grew=news.samples.end > book.offset)
            case Told() as condition:
                yield from alert_signs.of_words(condition, run, news.events)
            case Found() as condition:
                if news.report is not None:
                    yield from alert_signs.of_findings(
                        condition, news.report, over=news.done, known=known, now=now
                    )
            case Ended() as condition:
                if news.report is not None and news.done:
                    yield from alert_signs.of_end(condition, run, news.report, now)
            case Budget() as condition:
                yield from self._budget(rule, condition, scene)
            case _:
                assert_never(rule.condition)

    def _budget(self, rule: Rule, condition: Budget, scene: Scene) -> Iterator[Sign]:
        if condition.per is Per.RUN:
            yield from alert_budgets.sign_of_run(condition, scene.store, scene.run, scene.now)
        elif scene.groups is not None:
            yield from scene.groups(rule, condition)


def _close(looking: Looking, scene: Scene, applying: set[str], *, done: bool) -> None:
    """End what a run that is over, or a rule that is no more, leaves behind."""
    at = scene.run.ended_at or scene.now
    for name, standing in list(looking.standings.items()):
        if done:
            looking.put(name, alert_rules.end(standing, at, OVER))
        elif standing.rule not in applying and standing.state is not State.RESOLVED:
            looking.put(name, alert_rules.end(standing, scene.now, "the rule no longer applies"))


def _absence(scene: Scene, book: RunBook, *, grew: bool) -> Iterator[Sign]:
    """Say whether a run that should be measured is; the time is that of who looks."""
    run, now = scene.run, scene.now
    if run.status is Status.LOST:
        lost = "its recorder vanished without a word"
        yield Sign(instance="", holds=Holds.YES, sentence=lost, at=now, clock=now, happened=True)
        return
    if run.status is not Status.RUNNING:
        return
    quiet_seconds = 0.0 if grew else book.quiet_seconds + min(scene.since_seconds, _LONGEST_LOOK_SECONDS)
    yield Sign(
        instance="",
        holds=Holds.NO if grew else Holds.YES,
        sentence=f"no sample for {quiet_seconds:.0f} s",
        at=now,
        clock=now,
        value=quiet_seconds,
    )

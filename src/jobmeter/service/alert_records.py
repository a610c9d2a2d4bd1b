"""What a server remembers of alerts in `server.db`: where each run's alerts stand, what happened, what waits."""

import msgspec

from jobmeter.delivery.outbox import Waiting
from jobmeter.model.alert import Change, RunBook, State, Turn
from jobmeter.model.moments import iso_time
from jobmeter.stores.server_db import ServerDb

_RUN, _HISTORY, _OUTBOX, _LOOKED = "alert_run", "alert_history", "alert_outbox", "alert_looked"
MOST_HISTORY, MOST_BOOKS = 1000, 2000
_SLACK = 100
"""So many more are kept before the oldest are let go, not one at a time."""


class AlertRecords:
    """The books of all runs that have alerts, in memory and in the database."""

    def __init__(self, db: ServerDb) -> None:
        self._db = db
        self._books = {
            name: book for name, body in db.documents(_RUN).items() if (book := _book(body)) is not None
        }
        self._history = {name: _mapping(body) for name, body in db.documents(_HISTORY).items()}

    def books(self) -> list[RunBook]:
        """List what is known of runs with alerts, in the order of their ids."""
        known = dict(self._books)  # others ask while the watch goes on
        return [known[name] for name in sorted(known)]

    def book(self, run_id: str) -> RunBook | None:
        """Give what is remembered of a run."""
        return self._books.get(run_id)

    def keep(self, book: RunBook) -> None:
        """Remember a run; one that has no alerts is not worth it."""
        if not book.standings:
            self.forget(book.run_id)
            return
        if self._books.get(book.run_id) == book:
            return
        self._books[book.run_id] = book
        self._db.put(_RUN, book.run_id, msgspec.json.encode(book))
        if len(self._books) > MOST_BOOKS + _SLACK:
            over = [name for name in sorted(self._books) if self._books[name].is_done]
            for name in over[: len(self._books) - MOST_BOOKS]:
                self.forget(name)

    def forget(self, run_id: str) -> None:
        """Let go of a run."""
        if self._books.pop(run_id, None) is not None:
            self._db.drop(_RUN, run_id)

    def note(self, change: Change, *, job: str) -> bool:
        """Write a change into the history; False where it stands there."""
        standing = change.standing
        record = {
            "timestamp": iso_time(change.at),
            "state": (State.RESOLVED if change.turn is Turn.RESOLVED else State.FIRING).value,
            "repeated": change.turn is Turn.REPEATED,
            "rule": standing.rule,
            "run_id": standing.run_id,
            "instance": standing.instance or None,
            "severity": standing.severity.value,
            "sentence": standing.sentence,
            "value": standing.value,
            "job": job,
            "silenced_by": standing.silenced_by,
        }
        shown = {name: value for name, value in record.items() if value is not None and value is not False}
        name = f"{change.at:017.3f}-{change.id}"
        if name in self._history:
            return False
        self._history[name] = shown
        self._db.put(_HISTORY, name, msgspec.json.encode(shown))
        if len(self._history) > MOST_HISTORY + _SLACK:
            for old in sorted(self._history)[: len(self._history) - MOST_HISTORY]:
                del self._history[old]
                self._db.drop(_HISTORY, old)
        return True

    def history(self) -> list[dict[str, object]]:
        """List what happened, the newest first."""
        known = dict(self._history)
        return [known[name] for name in sorted(known, reverse=True)]

    def waiting(self) -> Waiting | None:
        """Read what waits to be told."""
        body = self._db.document(_OUTBOX, "")
        if body is None:
            return None
        try:
            return msgspec.json.decode(body, type=Waiting)
        except ValueError:
            return None  # written by a version that says more than this one can read

    def keep_waiting(self, waiting: Waiting) -> None:
        """Remember what waits to be told."""
        self._db.put(_OUTBOX, "", msgspec.json.encode(waiting))

    def looked_at(self) -> float | None:
        """Say when runs were last looked at; None for never."""
        body = self._db.document(_LOOKED, "")
        return None if body is None else msgspec.json.decode(body, type=float)

    def keep_looked_at(self, now: float) -> None:
        """Remember when runs were last looked at."""
        self._db.put(_LOOKED, "", msgspec.json.encode(now))


def _book(body: bytes) -> RunBook | None:
    try:
        return msgspec.json.decode(body, type=RunBook)
    except ValueError:
        return None  # written by a version that says more than this one can read


def _mapping(body: bytes) -> dict[str, object]:
    return msgspec.json.decode(body, type=dict[str, object])

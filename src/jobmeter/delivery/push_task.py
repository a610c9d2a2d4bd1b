"""Push a run while it lasts: at once, every few seconds, and when it has ended."""

import time
from pathlib import Path

from jobmeter.config import receivers, tables
from jobmeter.delivery import push, sidecar, wire
from jobmeter.delivery.follower import Followed
from jobmeter.errors import JobmeterError

INTERVAL_SECONDS = 10.0
_LEAST_INTERVAL_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 300.0
_REFUSED_SECONDS = 300.0
"""A server that will not take a run is asked again this seldom: a token may be given later."""
_FIRST_WAIT_SECONDS = 1.0
_LONGEST_LAST_WAIT_SECONDS = 10.0
_MOST_LAST_TRIES = 3
"""After the end of a run whose server was never there: many short jobs would otherwise leave as many waiting."""


class PushTask:
    """Pushes one run to one server."""

    def __init__(self, folder: Path, server: wire.Target, interval_seconds: float) -> None:
        self._folder = folder
        self._server = server
        self._interval_seconds = interval_seconds
        self._backoff = wire.Backoff(_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS)
        self._last_backoff = wire.Backoff(_FIRST_WAIT_SECONDS, _LONGEST_LAST_WAIT_SECONDS)
        self._was_there = False
        self._last_tries = 0

    def turn(self, *, ended: bool) -> float | None:
        """Push what is new; when the run has ended, until all is there."""
        begun = time.monotonic()
        try:
            push.push(self._folder, self._server, closed=ended, live=True)
        except push.LaterError as error:
            return self._failed(error, ended=ended)
        except push.NotTakenError:
            return None if ended else _REFUSED_SECONDS
        except FileNotFoundError:
            return None  # the folder was moved or thrown away
        except OSError:
            return self._last_backoff.failed() if ended else self._interval_seconds
        self._was_there = True
        self._backoff.succeeded()
        return None if ended else max(0.0, self._interval_seconds - (time.monotonic() - begun))

    def _failed(self, error: push.LaterError, *, ended: bool) -> float | None:
        self._was_there = self._was_there or error.is_answer
        self._last_tries += ended
        if self._last_tries >= _MOST_LAST_TRIES and not self._was_there:
            return None
        return (self._last_backoff if ended else self._backoff).failed(error.retry_after_seconds)


def begin(followed: Followed) -> PushTask | None:
    """Find out where to; None where nobody asked, or what was asked for cannot be."""
    environ = followed.environ
    url = environ.get("JOBMETER_SERVER")
    if not url:
        return None
    try:
        table = tables.read("push", environ)
        plain = table.get("allow_plain_http") is True or receivers.plain_allowed(environ)
        server = wire.target(url, wire.find_token(environ), plain_allowed=plain)
    except JobmeterError as error:
        sidecar.save(followed.folder, url, sidecar.State(problem=str(error)))
        return None
    return PushTask(followed.folder, server, _interval(table.get("interval"), environ))


def _interval(configured: object, environ: "dict[str, str] | object") -> float:
    given = environ.get("JOBMETER_PUSH_INTERVAL") if isinstance(environ, dict) else None
    try:
        seconds = float(given) if given else configured
    except ValueError:
        seconds = None
    known = seconds if isinstance(seconds, int | float) and seconds > 0 else INTERVAL_SECONDS
    return max(_LEAST_INTERVAL_SECONDS, float(known))

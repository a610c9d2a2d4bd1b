"""Notifications through Apprise: Slack, mail, Teams and a hundred more, one URL each.

What can mislead: Apprise connects to whatever host its URL names, with the proxies of the environment, since a chat
service is often reached through one. Only redirects are refused. Its URLs therefore come from the user's own config
or the system's, never from a project's file. A URL is a secret as a whole: it is shown as its scheme alone.
"""

import io
import logging
from urllib.parse import unquote, urlsplit

from jobmeter.delivery.webhooks import Outcome
from jobmeter.errors import UsageError
from jobmeter.model.report import Severity

REQUIRED = "pip install 'jobmeter[server]'"
_KINDS = {Severity.CRITICAL: "failure", Severity.WARNING: "warning", Severity.INFO: "info"}
_SHORTEST_SECRET = 4
_LONGEST_REASON = 200


def check_url(url: str) -> None:
    """Refuse a URL that Apprise does not understand."""
    import_apprise()
    import apprise

    with _quiet():
        found = apprise.Apprise.instantiate(without_redirects(url), suppress_exceptions=True)
    if found is None:
        raise UsageError(
            f"Apprise cannot read the URL of scheme {scheme(url)}",
            hint="see https://github.com/caronc/apprise/wiki for the services it knows",
        )


def import_apprise() -> None:
    """Say what to install where Apprise is not."""
    try:
        import apprise
    except ModuleNotFoundError:
        raise UsageError("notifications need the package apprise", hint=REQUIRED) from None
    del apprise


def send(url: str, title: str, body: str, severity: Severity | None) -> Outcome:
    """Try once to deliver a message; None for the severity of something that is well again."""
    import apprise

    kind = "success" if severity is None else _KINDS[severity]
    service = apprise.Apprise()
    with _quiet():
        if not service.add(without_redirects(url)):
            return Outcome(is_delivered=False, sentence="Apprise cannot read the URL")
        with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as said:  # type: ignore[no-untyped-call]  # Apprise's own
            delivered = bool(service.notify(title=title, body=body, notify_type=kind))
            reason = _reason(said, url)
    if delivered:
        return Outcome(is_delivered=True, sentence=f"accepted by {scheme(url)}")
    return Outcome(is_delivered=False, sentence=reason or f"not accepted by {scheme(url)}", may_retry=True)


def scheme(url: str) -> str:
    """Show of a URL what is no secret."""
    name = url.partition("://")[0]
    return f"{name}://" if name.isalnum() and len(name) < 20 else "an unknown scheme"


def without_redirects(url: str) -> str:
    """Keep a generic webhook from being sent elsewhere by whoever answers."""
    if "redirect=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}redirect=no"


def _reason(said: io.StringIO, url: str) -> str:
    """Take the last thing Apprise complained of, without anything that stands in the URL."""
    lines = [line.strip() for line in said.getvalue().splitlines() if line.strip()]
    if not lines:
        return ""
    reason = lines[-1]
    for secret in sorted(_secrets(url), key=len, reverse=True):
        reason = reason.replace(secret, "[redacted]")
    return reason[:_LONGEST_REASON]


def _secrets(url: str) -> set[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return {url}
    words = {url, parts.netloc, parts.query, parts.path}
    for text in (parts.netloc, parts.path, parts.query):
        words |= set(text.replace("@", "/").replace(":", "/").replace("&", "/").replace("=", "/").split("/"))
    return {one for word in words for one in (word, unquote(word)) if len(one) >= _SHORTEST_SECRET}


class _quiet:  # noqa: N801  # reads as what it does: with _quiet()
    """Keep what Apprise logs, URLs among it, out of this process's own log."""

    def __enter__(self) -> None:
        self._logger = logging.getLogger("apprise")
        self._propagated = self._logger.propagate
        self._logger.propagate = False

    def __exit__(self, *_: object) -> None:
        self._logger.propagate = self._propagated

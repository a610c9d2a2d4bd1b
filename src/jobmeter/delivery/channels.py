"""The channels alerts leave by: a signed webhook, or a service of Apprise; what is sent through each, and how.

What one message holds are all changes since the last one, so that a storm of alerts is a few messages.
"""

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from jobmeter.delivery import notify, webhooks
from jobmeter.delivery.webhooks import Outcome, Webhook
from jobmeter.model.alert import Notice, Turn
from jobmeter.model.moments import iso_time
from jobmeter.model.report import Severity

MOST_NOTICES = 100
"""What is listed in one message; of more the number is given."""
_MOST_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One way to reach people, and how much of it they want."""

    name: str
    webhook: Webhook | None = None
    apprise_url: str | None = None
    """One of the two is given."""
    least: Severity = Severity.INFO
    tells_resolved: bool = True
    per_hour: int = 60
    """Messages, not alerts: what comes beyond waits and goes out together."""
    group_seconds: float = 5.0
    """How long the first change waits for others."""

    def wants(self, notice: Notice) -> bool:
        """Say whether a change goes out by this channel."""
        if notice.turn is Turn.RESOLVED and not self.tells_resolved:
            return False
        return notice.severity.order <= self.least.order

    def as_record(self) -> dict[str, object]:
        """Render for JSON, nothing secret in it."""
        return {
            "name": self.name,
            "kind": "apprise" if self.webhook is None else "webhook",
            "target": self.target,
            "signed": self.webhook is not None and self.webhook.secret is not None,
            "least": self.least.value,
            "resolved": self.tells_resolved,
            "per_hour": self.per_hour,
            "group_seconds": self.group_seconds,
        }

    @property
    def target(self) -> str:
        """Show where it leads without what makes it secret: a webhook's path often is the key."""
        if self.webhook is None:
            return notify.scheme(self.apprise_url or "")
        parts = urlsplit(self.webhook.url)
        return f"{parts.scheme}://{parts.hostname}"


def deliver(channel: Channel, notices: tuple[Notice, ...], *, message_id: str, now: float) -> Outcome:
    """Try once to send changes through a channel."""
    if channel.webhook is not None:
        body = payload(notices, message_id=message_id, channel=channel.name, now=now)
        return webhooks.post(channel.webhook, body, message_id=message_id, now=now)
    firing = [notice for notice in notices if notice.turn is not Turn.RESOLVED]
    worst = min((notice.severity for notice in firing), key=lambda severity: severity.order, default=None)
    return notify.send(channel.apprise_url or "", title_of(notices), text_of(notices), worst)


def payload(notices: tuple[Notice, ...], *, message_id: str, channel: str, now: float) -> bytes:
    """Write what a webhook receives."""
    shape = {
        "version": 1,
        "id": message_id,
        "channel": channel,
        "sent_at": iso_time(now),
        "title": title_of(notices),
        "alerts": [notice.as_record() for notice in notices[:MOST_NOTICES]],
        "more": max(0, len(notices) - MOST_NOTICES),
    }
    return json.dumps(shape, separators=(",", ":"), allow_nan=False).encode()


def title_of(notices: tuple[Notice, ...]) -> str:
    """Say a message in one line."""
    if len(notices) == 1:
        return f"jobmeter: {notices[0].title}"
    firing = sum(notice.turn is not Turn.RESOLVED for notice in notices)
    counts = [(firing, "firing"), (len(notices) - firing, "resolved")]
    return "jobmeter: " + ", ".join(f"{count} {word}" for count, word in counts if count)


def text_of(notices: tuple[Notice, ...]) -> str:
    """Write the message for people, one line an alert."""
    lines = [_line(notice) for notice in notices[:_MOST_LINES]]
    if len(notices) > _MOST_LINES:
        lines.append(f"and {len(notices) - _MOST_LINES} more")
    return "\n".join(lines)


def _line(notice: Notice) -> str:
    about = [notice.run_id, *(part for part in (notice.project, notice.host, notice.user) if part)]
    return f"[{notice.severity.value}] {notice.title}: {notice.sentence} ({', '.join(about)})"

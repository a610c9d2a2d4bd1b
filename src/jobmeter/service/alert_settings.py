"""What to watch for and whom to tell, as the files say: the system's and the user's `config.toml`, the home's
`alerts.toml`.

A file that came with a project may say what to watch for, never where to send it: who checks out a repository must
not post to its author. Only the system's file, the user's and the home's name channels, and the home's only where it
is not a project's folder `.jobmeter`; from any other file that is an error. A file with channels that another user
could have written is refused.
"""

import ipaddress
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmeter.config import options, tables
from jobmeter.delivery import notify, webhooks
from jobmeter.delivery.channels import Channel
from jobmeter.delivery.webhooks import Network, Webhook
from jobmeter.errors import UsageError, reason_of
from jobmeter.model.alert import Rule
from jobmeter.model.report import Severity
from jobmeter.service import alert_rule_text

FILE = "alerts.toml"
SECTION = "alerts"
PROJECT_FOLDER = ".jobmeter"
_KNOWN = ("channels", "defaults", "rules")
_CHANNEL = (
    "allow", "group", "kind", "least", "per_hour", "resolved", "secret", "secret_file", "timeout", "url", "url_file",
)  # fmt: skip
_LARGEST_SECRET = 4096
_LONGEST_GROUP_SECONDS, _LONGEST_TIMEOUT_SECONDS = 3600.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    """All that was said about alerts, checked."""

    rules: dict[str, Rule] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """Where it was said."""

    def channels_of(self, rule: Rule) -> tuple[str, ...]:
        """Name the channels a rule is told through."""
        return rule.channels or tuple(self.channels)


def load(home: str, environ: Mapping[str, str], cwd: str, *, now: float) -> AlertSettings:
    """Read the files that apply to a home, the farthest first; the nearest wins name by name."""
    rules = alert_rule_text.defaults()
    channels: dict[str, Channel] = {}
    files = []
    trusted = {*tables.files(environ), os.path.join(home, FILE)}
    for path, table in _tables(home, environ, cwd):
        files.append(str(path))
        for name in table:
            if name not in _KNOWN:
                raise UsageError(f"{path}: unknown setting {name}", hint=f"use one of {', '.join(_KNOWN)}")
        if table.get("defaults", True) is False:
            rules = {}
        if table.get("channels"):
            _require_own(path, is_trusted=str(path) in trusted)
        channels |= {name: _channel(path, name, one) for name, one in _members(path, table, "channels")}
        for name, one in _members(path, table, "rules"):
            _take_rule(path, rules, name, one, now=now)
    _require_channels(rules, channels)
    return AlertSettings(rules=rules, channels=channels, files=tuple(files))


def stamps(home: str, environ: Mapping[str, str], cwd: str) -> list[tuple[str, int, int]]:
    """Give what changes when one of the files does."""
    found = []
    for path in [
        *options.config_files(environ, cwd, environ.get("JOBMETER_CONFIG")),
        os.path.join(home, FILE),
    ]:
        try:
            status = os.stat(path)
        except OSError:
            continue  # there is none of this kind
        found.append((path, status.st_mtime_ns, status.st_size))
    return found


def _take_rule(path: Path, rules: dict[str, Rule], name: str, table: object, *, now: float) -> None:
    try:
        rule = alert_rule_text.parse(name, table, now=now)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None
    if rule is None:
        rules.pop(name, None)
    else:
        rules[name] = rule


def _require_channels(rules: Mapping[str, Rule], channels: Mapping[str, Channel]) -> None:
    for rule in rules.values():
        for name in rule.channels:
            if name not in channels:
                known = f"use one of {', '.join(channels)}" if channels else f"write [channels.{name}]"
                raise UsageError(f"rule {rule.name}: no channel is called {name}", hint=known)


def _tables(home: str, environ: Mapping[str, str], cwd: str) -> Iterator[tuple[Path, dict[str, object]]]:
    for path in options.config_files(environ, cwd, environ.get("JOBMETER_CONFIG")):
        table = _read(Path(path)).get(SECTION)
        if table is None:
            continue
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {SECTION} is not a table", hint=f"write [{SECTION}]")
        yield Path(path), table
    own = Path(home, FILE)
    if own.exists():
        yield own, _read(own)


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}", hint="check its rights") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", hint="mend that line") from None


def _members(path: Path, table: Mapping[str, object], name: str) -> Iterator[tuple[str, object]]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {name} is not a table", hint=f"write [{name}.NAME] and its settings below")
    yield from found.items()


def _require_own(path: Path, *, is_trusted: bool) -> None:
    """Refuse channels that somebody else may have written."""
    if not is_trusted or PROJECT_FOLDER in (path.parent.name, path.resolve().parent.name):
        raise UsageError(
            f"{path}: only the files of the system, the user and a home of one's own may name channels",
            hint="write them in ~/.config/jobmeter/config.toml as [alerts.channels.NAME]",
        )
    status = path.stat()
    if status.st_uid not in (0, os.getuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(
            f"{path}: others may write it, so its channels are not used", hint=f"own it and: chmod 600 {path}"
        )


def _channel(path: Path, name: str, raw: object) -> Channel:
    where = f"{path}: channel {name}"
    if not isinstance(raw, dict):
        raise UsageError(f"{where}: not a table", hint=f"write [channels.{name}] and its settings below")
    for key in raw:
        if key not in _CHANNEL:
            raise UsageError(f"{where}: unknown setting {key}", hint=f"use one of {', '.join(_CHANNEL)}")
    url = _secret(where, raw, "url", path)
    kind = raw.get("kind", "webhook" if (url or "").startswith(("http://", "https://")) else "apprise")
    if url is None or kind not in ("apprise", "webhook"):
        raise UsageError(
            f"{where}: {'kind is unknown' if url else 'url is missing'}",
            hint='write url = "https://..." for a webhook, or one of Apprise, such as slack://... or mailto://...',
        )
    try:
        hook = _webhook(raw, url, _secret(where, raw, "secret", path)) if kind == "webhook" else None
        if hook is None:
            notify.check_url(url)
    except UsageError as error:
        raise UsageError(f"{where}: {error}", hint=error.hint) from None
    return Channel(
        name=name,
        webhook=hook,
        apprise_url=url if hook is None else None,
        least=_severity(where, raw.get("least", "info")),
        tells_resolved=raw.get("resolved", True) is not False,
        per_hour=_whole(where, raw, "per_hour", 60),
        group_seconds=_seconds(where, raw, "group", 5.0, _LONGEST_GROUP_SECONDS),
    )


def _webhook(raw: Mapping[str, object], url: str, secret: str | None) -> Webhook:
    webhooks.check_url(url)
    allow = raw.get("allow", [])
    if not isinstance(allow, list):
        raise UsageError("allow is no list of address ranges", hint='write allow = ["10.0.0.0/8"]')
    timeout = _seconds("webhook", raw, "timeout", webhooks.TIMEOUT_SECONDS, _LONGEST_TIMEOUT_SECONDS)
    return Webhook(
        url=url, secret=secret, allowed=tuple(_network(one) for one in allow), timeout_seconds=timeout
    )


def _network(raw: object) -> Network:
    try:
        return ipaddress.ip_network(str(raw))
    except ValueError:
        raise UsageError(f"{raw} is no range of addresses", hint='write allow = ["10.0.0.0/8"]') from None


def _secret(where: str, raw: Mapping[str, object], key: str, beside: Path) -> str | None:
    """Read a text that stands in the file or in one beside it."""
    named = raw.get(f"{key}_file")
    if named is None:
        value = raw.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise UsageError(f"{where}: {key} is no text", hint=f'write {key} = "..."')
        return value if isinstance(value, str) else None
    path = beside.parent / os.path.expanduser(str(named))
    try:
        text = path.read_text(encoding="utf-8")[:_LARGEST_SECRET].strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text:
        raise UsageError(
            f"{where}: {key}_file cannot be read or is empty", hint="check its path and its rights"
        )
    return text


def _severity(where: str, raw: object) -> Severity:
    try:
        return Severity(raw)
    except ValueError:
        words = ", ".join(one.value for one in Severity)
        raise UsageError(f"{where}: least is none of {words}", hint='write least = "warning"') from None


def _whole(where: str, raw: Mapping[str, object], key: str, default: int) -> int:
    value = raw.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{where}: {key} is no whole number above 0", hint=f"write {key} = {default}")
    return value


def _seconds(where: str, raw: Mapping[str, object], key: str, default: float, most: float) -> float:
    value = raw.get(key)
    if value is None:
        return default
    try:
        found = options.seconds(str(value))
    except ValueError as error:
        raise UsageError(f"{where}: {key} is no span of time", hint=str(error)) from None
    if found > most:
        raise UsageError(f"{where}: {key} is longer than {most:g} s", hint=f'write {key} = "10s"')
    return found

"""`hosts.toml`: which rank is where, and how to look. See docs/fleet.md for the whole of it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from jobmeter.config import options
from jobmeter.errors import UsageError, reason_of
from jobmeter.fleet import targets
from jobmeter.fleet.settings import BreakerPolicy, MetricsCollectorConfig
from jobmeter.fleet.targets import Target

_DURATIONS = ("collection_interval", "collection_timeout")
_BREAKER = {
    "breaker_failures": "failures",
    "breaker_seconds": "open_seconds",
    "breaker_longest_seconds": "longest_seconds",
    "retries": "retries",
}
_EXAMPLE = 'a [ranks] table such as: "0-7" = "ssh://node1/data/job"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """A file that was read: where the ranks are, and how to look at them."""

    cluster: dict[int, Target]
    config: MetricsCollectorConfig
    policy: BreakerPolicy


def read(path: str) -> Hosts:
    """Read a hosts file; whatever is wrong with it is one sentence."""
    try:
        raw = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason_of(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}", hint=f"write {_EXAMPLE}") from None
    return interpret(raw, path)


def interpret(raw: dict[str, object], path: str) -> Hosts:
    """Make sense of the tables of a hosts file."""
    for name in raw:
        if name not in ("collect", "ranks"):
            raise UsageError(f"{path}: unknown table: {name}", hint="use [collect] and [ranks]")
    collect, ranks = raw.get("collect", {}), raw.get("ranks")
    if not isinstance(ranks, dict) or not ranks or not isinstance(collect, dict):
        raise UsageError(f"{path}: no ranks", hint=f"write {_EXAMPLE}")
    settings = dict(collect)
    ssh_options = targets.words("ssh_options", settings.pop("ssh_options", []))
    breaker = {field: settings.pop(name) for name, field in _BREAKER.items() if name in settings}
    for name in _DURATIONS:
        if isinstance(settings.get(name), str):
            settings[name] = _seconds(name, str(settings[name]))
    try:
        return Hosts(
            cluster=targets.cluster(ranks, **({"ssh_options": ssh_options} if ssh_options else {})),
            config=MetricsCollectorConfig.from_dict(settings),
            policy=BreakerPolicy(**breaker),
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None


def _seconds(name: str, text: str) -> float:
    try:
        return options.seconds(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None

"""Rules of alerts as people write them in TOML, each checked whole before anything is watched."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from jobmeter.analysis.detectors import DETECTORS
from jobmeter.errors import UsageError
from jobmeter.fleet import alerts as seed
from jobmeter.fleet.settings import MetricsCollectorConfig
from jobmeter.model import metrics, quantities
from jobmeter.model.alert import (
    Absence,
    Budget,
    Condition,
    Ended,
    Found,
    Level,
    Op,
    Per,
    Rule,
    Spent,
    Threshold,
    Told,
)
from jobmeter.model.measurement import TOOLS
from jobmeter.model.quantities import Dimension
from jobmeter.model.report import Cause, Severity
from jobmeter.service import filters

Table = Mapping[str, object]
Choice = TypeVar("Choice")

OF_A_LIMIT = ("memory", "gpu_memory")
RESOURCES = ("cpu", "gpu_memory", "gpu_util", "memory")
"""What a job uses, by whatever key it was measured."""
METRIC = "metric."
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST_NAME = 80
_COMMON = frozenset(("kind", "where", "severity", "channels", "enabled"))
_LASTING = frozenset(("for", "clear_for", "repeat"))
"""Of what goes on for a while."""
_HAPPENING = frozenset(("lasts",))
"""Of what happens and is over."""
_WENT_WELL = frozenset((Cause.COMPLETED, Cause.INTERRUPTED))
_SEED_KEYS = {
    seed.Kind.LOW_THROUGHPUT: metrics.TOKENS_PER_SECOND,
    seed.Kind.HIGH_LOSS: metrics.LOSS,
    seed.Kind.LOW_GPU_UTIL: "gpu_util",
}
_SEED_FOR_SECONDS = 60.0


def defaults() -> dict[str, Rule]:
    """Give the rules that hold unless they are taken off: a collection's three thresholds, and the job's own word."""
    config = MetricsCollectorConfig()
    rules = [
        Rule(
            name=str(kind),
            condition=Threshold(key=_SEED_KEYS[kind], op=op, value=value, clear=value),
            for_seconds=_SEED_FOR_SECONDS,
            clear_for_seconds=_SEED_FOR_SECONDS,
        )
        for kind, op, value in seed.thresholds(config)
    ]
    return {rule.name: rule for rule in [*rules, Rule(name="told", condition=Told())]}


def parse(name: str, table: object, *, now: float) -> Rule | None:
    """Read one rule; None for one that is switched off."""
    where = f"rule {name}"
    if not name or len(name) > _LONGEST_NAME or not _NAME_LETTERS.issuperset(name):
        raise UsageError(
            f"{where}: a name has letters, digits and ._- only", hint="as in [rules.memory-high]"
        )
    if not isinstance(table, dict):
        raise UsageError(f"{where}: not a table", hint=f"write [rules.{name}] and its settings below")
    if table.get("enabled", True) is False:
        return None
    reader = _Reader(where, table)
    kind = reader.one_of("kind", {kind: kind for kind in _CONDITIONS}, "threshold")
    known, make = _CONDITIONS[kind]
    for key in table:
        if key not in _COMMON | known:
            raise UsageError(
                f"{where}: unknown setting {key}", hint=f"a {kind} has {', '.join(sorted(_COMMON | known))}"
            )
    text = reader.text("where", "")
    if text:
        filters.parse(text, now=now)
    for_seconds = reader.seconds("for", _FOR_SECONDS.get(kind, 0.0))
    return Rule(
        name=name,
        condition=make(reader),
        where=text,
        severity=reader.one_of("severity", {one.value: one for one in Severity}, "warning"),
        for_seconds=for_seconds,
        clear_for_seconds=reader.seconds("clear_for", for_seconds if kind == "threshold" else 0.0),
        repeat_seconds=reader.seconds("repeat", 0.0) or None,
        lasts_seconds=reader.seconds("lasts", 3600.0),
        channels=reader.texts("channels"),
    )


class _Reader:
    """Takes settings out of a table, each checked."""

    def __init__(self, where: str, table: Table) -> None:
        self.where = where
        self._table = table

    def fail(self, key: str, problem: str, hint: str) -> UsageError:
        return UsageError(f"{self.where}: {key} {problem}", hint=hint)

    def has(self, key: str) -> bool:
        return key in self._table

    def text(self, key: str, default: str | None = None) -> str:
        value = self._table.get(key, default)
        if value is None:
            raise self.fail(key, "is missing", f"write {key} = ...")
        if not isinstance(value, str):
            raise self.fail(key, "is no text", f'write {key} = "..."')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, [])
        many = [value] if isinstance(value, str) else value
        if not isinstance(many, list) or not all(isinstance(one, str) for one in many):
            raise self.fail(key, "is no list of names", f'write {key} = ["..."]')
        return tuple(many)

    def one_of(self, key: str, words: Mapping[str, Choice], default: str | None = None) -> Choice:
        word = self.text(key, default)
        if word not in words:
            raise self.fail(key, f"is {word}", f"use one of {', '.join(words)}")
        return words[word]

    def some_of(self, key: str, words: Mapping[str, Choice]) -> frozenset[Choice]:
        found = self.texts(key)
        for word in found:
            if word not in words:
                raise self.fail(key, f"names {word}", f"use {', '.join(words)}")
        return frozenset(words[word] for word in found)

    def seconds(self, key: str, default: float) -> float:
        value = self._table.get(key)
        if value is None:
            return default
        found = quantities.parse_quantity(str(value))
        if (
            isinstance(value, bool)
            or found is None
            or found.dimension not in (Dimension.SECONDS, Dimension.NUMBER)
            or not 0 <= found.value < 1e9
        ):
            raise self.fail(key, "is no span of time", f'write {key} = "5m"')
        return found.value

    def amount(self, key: str) -> quantities.Quantity:
        value = self._table.get(key)
        found = None if value is None or isinstance(value, bool) else quantities.parse_quantity(str(value))
        if found is None:
            raise self.fail(
                key, "is missing" if value is None else "is no number", f'write {key} = 10 or "4GiB" or "90%"'
            )
        return found


def _threshold(reader: _Reader) -> Threshold:
    key = _key(reader)
    op = reader.one_of("op", {one.value: one for one in Op}, ">")
    value = reader.amount("value")
    clear = reader.amount("clear") if reader.has("clear") else value
    of_limit = value.dimension is Dimension.PERCENT and key in OF_A_LIMIT
    if clear.dimension is not value.dimension:
        raise reader.fail("clear", "is another kind of number than value", "write both in one unit")
    if op.holds(clear.value, value.value) and clear.value != value.value:
        raise reader.fail("clear", "is beyond value", f"with op {op.value} it lies on the other side")
    return Threshold(key=key, op=op, value=value.value, clear=clear.value, of_limit=of_limit)


def _key(reader: _Reader) -> str:
    key = reader.text("key")
    tool, _, quantity = key.partition("_")
    if key in RESOURCES or (key.startswith(METRIC) and len(key) > len(METRIC)):
        return key
    if metrics.is_known(key):
        return metrics.canonical(key)
    if tool in TOOLS and quantity:
        return key
    raise reader.fail(
        "key",
        f"is {key}, which nothing measures",
        f"use {', '.join(RESOURCES)}, a measurement (see `jobmeter measurements`), loss, or {METRIC}{key}",
    )


def _budget(reader: _Reader) -> Budget:
    given = [one for one in Spent if reader.has(one.value)]
    if len(given) != 1:
        words = ", ".join(one.value for one in Spent)
        raise reader.fail("the budget", "is not one thing", f"write one of {words}")
    limit = reader.amount(given[0].value)
    if limit.dimension is not Dimension.NUMBER or limit.value < 0:
        raise reader.fail(given[0].value, "is no number", f"write {given[0].value} = 100")
    return Budget(
        spent=given[0],
        limit=limit.value,
        per=reader.one_of("per", {one.value: one for one in Per}, "run"),
        window_seconds=reader.seconds("window", 0.0) or None,
    )


def _found(reader: _Reader) -> Found:
    return Found(
        detectors=reader.some_of("detector", {name: name for name in DETECTORS}),
        least=reader.one_of("least", {one.value: one for one in Severity}, "warning"),
    )


def _ended(reader: _Reader) -> Ended:
    causes = reader.some_of("causes", {one.value: one for one in Cause})
    return Ended(causes=causes or frozenset(Cause) - _WENT_WELL)


def _told(reader: _Reader) -> Told:
    return Told(least=reader.one_of("level", {one.value: one for one in Level}, "WARN"))


def _absence(_: _Reader) -> Absence:
    return Absence()


_FOR_SECONDS = {"absence": 120.0, "threshold": 60.0}
_CONDITIONS: dict[str, tuple[frozenset[str], Callable[[_Reader], Condition]]] = {
    "absence": (_LASTING | _HAPPENING, _absence),
    "budget": (frozenset((*(one.value for one in Spent), "per", "window")) | _LASTING | _HAPPENING, _budget),
    "finding": (frozenset(("detector", "least")) | _LASTING | _HAPPENING, _found),
    "threshold": (frozenset(("key", "op", "value", "clear")) | _LASTING, _threshold),
    "told": (frozenset(("level",)) | _HAPPENING, _told),
    "verdict": (frozenset(("causes",)) | _HAPPENING, _ended),
}

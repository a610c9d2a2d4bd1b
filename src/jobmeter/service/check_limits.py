"""Limits as people type them: `cpu_seconds=+5%`, `memory_peak=+100MiB`, `wall=10min`, `steps.per_second=-5%`.

A sign makes a limit relative: `+` is how much more a number may be than its baseline, `-` how much less. Without
a sign it is a ceiling. What can mislead: against history a relative limit is the least change that is claimed,
because a single run says nothing there.
"""

from dataclasses import dataclass

from jobmeter.errors import UsageError
from jobmeter.model import quantities, text
from jobmeter.model.quantities import Dimension
from jobmeter.service import fields
from jobmeter.service.fields import Type

ALIASES = {name: field for field, name in fields.HEADLINES.items()} | {"wall_seconds": "wall"}
"""The names `show --json` uses."""
_EXAMPLE = "as in --max cpu_seconds=+5%, memory_peak=+100MiB or wall=10min"
_UNITS = {Type.BYTES: "bytes", Type.SECONDS: "seconds"}
_FITTING = {
    Type.BYTES: (Dimension.BYTES, Dimension.NUMBER),
    Type.SECONDS: (Dimension.SECONDS, Dimension.NUMBER),
}
_NO_NUMBERS = (Type.TEXT, Type.MOMENT)
_LESS_IS_WORSE = ("per_second", "accuracy")
_BYTES_ENDINGS = ("_bytes", "_rss_total", "_mem_peak", "_read", "_write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What one number may come to."""

    key: str
    amount: float
    """In base units, or parts of the baseline; negative where the number may fall by that."""
    is_relative: bool = False
    """To the baseline."""
    is_share: bool = False
    """A percentage of the baseline."""
    given: str = ""


def parse(given: str) -> Limit:
    """Read one limit."""
    name, equals, amount = given.partition("=")
    key = key_of(name.strip())
    amount = amount.strip()
    quantity = quantities.parse_quantity(amount) if equals else None
    if quantity is None:
        raise UsageError(f"{text.clean(given)} is no limit", hint=f"write KEY=LIMIT, {_EXAMPLE}")
    is_relative = amount[0] in "+-"
    if quantity.dimension is Dimension.PERCENT:
        if not is_relative:
            raise UsageError(
                f"{text.clean(amount)} says not whether more or less",
                hint=f"write +{text.clean(amount)} for how much more it may be, -{text.clean(amount)} for less",
            )
        return Limit(key=key, amount=quantity.value / 100, is_relative=True, is_share=True, given=amount)
    fitting = _FITTING.get(fields.type_of(key) or Type.ANY, tuple(Dimension))
    if quantity.dimension not in fitting:
        raise UsageError(f"{key} is not measured in what {text.clean(amount)} is", hint=_EXAMPLE)
    return Limit(key=key, amount=quantity.value, is_relative=is_relative, given=amount)


def key_of(name: str) -> str:
    """Find the field a name means."""
    key = fields.normal(ALIASES.get(name, name))
    kind = fields.type_of(key)
    if kind is None or kind in _NO_NUMBERS:
        why = "is no number" if kind in _NO_NUMBERS else "is no key of a run"
        raise UsageError(f"{text.clean(name) or 'an empty name'} {why}", hint=fields.nearest(name))
    return key


def unit_of(key: str) -> str:
    """Say what a key counts in."""
    if fields.is_summary_key(key):
        return "bytes" if key.endswith(_BYTES_ENDINGS) else "seconds" if key.endswith("time") else ""
    return _UNITS.get(fields.type_of(key) or Type.ANY, "")


def is_more_worse(key: str) -> bool:
    """Tell whether a larger number is the worse one: of throughput and accuracy it is the better."""
    return not any(word in key for word in _LESS_IS_WORSE) and key != "gpu_util"

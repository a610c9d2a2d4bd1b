"""Which keys to record: `--measurements proc,cgroup_mem_peak,-psi` by keys, prefixes and exclusions."""

import os
import sys

from jobmeter import collectors
from jobmeter.errors import RecordError
from jobmeter.model.measurement import Measurement, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmeter.probes.paths import Paths


class Selection:
    """The chosen keys with their definitions, and why others cannot be had."""

    __slots__ = ("definitions", "missing")

    def __init__(self, definitions: dict[str, Measurement], missing: dict[str, str]) -> None:
        self.definitions = definitions
        self.missing = missing

    def without_processes(self) -> "Selection":
        """Leave out what is said of single processes; what they add up to stays."""
        kept = {key: one for key, one in self.definitions.items() if one.scope is not Scope.PROCESS}
        return Selection(kept, self.missing)

    def by_collector(self) -> dict[str, frozenset[str]]:
        """Group the keys by the source that reads them, in reading order."""
        grouped: dict[str, set[str]] = {}
        for definition in self.definitions.values():
            grouped.setdefault(definition.tool, set()).add(definition.key)
        order = [name for name in (*_default_names(), *collectors.ALL) if name in grouped]
        return {name: frozenset(grouped[name]) for name in dict.fromkeys(order)}


def _default_names() -> tuple[str, ...]:
    return collectors.DEFAULT_LINUX if sys.platform == "linux" else collectors.DEFAULT_ELSEWHERE


def default(paths: "Paths", only: tuple[str, ...] = ()) -> Selection:
    """Choose everything the default collectors can read here."""
    found = [name for name, file in collectors.WHERE_FOUND.items() if os.path.exists(f"{paths.dev}/{file}")]
    names = [name for name in (*_default_names(), *found) if not only or name in only]
    return _available(names, paths)


def _available(names: list[str], paths: "Paths") -> Selection:
    definitions: dict[str, Measurement] = {}
    missing: dict[str, str] = {}
    for name in names:
        module = collectors.load(name)
        reason = module.missing(paths)
        if reason is not None:
            missing[name] = reason
            definitions.update(_stand_in(name, paths))
            continue
        definitions.update({definition.key: definition for definition in module.MEASUREMENTS})
    return Selection(definitions, missing)


def _stand_in(name: str, paths: "Paths") -> dict[str, Measurement]:
    """Choose what takes the place of a source that is missing, if it is there."""
    other = collectors.IF_MISSING.get(name)
    module = None if other is None else collectors.load(other)
    if module is None or module.missing(paths) is not None:
        return {}
    return {definition.key: definition for definition in module.MEASUREMENTS}


def parse(text: str, paths: "Paths") -> Selection:
    """Choose by the user's words; what is unknown or unavailable fails before the job starts."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    wanted = [word for word in words if not word.startswith("-")]
    unwanted = [word[1:] for word in words if word.startswith("-")]
    chosen: dict[str, Measurement] = {} if wanted else dict(default(paths).definitions)
    for word in wanted:
        chosen.update(_matching(word, paths))
    for word in unwanted:
        dropped = _meant(word, chosen)
        if not dropped and not _known(word):
            raise _unknown(word)
        for key in dropped:
            del chosen[key]
    if not chosen:
        raise RecordError("no measurement is left to record", hint="see: jobmeter measurements")
    return Selection(chosen, {})


def _matching(word: str, paths: "Paths") -> dict[str, Measurement]:
    names = [name for name in collectors.ALL if name == word.partition("_")[0]]
    known = {m.key: m for name in names for m in collectors.load(name).MEASUREMENTS}
    found = _meant(word, known)
    if not found:
        raise _unknown(word)
    reason = collectors.load(names[0]).missing(paths)
    if reason is not None:
        raise RecordError(f"cannot measure {word} here: {reason}", hint="see: jobmeter measurements")
    return {key: known[key] for key in found}


def _meant(word: str, keys: "Iterable[str]") -> list[str]:
    """Find the key of that name, else all that begin with it."""
    return [key for key in keys if key == word] or [key for key in keys if key.startswith(f"{word}_")]


def _known(word: str) -> bool:
    return any(_meant(word, [m.key for m in collectors.load(name).MEASUREMENTS]) for name in collectors.ALL)


def _unknown(word: str) -> RecordError:
    shown = word.encode("utf-8", "backslashreplace").decode()[:80]
    return RecordError(f"unknown measurement: {shown}", hint="jobmeter measurements lists all keys")

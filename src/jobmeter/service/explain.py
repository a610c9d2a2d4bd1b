"""What a summary key means, from the definitions that travelled with the run, never from the collectors."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobmeter.model import units
from jobmeter.model.measurement import Kind, Measurement, Reduce, Stat
from jobmeter.model.run import Run, Value

_STATS = {stat.value: stat for stat in Stat}
_ADDED_WORDS = frozenset((*_STATS, *(reduce.value for reduce in Reduce)))
_WORDS = {
    Stat.PEAK: "largest over the run",
    Stat.MEAN: "mean over the run",
    Stat.LOW: "smallest over the run",
    Stat.LAST: "last seen",
    Stat.TOTAL: "total over the run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One number of the summary with its unit and meaning; `definition` is None where the run has none."""

    key: str
    value: Value
    definition: Measurement | None
    stat: Stat | None

    @property
    def text(self) -> str:
        """Write the value in its unit; a number without a definition is written as it is."""
        if self.definition is None:
            return str(self.value)
        return units.format_value(self.value, self.definition.unit)

    @property
    def meaning(self) -> str:
        """Say what the number is; empty where the run does not."""
        if self.definition is None:
            return ""
        stat = Stat.TOTAL if self.stat is None and self.definition.kind is Kind.COUNTER else self.stat
        return f"{self.definition.about}; {_WORDS[stat]}" if stat is not None else self.definition.about


def explain(run: Run) -> list[Explained]:
    """Explain every number of a run's summary, in alphabetical order."""
    return [explain_key(key, run) for key in sorted(run.summary)]


def explain_key(key: str, run: Run) -> Explained:
    """Explain one number of a run's summary."""
    definition, stat = definition_of(key, run.definitions)
    return Explained(key=key, value=run.summary[key], definition=definition, stat=stat)


def definition_of(key: str, definitions: Mapping[str, Measurement]) -> tuple[Measurement | None, Stat | None]:
    """Find the definition behind a key, and the statistic its name adds: `proc_rss` and mean of `proc_mean_rss`.

    A word that only windows use (`max`) is no statistic of a run, but leads to the definition all the same.
    """
    if key in definitions:
        return definitions[key], None
    tool, _, rest = key.partition("_")
    word, _, quantity = rest.partition("_")
    definition = definitions.get(f"{tool}_{quantity}")
    if definition is None or word not in _ADDED_WORDS:
        return None, None
    return definition, _STATS.get(word)

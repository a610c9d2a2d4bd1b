"""What is known of one run as samples of Prometheus families; the same for a scrape and for remote write."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jobmeter.exporters import metric_families as families
from jobmeter.exporters import metric_names as names
from jobmeter.exporters.metric_names import Family, Labels, Type
from jobmeter.model.measurement import Measurement
from jobmeter.model.run import Run

Name = tuple[str, str]
"""A key and an instance."""

_OWN = {family.name for family in (*families.OF_RUNS, *families.OF_THE_SERVER)}


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series."""

    family: Family
    labels: Labels
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSteps:
    """What the best source of one rank told last."""

    rank: int
    last_step: int
    count: int
    told_at: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReadings:
    """What is known of a run at one moment."""

    run: Run
    values: Mapping[Name, float] = field(default_factory=dict)
    """Gauges as last measured, counters summed over the run so far."""
    states: Mapping[Name, Mapping[str, int]] = field(default_factory=dict)
    devices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By instance: its labels by their keys."""
    steps: Sequence[RankSteps] = ()
    measured_at: float | None = None


def samples(readings: RunReadings) -> Iterator[Sample]:
    """Yield everything known of a run, what matters most first."""
    run = readings.run
    own = names.labels_of_run(run)
    yield from facts(run, own, readings.measured_at)
    numbers = gpu_numbers(readings.devices)
    for (key, instance), value in readings.values.items():
        series = series_of(run.definitions.get(key), instance, own, numbers)
        if series is not None:
            yield Sample(*series, value)
    for (key, instance), states in readings.states.items():
        series = series_of(run.definitions.get(key), instance, own, numbers)
        if series is not None:
            family, labels = series
            for state, seen in states.items():
                yield Sample(family, names.joined(labels, names.labels({"state": state})), seen)
    yield from _devices(readings, own, numbers)
    for rank in readings.steps:
        yield from steps(rank, own)


def facts(run: Run, own: Labels, measured_at: float | None = None) -> Iterator[Sample]:
    """Yield what is known of a run beside its series."""
    about = {
        "name": run.name,
        "user": run.user,
        "group": run.group,
        "program": run.command[0].rsplit("/", 1)[-1] if run.command else None,
        "origin": run.provenance.origin,
    }
    yield Sample(families.RUN_INFO, names.joined(own, names.labels(about)), 1)
    yield Sample(families.RUN_STATE, names.joined(own, (("state", run.status.value),)), 1)
    single = {
        families.RUN_STARTED: run.started_at,
        families.RUN_ENDED: run.ended_at,
        families.RUN_WALL: run.wall_seconds,
        families.RUN_EXIT_CODE: run.exit_code,
        families.RUN_SAMPLE_TIME: measured_at,
        families.LIMIT_MEMORY: run.limits.memory_bytes,
        families.LIMIT_CPUS: run.limits.cpus,
    }
    for family, value in single.items():
        if value is not None:
            yield Sample(family, own, value)
    for name, headline in run.headline.items():
        known = families.HEADLINES.get(name)
        if known is not None:
            yield Sample(known, own, headline.value)


def steps(told: RankSteps, own: Labels) -> Iterator[Sample]:
    """Yield where a training loop stands and what it logged last."""
    labels = names.joined(own, (("rank", str(told.rank)),))
    yield Sample(families.STEP, labels, told.last_step)
    yield Sample(families.STEP_ROWS, labels, told.count)
    if told.told_at is not None:
        yield Sample(families.STEP_TIME, labels, told.told_at)
    for metric, value in told.metrics.items():
        yield Sample(families.STEP_VALUE, names.joined(labels, names.labels({"metric": metric})), value)


def series_of(
    definition: Measurement | None, instance: str, own: Labels, numbers: Mapping[str, str]
) -> tuple[Family, Labels] | None:
    """Name the series of one instance of a measurement; None where it is not exported."""
    if definition is None:
        return None
    family = names.family_of(definition)
    if family is None or family.type is Type.INFO or family.name in _OWN:
        return None
    return family, names.joined(own, names.labels_of_instance(definition, instance, numbers))


def gpu_numbers(devices: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Find the number of every GPU on its machine; where two share one, it tells nothing apart."""
    found = {
        instance: text
        for instance, known in devices.items()
        for key, text in known.items()
        if key.endswith("_index")
    }
    return found if len(set(found.values())) == len(found) else {}


def _devices(readings: RunReadings, own: Labels, numbers: Mapping[str, str]) -> Iterator[Sample]:
    for instance, known in readings.devices.items():
        by_tool: dict[str, dict[str, str]] = {}
        for key, text in known.items():
            by_tool.setdefault(key.partition("_")[0], {})[key] = text
        for told in by_tool.values():
            labelling = [one for key in told if (one := readings.run.definitions.get(key)) is not None]
            family = names.family_of(labelling[0]) if labelling else None
            if family is None or family.type is not Type.INFO:
                continue
            place = names.labels_of_instance(labelling[0], instance, numbers)
            words = {key.partition("_")[2]: text for key, text in told.items() if not key.endswith("_index")}
            yield Sample(family, names.joined(own, names.labels(words | {"uuid": instance}), place), 1)

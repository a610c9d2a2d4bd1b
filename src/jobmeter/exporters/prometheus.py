"""Runs as a page that Prometheus scrapes: at most so many series, and how many were left out.

A value is the last one known: a page has no past. Whoever gathers the readings leaves away what is no longer
measured, so that Prometheus sees a series end instead of a value that stands still.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmeter.exporters import metric_families as families
from jobmeter.exporters import run_metrics
from jobmeter.exporters.metric_names import Family, Labels
from jobmeter.exporters.run_metrics import RunReadings, Sample

if TYPE_CHECKING:
    from prometheus_client import Metric

MAX_SERIES = 50_000
MAX_SERIES_OF_RUN = 2_000
TEXT_TYPE = "text/plain; version=0.0.4"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(slots=True, eq=False)
class Page:
    """Families with their series, as many as fit."""

    max_series: int = MAX_SERIES
    max_series_of_run: int = MAX_SERIES_OF_RUN
    series: int = 0
    series_left_out: int = 0
    runs_left_out: int = 0
    _families: dict[str, tuple[Family, dict[Labels, float]]] = field(default_factory=dict)

    def add_run(self, readings: RunReadings) -> None:
        """Take the series of a run in as far as there is room."""
        taken = 0
        for sample in run_metrics.samples(readings):
            if taken < self.max_series_of_run and self.series < self.max_series and self._put(sample):
                taken += 1
                self.series += 1
            else:
                self.series_left_out += 1
        if not taken:
            self.runs_left_out += 1

    def add(self, samples: Iterable[Sample]) -> None:
        """Take in what is bounded by itself."""
        for sample in samples:
            self._put(sample)

    def _put(self, sample: Sample) -> bool:
        family, series = self._families.setdefault(sample.family.name, (sample.family, {}))
        if family.type is not sample.family.type or sample.labels in series:
            return False  # an older run knew the key as another kind, or two long names begin alike
        series[sample.labels] = sample.value
        return True

    def counts(self) -> Iterator[Sample]:
        """Say how much is on the page."""
        yield Sample(families.SERIES, (), self.series)
        yield Sample(families.SERIES_LEFT_OUT, (), self.series_left_out)
        yield Sample(families.RUNS_LEFT_OUT, (), self.runs_left_out)

    def collect(self) -> "Iterator[Metric]":
        """Yield the families, as a collector of prometheus-client does."""
        from prometheus_client import Metric

        for _, (family, series) in sorted(self._families.items()):
            metric = Metric(family.name, family.about, family.type.value)
            for labels, value in series.items():
                metric.add_sample(family.sample_name, dict(labels), value)
            yield metric


def render(page: Page, *, openmetrics: bool) -> bytes:
    """Write a page in the text format, or in OpenMetrics."""
    from prometheus_client import CollectorRegistry, exposition
    from prometheus_client.openmetrics import exposition as openmetrics_exposition

    registry = CollectorRegistry(auto_describe=False)
    registry.register(page)
    if openmetrics:
        written: bytes = openmetrics_exposition.generate_latest(registry)  # type: ignore[no-untyped-call]
        return written
    return exposition.generate_latest(registry)

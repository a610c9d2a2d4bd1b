"""A run being plotted: where its series are found, and how they become lines."""

from dataclasses import dataclass

from jobmeter.model.measurement import Kind
from jobmeter.model.panel import Line, Role
from jobmeter.model.view import RunView, Series
from jobmeter.service import plot_series


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The run being plotted and its time axis."""

    view: RunView
    axis: plot_series.Axis

    def total(self, key: str) -> Series | None:
        """Find the series of a key that describes the whole job."""
        series = self.view.series.get((key, ""))
        return series if series is not None and series.times else None

    def is_counter(self, key: str) -> bool:
        """Tell a counter from a gauge by the run's own definition, else by its having spans."""
        definition = self.view.run.definitions.get(key)
        if definition is not None:
            return definition.kind is Kind.COUNTER
        series = self.view.series.get((key, ""))
        return series is not None and series.spans is not None

    def points(self, series: Series, scale: float = 1.0) -> plot_series.Points:
        """Place a series on the axis, as a rate where it counts."""
        place = plot_series.rate_points if self.is_counter(series.key) else plot_series.gauge_points
        return place(series, self.axis, scale)

    def line(self, series: Series, label: str, role: Role, scale: float = 1.0) -> Line:
        """Draw a series of the whole job."""
        step = self.is_counter(series.key)
        points = self.points(series, scale)
        return plot_series.make_line(points, self.axis, step=step, label=label, key=series.key, role=role)

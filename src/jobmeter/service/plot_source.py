"""A run being plotted: where its series are found, and how they become lines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobmeter.model.measurement import Kind
from jobmeter.model.panel import Line, Role
from jobmeter.model.steps import StepSeries
from jobmeter.model.view import RunView, Series
from jobmeter.service import plot_series

LONGEST_DEVICE = 16


@dataclass(frozen=True, slots=True)
class Metric:
    """What one rank logged of one quantity."""

    quantity: str
    series: StepSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a plot needs beside the series of a view: metrics of the training, numbers of the devices."""

    metrics: tuple[Metric, ...] = ()
    """The lowest rank first."""
    ranks_left_out: int = 0
    names: tuple[str, ...] = ()
    """All that the training logged, drawn or not."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """The number of a GPU on its machine, by its instance."""


NOTHING = Told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The run being plotted and its time axis."""

    view: RunView
    axis: plot_series.Axis
    told: Told = NOTHING
    logarithmic: bool = False
    """Whether metrics are to be drawn on a logarithmic axis."""

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

    def device_name(self, instance: str) -> str:
        """Call a device by its number on the machine, else by what names it."""
        number = self.told.devices.get(instance, instance)
        if number.isdecimal():
            return f"GPU {number}"
        return number if len(number) <= LONGEST_DEVICE else f"{number[:LONGEST_DEVICE]}…"

    def device_order(self, instance: str) -> tuple[list[tuple[int, str]], str]:
        """Order devices as people count: 2 before 10."""
        number = self.told.devices.get(instance, instance)
        parts = re.split(r"(\d+)", number)
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], instance

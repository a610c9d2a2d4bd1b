"""What tests of GPU sources share: a clock to set forward, the devices of the stand-in, and how to sample."""

import time
from collections.abc import Callable

from jobmeter.collectors.gpu_source import GpuSource
from jobmeter.probes.gpu_process import HelperProcess

GPU = "GPU-11111111-2222-3333-4444-555555555555"
Readings = dict[tuple[str, str], object]


class Clock:
    """The monotonic clock, which a test may set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


def read_until(source: GpuSource, found: Callable[[Readings], bool]) -> Readings:
    """Sample as the recorder would until the readings are as awaited."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        readings: Readings = {(key, instance): value for key, instance, value in source.read()}
        if found(readings):
            return readings
        time.sleep(0.02)
    raise AssertionError("never came")


def has(*wanted: tuple[str, str]) -> Callable[[Readings], bool]:
    return lambda readings: set(wanted) <= readings.keys()


def in_state(helper: HelperProcess, state: str) -> Callable[[Readings], bool]:
    return lambda _: helper.state.value == state

"""Whatever a run recorded, the detectors answer, twice the same, in numbers that JSON has."""

from dataclasses import replace
from importlib import import_module
from math import isfinite

from hypothesis import given
from hypothesis import strategies as st

from jobmeter.analysis.detectors import DETECTORS
from jobmeter.model.report import Finding
from jobmeter.model.run import Limits, Status
from jobmeter.model.steps import Steps
from jobmeter.model.view import RunView
from support import curves

NAMES = tuple(DETECTORS)
wild = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1.0, -1.0, 1e18, 5e-324]),
    st.floats(0, 1e11),
)
columns = st.lists(st.one_of(wild, st.floats(0, 1e3)), max_size=80)
moments = st.lists(st.floats(0, 1e6), max_size=60).map(sorted)


def told(view: RunView) -> list[Finding]:
    return [finding for name in NAMES for finding in import_module(DETECTORS[name]).detect(view)]


@given(columns, columns, moments, st.sampled_from(list(Status)), st.sampled_from([None, 0, 1 << 30]))
def test_any_series(
    memory: list[float], cores: list[float], steps: list[float], status: Status, limit: int | None
) -> None:
    view = curves.run(
        curves.memory(memory),
        curves.cpu(cores),
        steps=curves.training(steps, tokens_per_second=[1.0] * len(steps)),
        status=status,
        limits=Limits(memory_bytes=limit),
    )
    found = told(view)
    assert found == told(view)
    for finding in found:
        assert finding.sentence
        numbers = [value for value in finding.figures.values() if isinstance(value, float)]
        assert all(map(isfinite, numbers))


@given(columns, columns, columns, st.sampled_from(list(Status)))
def test_any_training(
    losses: list[float], gradients: list[float], waits: list[float], status: Status
) -> None:
    count = min(map(len, (losses, gradients, waits)))
    columns_of = {"loss": losses, "grad_norm": gradients, "data_time": waits, "eval_loss": gradients}
    told_of = {name: values[:count] for name, values in columns_of.items()}
    tables = [curves.training(range(count), rank=rank, **told_of).tables for rank in range(2)]
    view = curves.run(steps=Steps(tuple(table for found in tables for table in found)), status=status)
    assert told(view) == told(view)


@given(columns, columns, st.sampled_from([None, 0.0, 0.5, 8.0]))
def test_any_machine(values: list[float], others: list[float], cpus: float | None) -> None:
    gauges = ("cgroup_mem_swap", "host_swap_used", "nvml_mem_used_total", "nvml_proc_mem_total")
    devices = ("util", "mem_used", "mem_total", "temp", "sm_clock", "power", "power_limit")
    view = curves.run(
        *(curves.gauge(key, values) for key in gauges),
        *(curves.gauge(f"nvml_{key}", others, instance=name) for key in devices for name in ("0", "1")),
        *(curves.rate(key, values) for key in ("cgroup_throttled", "cgroup_mem_pressure", "cgroup_cputime")),
        limits=Limits(memory_bytes=1 << 30, cpus=cpus),
        wall_seconds=100.0,
    )
    found = told(view)
    assert found == told(view)
    for finding in found:
        numbers = [value for value in finding.figures.values() if isinstance(value, float)]
        assert all(map(isfinite, numbers))


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=40), st.lists(wild, min_size=40, max_size=40))
def test_any_clock(times: list[float], values: list[float]) -> None:
    series = curves.memory(values[: len(times)])
    told(curves.run(replace(series, times=sorted(curves.STARTED + moment for moment in times))))

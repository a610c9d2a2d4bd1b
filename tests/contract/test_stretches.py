"""Lines for charts: whatever a store keeps, no point is lost and every least and largest is exact."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter import stores
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Unit
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Number, Step
from jobmeter.model.stretches import StepStretches, Stretches
from jobmeter.model.view import Series, Window
from jobmeter.stores import Batch, Store
from support import stored

RUN_ID = "20261115T095001Z-7f3a9c"
GAUGE, COUNTER = "proc_rss_total", "wait_cputime"
DEFINITIONS = {
    COUNTER: Measurement(COUNTER, Kind.COUNTER, Unit.SECONDS, Scope.JOB, (Reduce.DELTA,), (), "CPU time"),
}


@pytest.fixture(params=sorted(stores.ALL))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with stored.opened(request.param, tmp_path) as opened:
        yield opened


def put(store: Store, windows: Sequence[Window], *, final: bool = True, defined: bool = True) -> None:
    run = Run(
        run_id=RUN_ID,
        job_id=RUN_ID,
        status=Status.COMPLETED,
        command=("x",),
        definitions=DEFINITIONS if defined else {},
    )
    store.append(Batch(run=run, final=final, fields={}, windows=windows))


def windows(count: int, begin: float = 0.0) -> list[Window]:
    return [
        Window(
            timestamp=begin + number,
            num_samples=1,
            clock={"wait": (float(number), number + (2.0 if number % 5 else 0.5)), "proc": (0.0, 1.0)},
            values={(GAUGE, ""): (number * 7919) % 1000, (COUNTER, ""): number % 13 / 4},
        )
        for number in range(count)
    ]


def check(line: Stretches, series: Series, points: int) -> None:
    """Hold a line against the points it stands for."""
    assert len(line.counts) <= points
    assert sum(line.counts) == len(series.times)
    assert list(line.begins) == sorted(line.begins)
    heights = series.values
    if line.is_rate:
        assert series.spans is not None
        heights = [value / span for value, span in zip(series.values, series.spans, strict=True)]
    ends = [0]
    for count in line.counts:
        ends.append(ends[-1] + count)
    for place, (begin, end) in enumerate(pairwise(ends)):
        part = [height for height in heights[begin:end] if not math.isnan(height)]
        low, high = (min(part), max(part)) if part else (math.nan, math.nan)
        assert (line.begins[place], line.ends[place]) == (series.times[begin], series.times[end - 1])
        assert (line.lows[place], line.highs[place]) == pytest.approx((low, high), rel=0, abs=0, nan_ok=True)
        assert line.lasts[place] == pytest.approx(heights[end - 1], rel=0, abs=0, nan_ok=True)
        assert line.means[place] == pytest.approx(_mean(line, series, begin, end), rel=1e-12, nan_ok=True)


def _mean(line: Stretches, series: Series, begin: int, end: int) -> float:
    places = [place for place in range(begin, end) if not math.isnan(series.values[place])]
    if not places:
        return math.nan
    total = sum(series.values[place] for place in places)
    if line.is_rate and series.spans is not None:
        return total / sum(series.spans[place] for place in places)
    return total / len(places)


@pytest.mark.parametrize("count", [1, 64, 601, 8888])
@pytest.mark.parametrize("points", [1, 16, 2000])
def test_a_line_is_its_points_in_stretches(store: Store, count: int, points: int) -> None:
    put(store, windows(count))
    lines = store.stretches(RUN_ID, points=points, counters={COUNTER})
    series = store.series(RUN_ID, counters={COUNTER})
    assert [(line.key, line.is_rate) for line in lines] == [(GAUGE, False), (COUNTER, True)]
    for line, one in zip(lines, series, strict=True):
        check(line, one, points)
        if count <= points:
            assert not line.is_coarse
            assert list(line.lows) == list(line.highs) == list(line.lasts)


@pytest.mark.parametrize("between", [(100.5, 7000.0), (0.0, 599.0), (600.0, 600.0), (8000.0, 9e9)])
def test_a_part_of_a_line_holds_exactly_the_points_inside(store: Store, between: tuple[float, float]) -> None:
    put(store, windows(8888), final=False)
    lines = store.stretches(RUN_ID, points=10, counters={COUNTER}, between=between)
    for line, one in zip(lines, store.series(RUN_ID, counters={COUNTER}, between=between), strict=True):
        check(line, one, 10)


def test_what_is_not_sealed_yet_belongs_to_the_line(store: Store) -> None:
    put(store, windows(6100), final=False)
    (line,) = store.stretches(RUN_ID, [GAUGE], points=8)
    check(line, store.series(RUN_ID, [GAUGE])[0], 8)
    assert line.ends[-1] == 6099.0


def test_a_counter_that_was_not_defined_when_it_was_stored_still_has_a_rate(store: Store) -> None:
    put(store, windows(6000), defined=False)
    (line,) = store.stretches(RUN_ID, [COUNTER], points=4, counters={COUNTER})
    assert line.is_rate
    check(line, store.series(RUN_ID, [COUNTER], counters={COUNTER})[0], 4)
    (plain,) = store.stretches(RUN_ID, [COUNTER], points=4)
    assert not plain.is_rate


def test_a_line_of_which_a_part_has_no_clock_is_no_rate(store: Store) -> None:
    bare = [
        Window(timestamp=w.timestamp, num_samples=1, clock={}, values=w.values)
        for w in windows(300, begin=6000.0)
    ]
    put(store, [*windows(6000), *bare], final=False)
    (line,) = store.stretches(RUN_ID, [COUNTER], points=4, counters={COUNTER})
    assert not line.is_rate
    check(line, store.series(RUN_ID, [COUNTER])[0], 4)


def test_nan_is_counted_and_nothing_else(store: Store) -> None:
    made = [
        Window(timestamp=n, num_samples=1, clock={}, values={(GAUGE, ""): math.nan if n < 1300 else float(n)})
        for n in range(6000)
    ]
    put(store, made)
    (line,) = store.stretches(RUN_ID, points=10)
    check(line, store.series(RUN_ID)[0], 10)
    assert math.isnan(line.lows[0])


def test_a_clock_that_was_set_back_never_draws_backwards(store: Store) -> None:
    put(store, [*windows(3000), *windows(3000, begin=1500.0)])
    (line,) = store.stretches(RUN_ID, [GAUGE], points=5)
    assert sum(line.counts) == 6000
    assert list(line.begins) == sorted(line.begins)
    (part,) = store.stretches(RUN_ID, [GAUGE], points=2, between=(0.0, 2000.0))
    assert sum(part.counts) == len(store.series(RUN_ID, [GAUGE], between=(0.0, 2000.0))[0].times)


def test_processes_have_lines_of_their_own(store: Store) -> None:
    made = [
        Window(
            timestamp=n,
            num_samples=1,
            clock={},
            values={("proc_rss", "7@9"): n, **({("proc_rss", "8@9"): 2 * n} if n < 20 else {})},
        )
        for n in range(3000)
    ]
    put(store, made)
    lines = store.stretches(RUN_ID, points=6)
    assert [(line.instance, sum(line.counts)) for line in lines] == [("7@9", 3000), ("8@9", 20)]
    for line, one in zip(lines, store.series(RUN_ID), strict=True):
        check(line, one, 6)


def test_an_unknown_run_or_key_has_no_line(store: Store) -> None:
    assert store.stretches("x", points=5) == []
    put(store, windows(10))
    assert store.stretches(RUN_ID, ["proc_none"], points=5) == []
    assert store.step_stretches(RUN_ID, ["loss"], points=5) == []


def steps_of(numbers: Sequence[int], rank: int = 0, writer: str = "steps.jsonl") -> dict[str, list[Step]]:
    metrics = [{"loss": (n * 7919) % 1000 / 8, **({"eval": n * 3} if n % 10 == 0 else {})} for n in numbers]
    return {
        writer: [
            Step(timestamp=None, step=n, rank=rank, source="sdk", metrics=told)
            for n, told in zip(numbers, metrics, strict=True)
        ]
    }


def put_steps(store: Store, steps: dict[str, list[Step]], *, final: bool = True) -> None:
    run = Run(run_id=RUN_ID, job_id=RUN_ID, status=Status.COMPLETED, command=("x",))
    store.append(Batch(run=run, final=final, fields={}, steps=steps))


def check_steps(line: StepStretches, steps: Sequence[int], values: Sequence[Number], points: int) -> None:
    assert len(line.counts) <= points
    assert sum(line.counts) == len(values)
    begin = 0
    for place, count in enumerate(line.counts):
        part = values[begin : begin + count]
        finite = [value for value in part if math.isfinite(value)]
        assert (line.first_steps[place], line.last_steps[place]) == (steps[begin], steps[begin + count - 1])
        assert line.finites[place] == len(finite)
        low, high = (min(finite), max(finite)) if finite else (math.nan, math.nan)
        assert (line.lows[place], line.highs[place]) == pytest.approx((low, high), rel=0, abs=0, nan_ok=True)
        assert line.lasts[place] == pytest.approx(part[-1], rel=0, abs=0, nan_ok=True)
        begin += count


def check_all_steps(store: Store, points: int, between: tuple[int, int] | None = None) -> None:
    lines = store.step_stretches(RUN_ID, ["loss", "eval"], points=points, between=between)
    wanted = []
    for table in store.steps(RUN_ID, between=between):
        for metric, column in table.columns.items():
            rows = range(len(table)) if column.rows is None else column.rows
            wanted.append((table.rank, metric, [table.steps[row] for row in rows], column.values))
    assert [(line.rank, line.metric) for line in lines] == [(rank, metric) for rank, metric, _, _ in wanted]
    for line, (_, _, steps, values) in zip(lines, wanted, strict=True):
        check_steps(line, steps, values, points)


@pytest.mark.parametrize("count", [1, 4096, 20_000])
@pytest.mark.parametrize("points", [1, 40, 3000])
def test_a_metric_is_its_values_in_stretches(store: Store, count: int, points: int) -> None:
    put_steps(store, steps_of(range(count)), final=False)
    check_all_steps(store, points)
    assert all(line.is_rising for line in store.step_stretches(RUN_ID, ["loss", "eval"], points=points))


def test_a_part_of_the_steps_is_in_stretches_too(store: Store) -> None:
    put_steps(store, steps_of(range(9000)))
    check_all_steps(store, 5, between=(100, 8000))


@pytest.mark.parametrize("points", [5, 5000])
def test_a_loop_that_went_back_is_not_rising(store: Store, points: int) -> None:
    put_steps(store, steps_of([*range(6000), *range(3000, 9000)]))
    check_all_steps(store, points)
    assert not any(line.is_rising for line in store.step_stretches(RUN_ID, ["loss", "eval"], points=points))


def test_a_step_that_is_logged_twice_is_not_rising(store: Store) -> None:
    put_steps(store, steps_of([*range(4096), 4095]), final=False)
    (line,) = store.step_stretches(RUN_ID, ["loss"], points=4)
    assert not line.is_rising


def test_ranks_and_sources_are_chosen(store: Store) -> None:
    put_steps(store, steps_of(range(5000)) | steps_of(range(10), rank=1, writer="steps.1.jsonl"))
    found = store.step_stretches(RUN_ID, ["loss"], points=3, ranks=[1])
    assert [(line.rank, line.writer, sum(line.counts)) for line in found] == [(1, "steps.1.jsonl", 10)]
    assert store.step_stretches(RUN_ID, ["loss"], points=3, sources=["log:x"]) == []


def test_whole_numbers_that_floats_cannot_hold_stay_exact(store: Store) -> None:
    told = [
        Step(timestamp=None, step=n, rank=0, source="sdk", metrics={"loss": 2**60 + n}) for n in range(5000)
    ]
    put_steps(store, {"steps.jsonl": told})
    (line,) = store.step_stretches(RUN_ID, ["loss"], points=2)
    assert (line.lows[0], line.highs[-1]) == (2**60, 2**60 + 4999)


def timed(count: int, *, rank: int = 0, writer: str = "steps.jsonl") -> dict[str, list[Step]]:
    """Make steps that come ten a second, every hundredth without a time."""
    return {
        writer: [
            Step(
                timestamp=None if n % 100 == 50 else 1000 + n / 10,
                step=n,
                rank=rank,
                source="sdk",
                metrics={"loss": n},
            )
            for n in range(count)
        ]
    }


@pytest.mark.parametrize("count", [1, 2, 4096, 5000, 40_000])
def test_a_clock_says_when_steps_were_taken(store: Store, count: int) -> None:
    put_steps(store, timed(count), final=False)
    (clock,) = store.step_clocks(RUN_ID, points=20)
    assert len(clock.steps) == min(count, 20)
    assert (clock.steps[0], clock.times[0]) == (0, 1000.0)
    assert (clock.steps[-1], clock.times[-1]) == (count - 1, pytest.approx(1000 + (count - 1) / 10))
    assert clock.times == pytest.approx([1000 + step / 10 for step in clock.steps])
    assert list(clock.steps) == sorted(set(clock.steps))


def test_every_rank_has_its_clock_and_steps_without_times_have_none(store: Store) -> None:
    put_steps(
        store, timed(5) | timed(40_000, rank=1, writer="steps.1.jsonl") | steps_of([1, 2], 2, "steps.2.jsonl")
    )
    found = store.step_clocks(RUN_ID, points=10)
    assert [(clock.rank, clock.writer) for clock in found] == [(0, "steps.jsonl"), (1, "steps.1.jsonl")]


numbers = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(-9, 9)
)


def test_no_order_of_values_loses_an_extreme(store: Store) -> None:
    @settings(max_examples=15, deadline=None)
    @given(
        values=st.lists(numbers, min_size=1, max_size=50),
        times=st.integers(1, 60),
        points=st.integers(1, 40),
        cut=st.integers(0, 3000),
    )
    def check_line(values: list[Number], times: int, points: int, cut: int) -> None:
        whole = (values * times)[:3000]
        store.forget(RUN_ID)
        made = [
            Window(timestamp=float(n), num_samples=1, clock={}, values={(GAUGE, ""): value})
            for n, value in enumerate(whole)
        ]
        put(store, made[:cut], final=False)
        put(store, made[cut:])
        told = [
            Step(timestamp=None, step=n, rank=0, source="sdk", metrics={"loss": value})
            for n, value in enumerate(whole)
        ]
        put_steps(store, {"steps.jsonl": told})
        (line,) = store.stretches(RUN_ID, [GAUGE], points=points)
        check(line, store.series(RUN_ID, [GAUGE])[0], points)
        (metric,) = store.step_stretches(RUN_ID, ["loss"], points=points)
        check_steps(metric, range(len(whole)), whole, points)

    check_line()

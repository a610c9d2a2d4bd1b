"""What every store must do, asked of each of them in the same words; `memory` is the specification."""

import dataclasses
import inspect
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmeter import stores
from jobmeter.model import measurement
from jobmeter.model.measurement import Kind
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event, Process, Window
from jobmeter.runfolder import reader
from jobmeter.stores import Batch, Position, Ranks, Store, StoredReport, memory
from support import folders, stored

RUN_ID = folders.RUN_ID
COUNTERS = frozenset(("wait_cputime", "proc_cputime"))


@pytest.fixture(params=sorted(stores.ALL))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with stored.opened(request.param, tmp_path) as opened:
        yield opened


def make_run(run_id: str = RUN_ID, **changes: object) -> Run:
    definitions = {
        str(row["key"]): made
        for row in folders.definitions()
        if (made := measurement.from_record(row)) is not None
    }
    known: dict[str, object] = {"status": Status.COMPLETED, "command": ("make",), "definitions": definitions}
    return Run(run_id=run_id, job_id=run_id, **(known | changes))  # type: ignore[arg-type]


def batch(run: Run | None = None, **changes: object) -> Batch:
    known: dict[str, object] = {"run": run or make_run(), "final": False, "fields": {}}
    return Batch(**(known | changes))  # type: ignore[arg-type]


def at(second: float, values: dict[tuple[str, str], object], **clock: tuple[float, float]) -> Window:
    return Window(timestamp=second, num_samples=1, clock=clock, values=values)  # type: ignore[arg-type]


def test_every_back_end_has_the_names_of_the_contract(store: Store) -> None:
    for name, method in inspect.getmembers(Store, inspect.isfunction):
        if not name.startswith("_"):
            found = inspect.signature(getattr(type(store), name))
            assert list(found.parameters) == list(inspect.signature(method).parameters), name


def test_an_empty_store_knows_nothing(store: Store) -> None:
    assert store.run_ids() == set()
    assert store.briefs() == []
    assert list(store.fields()) == []
    assert store.summaries() == {}
    assert (store.run("x"), store.brief("x")) == (None, None)
    assert (store.series("x"), store.events("x"), store.processes("x"), store.statistics("x")) == (
        [],
        [],
        [],
        {},
    )
    assert store.positions("x") == {}
    assert store.with_prefix("", 5) == []


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    run = make_run(
        name="caf\udce9",
        tags={"k": "v"},
        summary={"wait_cputime": 4.5, "host_kernel": "6.1"},
        context={"git": {"x": [1]}},
    )
    assert store.append(batch(run))
    assert store.run(RUN_ID) == run
    assert store.brief(RUN_ID) == dataclasses.replace(run, definitions={}, context={})
    assert store.briefs() == [dataclasses.replace(run, definitions={}, context={})]
    assert store.summaries() == {RUN_ID: {"wait_cputime": 4.5, "host_kernel": "6.1"}}


def test_a_later_batch_replaces_the_facts(store: Store) -> None:
    store.append(batch(make_run(status=Status.RUNNING), fields={"status": "running"}))
    assert store.unfinished() == {RUN_ID: Status.RUNNING}
    store.append(batch(make_run(exit_code=3), final=True, fields={"status": "completed", "wall": 2.5}))
    found = store.run(RUN_ID)
    assert found is not None
    assert (found.status, found.exit_code) == (Status.COMPLETED, 3)
    assert store.unfinished() == {}
    assert list(store.fields()) == [(RUN_ID, {"status": "completed", "wall": 2.5})]


def test_runs_are_listed_newest_first_and_those_without_a_start_last(store: Store) -> None:
    for run_id, started in (("b", 2.0), ("a", 3.0), ("d", None), ("c", 2.0)):
        store.append(batch(make_run(run_id, started_at=started)))
    assert [run.run_id for run in store.briefs()] == ["a", "c", "b", "d"]
    assert [run.run_id for run in store.briefs(limit=2)] == ["a", "c"]
    assert [run_id for run_id, _ in store.fields()] == ["a", "c", "b", "d"]
    assert store.run_ids() == {"a", "b", "c", "d"}


def test_runs_are_found_by_prefix_literally(store: Store) -> None:
    for run_id in ("2026a", "2026b", "2027%", "2027_x"):
        store.append(batch(make_run(run_id, started_at=1.0)))
    assert store.with_prefix("2026", 5) == ["2026b", "2026a"]
    assert store.with_prefix("2026", 1) == ["2026b"]
    assert store.with_prefix("2027%", 5) == ["2027%"]
    assert store.with_prefix("2_", 5) == []


def test_a_batch_that_does_not_begin_where_the_index_ends_is_refused(store: Store) -> None:
    first = batch(
        windows=[at(1, {("a_x", ""): 1})],
        since={"usage.jsonl": Position(0)},
        until={"usage.jsonl": Position(10)},
    )
    assert store.append(first)
    assert not store.append(first)
    assert store.positions(RUN_ID) == {"usage.jsonl": Position(10)}
    assert [list(series.values) for series in store.series(RUN_ID)] == [[1]]
    second = batch(
        windows=[at(2, {("a_x", ""): 5})],
        since={"usage.jsonl": Position(10)},
        until={"usage.jsonl": Position(20, 3)},
    )
    assert store.append(second)
    assert store.positions(RUN_ID) == {"usage.jsonl": Position(20, 3)}
    assert [list(series.values) for series in store.series(RUN_ID)] == [[1, 5]]


def test_positions_of_files_that_bring_no_rows_are_kept(store: Store) -> None:
    store.set_position("@home", "changes.jsonl", Position(5))
    store.set_position("@home", "changes.jsonl", Position(9))
    assert store.positions("@home") == {"changes.jsonl": Position(9)}
    assert store.run_ids() == set()


def test_a_forgotten_run_leaves_nothing(store: Store) -> None:
    windows = [at(n, {("a_x", ""): n, ("proc_rss", "7@9"): n}) for n in range(700)]
    events = [Event(timestamp=1.0, type="signal")]
    store.append(batch(windows=windows, events=events, until={"usage.jsonl": Position(10)}))
    store.append(batch(make_run("other"), windows=windows[:5]))
    store.forget(RUN_ID)
    assert store.run_ids() == {"other"}
    assert (store.series(RUN_ID), store.events(RUN_ID), store.processes(RUN_ID)) == ([], [], [])
    assert store.positions(RUN_ID) == {}
    assert store.append(batch(windows=windows[:1], since={"usage.jsonl": Position(0)}))
    assert [list(series.values) for series in store.series("other")] == [[0, 1, 2, 3, 4]]


def test_events_come_back_in_order(store: Store) -> None:
    first = Event(timestamp=5.0, type="oom_kill", details={"victim": "cc1plus"}, measurements={"a_x": 1.5})
    second = Event(timestamp=4.0, type="caf\udce9", config={"batch": 8})
    store.append(batch(events=[first]))
    store.append(batch(events=[second]))
    assert store.events(RUN_ID) == [first, second]


def test_values_come_back_bit_for_bit(store: Store) -> None:
    values = [1, 2**53 + 1, 2**63 - 1, -(2**63), 0]
    floats = [0.1, -0.0, math.inf, 1e308, 5e-324]
    windows = [at(n, {("a_int", ""): values[n], ("a_float", ""): floats[n]}) for n in range(5)]
    store.append(batch(windows=windows, final=True))
    whole, fractions = (store.series(RUN_ID, ["a_int"])[0], store.series(RUN_ID, ["a_float"])[0])
    assert list(whole.values) == values
    assert [repr(value) for value in fractions.values] == ["0.1", "-0.0", "inf", "1e+308", "5e-324"]
    assert list(whole.times) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_nan_is_kept_and_counts_for_nothing(store: Store) -> None:
    store.append(
        batch(windows=[at(n, {("a_x", ""): math.nan if n % 2 else float(n)}) for n in range(200)], final=True)
    )
    (series,) = store.series(RUN_ID)
    assert [math.isnan(value) for value in series.values[:4]] == [False, True, False, True]
    found = store.statistics(RUN_ID)["a_x", ""]
    assert (found.n, found.low, found.high, found.total) == (100, 0.0, 198.0, 9900.0)
    assert math.isnan(found.last)


def test_only_counters_have_spans(store: Store) -> None:
    windows = [at(n, {("a_x", ""): n, ("a_y", ""): n}, a=(n - 1.25, float(n))) for n in range(70)]
    store.append(batch(windows=windows, final=True))
    by_key = {series.key: series for series in store.series(RUN_ID, counters={"a_x"})}
    assert list(by_key["a_x"].spans or ()) == [1.25] * 70
    assert by_key["a_y"].spans is None


def test_a_counter_without_a_clock_has_no_spans(store: Store) -> None:
    windows = [at(n, {("a_x", ""): n}, **({} if n == 5 else {"a": (n - 1.0, float(n))})) for n in range(700)]
    store.append(batch(windows=windows))
    (series,) = store.series(RUN_ID, counters={"a_x"})
    assert (len(series.values), series.spans) == (700, None)


def test_a_stretch_of_time_can_be_asked_for(store: Store) -> None:
    store.append(batch(windows=[at(n, {("a_x", ""): n}, a=(n - 1.0, float(n))) for n in range(1500)]))
    (series,) = store.series(RUN_ID, counters={"a_x"}, between=(598.0, 602.0))
    assert list(series.times) == [598.0, 599.0, 600.0, 601.0, 602.0]
    assert list(series.values) == [598, 599, 600, 601, 602]
    assert list(series.spans or ()) == [1.0] * 5
    assert store.series(RUN_ID, between=(9e9, 9e10)) == []


def test_a_clock_that_was_set_back_does_not_turn_a_line_back(store: Store) -> None:
    store.append(batch(windows=[at(t, {("a_x", ""): n}) for n, t in enumerate((10.0, 11.0, 5.0, 12.0))]))
    (series,) = store.series(RUN_ID)
    assert (list(series.times), list(series.values)) == ([10.0, 11.0, 11.0, 12.0], [0, 1, 2, 3])


def test_series_are_machine_words_which_arithmetic_takes_as_they_are(store: Store) -> None:
    store.append(batch(windows=[at(n, {("a_int", ""): n, ("a_float", ""): n / 4}) for n in range(700)]))
    whole, fractions = (store.series(RUN_ID, ["a_int"])[0], store.series(RUN_ID, ["a_float"])[0])
    kinds = [memoryview(words).format for words in (whole.times, whole.values, fractions.values)]  # type: ignore[arg-type]
    assert kinds == ["d", "q", "d"]


def process_window(second: int, *names: str, cpu: float = 0.5, **extra: object) -> Window:
    values: dict[tuple[str, str], object] = {}
    for name in names:
        values |= {("proc_rss", name): 4096 * (second + 1), ("proc_cputime", name): cpu}
        values |= {(key, name): value for key, value in extra.items()}
    return at(float(second), values, proc=(second - 1.0, float(second)))


def test_a_process_row_says_who_when_and_how_much(store: Store) -> None:
    extra = {"proc_cmd": "cc1plus x.cc", "proc_hwm": 9 * 4096, "proc_read_bytes": 10, "proc_write_bytes": 20}
    store.append(
        batch(windows=[process_window(1, "7@9", **extra), process_window(2, "7@9", "rest", cpu=0.25)])
    )
    store.append(batch(windows=[process_window(3, "7@9", "8@3", cpu=0.1)]))
    assert store.processes(RUN_ID) == [
        Process(
            instance="7@9",
            pid=7,
            command="cc1plus x.cc",
            first_seen=1.0,
            last_seen=3.0,
            cpu_seconds=0.85,
            peak_rss_bytes=36864,
            read_bytes=10,
            write_bytes=20,
        ),
        Process(instance="8@3", pid=8, first_seen=3.0, last_seen=3.0, cpu_seconds=0.1, peak_rss_bytes=16384),
    ]


def test_what_two_tools_measured_is_not_added_up(store: Store) -> None:
    values: dict[tuple[str, str], object] = {("proc_cputime", "7@9"): 1.0, ("ps_cputime", "7@9"): 1.0}
    store.append(batch(windows=[at(1, values)]))
    assert store.processes(RUN_ID)[0].cpu_seconds == 1.0


@pytest.mark.parametrize("split_at", [0, 4, 300, 301, 599])
def test_a_process_seen_fewer_than_ten_times_is_a_row_and_no_series(store: Store, split_at: int) -> None:
    # 9 windows of one process and 10 of another, around the edge of a block
    windows = [
        process_window(n, "1@1", *(["9@9"] if 295 < n < 305 else []), *(["10@1"] if 295 < n < 306 else []))
        for n in range(600)
    ]
    store.append(batch(windows=windows[:split_at]))
    store.append(batch(windows=windows[split_at:]))
    store.append(batch(final=True))
    found = {series.instance: series for series in store.series(RUN_ID, ["proc_rss"])}
    assert sorted(found) == ["10@1", "1@1"]
    assert list(found["10@1"].times) == [float(n) for n in range(296, 306)]
    assert list(found["10@1"].values) == [4096 * (n + 1) for n in range(296, 306)]
    assert len(found["1@1"].times) == 600
    assert {process.instance for process in store.processes(RUN_ID)} == {"1@1", "9@9", "10@1"}


def test_a_device_is_a_series_however_seldom_it_was_seen(store: Store) -> None:
    store.append(batch(windows=[at(1, {("nvml_util", "GPU-7"): 55, ("proc_rss", "rest"): 9})], final=True))
    assert [(series.key, series.instance) for series in store.series(RUN_ID)] == [
        ("nvml_util", "GPU-7"),
        ("proc_rss", "rest"),
    ]


@pytest.mark.parametrize("step", [1, 7, 64, 599, 600, 601, 1300])
def test_pieces_of_any_size_give_the_answers_of_the_whole(store: Store, tmp_path: Path, step: int) -> None:
    folder = folders.write_run(tmp_path, seconds=1200 if step > 1 else 130, processes=2)
    run, windows = reader.read_run(folder), list(reader.read_windows(folder))
    for begin in range(0, len(windows), step):
        store.append(batch(run, windows=windows[begin : begin + step]))
    store.append(batch(run, final=True))
    whole = memory.open_store(tmp_path)
    whole.append(batch(run, windows=windows, final=True))
    counters = {key for key, definition in run.definitions.items() if definition.kind is Kind.COUNTER}
    assert store.series(run.run_id, counters=counters) == whole.series(run.run_id, counters=counters)
    assert store.processes(run.run_id) == whole.processes(run.run_id)
    ours, theirs = store.statistics(run.run_id), whole.statistics(run.run_id)
    assert list(ours) == list(theirs)
    for name, found in ours.items():
        expected = theirs[name]
        assert (found.n, found.low, found.high, found.last) == (
            expected.n,
            expected.low,
            expected.high,
            expected.last,
        )
        assert found.total == pytest.approx(expected.total, rel=1e-12)


def test_a_process_keeps_its_rank_and_its_role(store: Store) -> None:
    placed = {"proc_rank": "3", "proc_world_size": "4", "proc_role": "main"}
    store.append(batch(windows=[process_window(1, "7@1", **placed), process_window(1, "8@1")]))
    store.append(batch(windows=[process_window(2, "7@1"), process_window(2, "8@1", proc_role="worker")]))
    first, second = store.processes(RUN_ID)
    assert (first.rank, first.world_size, first.role) == (3, 4, "main")
    assert (second.rank, second.world_size, second.role) == (None, None, "worker")
    assert store.ranks(RUN_ID) == Ranks((3,), 4)


def test_a_rank_that_is_no_number_is_none(store: Store) -> None:
    store.append(batch(windows=[process_window(1, "7@1", proc_rank="x", proc_world_size="4")]))
    assert store.processes(RUN_ID)[0].rank is None
    assert store.ranks(RUN_ID) == Ranks()


def test_the_recorders_of_a_job_are_found_by_its_name(store: Store) -> None:
    for run_id, job_id, started in (("a", "j1", 1.0), ("b", "j2", 2.0), ("c", "j1", 3.0)):
        store.append(batch(dataclasses.replace(make_run(run_id, started_at=started), job_id=job_id)))
    assert (store.of_job("j1"), store.of_job("j")) == (["c", "a"], [])


def test_a_live_run_shows_its_newest_points(store: Store) -> None:
    for second in range(605):
        store.append(batch(windows=[at(float(second), {("a_x", ""): second})]))
        if second in (0, 598, 599, 600, 604):
            (series,) = store.series(RUN_ID)
            assert list(series.values) == list(range(second + 1))


def test_writing_can_be_claimed(store: Store) -> None:
    with store.writing(0.1):
        store.append(batch())
    with store.writing(0.1):
        store.forget(RUN_ID)
    assert store.run_ids() == set()


def report(**changes: object) -> StoredReport:
    known: dict[str, object] = {"rules": "r1", "inputs": "i1", "document": b'{"health":"good"}'}
    return StoredReport(**(known | changes))  # type: ignore[arg-type]


def test_a_report_comes_back_as_it_was(store: Store) -> None:
    store.append(batch())
    assert store.report(RUN_ID) is None
    store.put_report(RUN_ID, report())
    assert store.report(RUN_ID) == report()


def test_a_later_report_takes_the_place_of_the_earlier_one(store: Store) -> None:
    store.append(batch())
    store.put_report(RUN_ID, report())
    store.put_report(RUN_ID, report(rules="r2", inputs="i2", document=b"\x00\xff"))
    assert store.report(RUN_ID) == report(rules="r2", inputs="i2", document=b"\x00\xff")


def test_a_report_outlives_more_bytes_of_its_run_and_goes_with_the_run(store: Store) -> None:
    store.append(batch())
    store.put_report(RUN_ID, report())
    store.append(batch(windows=[at(1, {("a_x", ""): 1})]))
    assert store.report(RUN_ID) == report()
    store.forget(RUN_ID)
    assert store.report(RUN_ID) is None


def test_runs_of_the_same_work_are_found_by_its_key_newest_first(store: Store) -> None:
    for run_id, started, key in (("a", 1.0, "p:train"), ("b", 3.0, "p:train"), ("c", 2.0, "other")):
        store.append(batch(make_run(run_id, started_at=started), job_key=key))
    store.append(batch(make_run("d", started_at=4.0)))
    assert store.of_key("p:train") == ["b", "a"]
    assert [store.of_key("p:train", limit) for limit in (0, 1, 9)] == [[], ["b"], ["b", "a"]]
    assert store.of_key("nobody") == []
    assert store.of_key("") == []


def test_the_key_of_a_run_can_change(store: Store) -> None:
    store.append(batch(job_key="before"))
    store.append(batch(job_key="after"))
    assert (store.of_key("before"), store.of_key("after")) == ([], [RUN_ID])


@pytest.mark.parametrize("count", [5, 700])
def test_names_that_a_database_cannot_hold_are_kept_readable(store: Store, count: int) -> None:
    odd = "a_\0x\udce9"
    run = dataclasses.replace(make_run(), job_id="job\0\ud800")
    windows = [at(n, {(odd, ""): n, ("nvml_util", "GPU\0"): n}, a=(n - 1.0, float(n))) for n in range(count)]
    told = batch(
        run,
        windows=windows,
        events=[Event(timestamp=1.0, type="odd\0")],
        fields={"name": "n\0", "tag.k\0": "v\0"},
        job_key="key\0",
    )
    assert store.append(told)
    assert store.of_job("job\0\ud800") == [RUN_ID]
    assert [(series.key, series.instance, len(series.values)) for series in store.series(RUN_ID)] == [
        ("a_\\x00x\\udce9", "", count),
        ("nvml_util", "GPU\\x00", count),
    ]
    assert [event.type for event in store.events(RUN_ID)] == ["odd\0"]

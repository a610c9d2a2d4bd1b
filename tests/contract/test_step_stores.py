"""What every store must do with the steps of training loops; `memory` is the specification."""

import math
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter import stores
from jobmeter.model.run import Run, Status
from jobmeter.model.steps import Number, Step, StepTable
from jobmeter.stores import Batch, MetricStatistics, Pace, Position, StepStatistics, Store, memory, sqlite
from support import stored

RUN_ID = "20261115T095001Z-7f3a9c"
FILE = "steps.jsonl"


@pytest.fixture(params=sorted(stores.ALL))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with stored.opened(request.param, tmp_path) as opened:
        yield opened


def batch(
    steps: list[Step] | Mapping[str, list[Step]], *, final: bool = False, run_id: str = RUN_ID, **more: object
) -> Batch:
    run = Run(run_id=run_id, job_id=run_id, status=Status.COMPLETED, command=("train",))
    told = {FILE: steps} if isinstance(steps, list) else steps
    return Batch(run=run, final=final, fields={}, steps=told, **more)  # type: ignore[arg-type]


def step(
    number: int, *, at: float | None = 0.0, rank: int = 0, source: str = "sdk", **metrics: Number
) -> Step:
    moment = None if at is None else 1000.0 + number + at
    return Step(timestamp=moment, step=number, rank=rank, source=source, metrics=metrics)


def values(table: StepTable, metric: str) -> list[Number]:
    return list(table.columns[metric].values)


def test_a_run_without_steps_has_no_tables(store: Store) -> None:
    store.append(batch([]))
    assert (store.steps(RUN_ID), store.step_statistics(RUN_ID)) == ([], [])
    assert (store.steps("x"), store.step_statistics("x")) == ([], [])


@pytest.mark.parametrize("count", [1, 63, 64, 4095, 4096, 9000])
def test_steps_come_back_as_columns(store: Store, count: int) -> None:
    store.append(batch([step(n, loss=n / 7, lr=0.001) for n in range(count)], final=True))
    (table,) = store.steps(RUN_ID)
    assert (table.writer, table.source, table.rank, len(table)) == (FILE, "sdk", 0, count)
    assert table.steps == array("q", range(count))
    assert table.timestamps == array("d", (1000.0 + n for n in range(count)))
    assert table.columns["loss"].rows is None
    assert values(table, "loss") == [n / 7 for n in range(count)]
    assert values(table, "lr") == [0.001] * count


def test_rows_can_be_walked_again(store: Store) -> None:
    told = [step(1, loss=1.5), step(2, at=None, loss=1.0, lr=1), step(3)]
    store.append(batch(told))
    (table,) = store.steps(RUN_ID)
    assert list(table.rows()) == told


def test_a_metric_that_is_absent_is_not_nan(store: Store) -> None:
    told = [step(n, loss=math.nan, **({"eval_loss": 0.5} if n % 100 == 0 else {})) for n in range(5000)]
    store.append(batch(told))
    (table,) = store.steps(RUN_ID)
    assert list(table.columns["eval_loss"].rows or ()) == list(range(0, 5000, 100))
    assert values(table, "eval_loss") == [0.5] * 50
    assert table.columns["loss"].rows is None
    assert all(map(math.isnan, values(table, "loss")))


def test_a_metric_that_began_late_names_its_rows_over_blocks(store: Store) -> None:
    store.append(batch([step(n, loss=1.0, **({"late": n} if n >= 4094 else {})) for n in range(8200)]))
    (table,) = store.steps(RUN_ID)
    assert list(table.columns["late"].rows or ()) == list(range(4094, 8200))
    assert values(table, "late") == list(range(4094, 8200))


def test_odd_numbers_come_back_bit_for_bit(store: Store) -> None:
    odd: list[Number] = [2**53 + 1, -(2**63), 2**63 - 1, 2**70 + 1, 10**300, 0]
    floats = [math.inf, -math.inf, -0.0, 5e-324, 1e308, 0.1]
    told = [step(n, whole=odd[n], fraction=floats[n], mixed=2**53 + 1 if n else 0.5) for n in range(6)]
    for final in (False, True):
        store.append(batch([], final=final) if final else batch(told * 50))
        (table,) = store.steps(RUN_ID)
        assert values(table, "whole") == odd * 50
        assert [repr(value) for value in values(table, "fraction")[:6]] == [
            "inf", "-inf", "-0.0", "5e-324", "1e+308", "0.1",
        ]  # fmt: skip
        assert values(table, "mixed")[:2] == [0.5, 9007199254740993]


def test_steps_without_a_time_are_kept(store: Store) -> None:
    store.append(batch({"a": [step(1, at=None, x=1)], "b": [step(1, x=1), step(2, at=None, x=2)]}))
    first, second = store.steps(RUN_ID)
    assert first.timestamps is None
    assert second.timestamps is not None
    assert second.timestamps[0] == 1001.0
    assert math.isnan(second.timestamps[1])


def test_every_writer_source_and_rank_has_a_table_of_its_own(store: Store) -> None:
    store.append(
        batch(
            {
                "steps.pid7.jsonl": [step(1, loss=7)],
                FILE: [step(1, loss=1), step(1, rank=1, loss=2), step(2, source="hf", loss=3)],
            }
        )
    )
    found = [(t.source, t.rank, t.writer, values(t, "loss")) for t in store.steps(RUN_ID)]
    assert found == [
        ("hf", 0, FILE, [3]),
        ("sdk", 0, FILE, [1]),
        ("sdk", 0, "steps.pid7.jsonl", [7]),
        ("sdk", 1, FILE, [2]),
    ]
    assert [t.rank for t in store.steps(RUN_ID, ranks=[1])] == [1]
    assert [t.source for t in store.steps(RUN_ID, sources={"hf"})] == ["hf"]


def test_a_resumed_loop_keeps_both_of_its_lives_in_order(store: Store) -> None:
    told = [step(n, loss=float(n)) for n in (1, 2, 3, 2, 3, 4)]
    store.append(batch(told[:3]))
    store.append(batch(told[3:]))
    (table,) = store.steps(RUN_ID)
    assert list(table.steps) == [1, 2, 3, 2, 3, 4]
    assert store.step_statistics(RUN_ID)[0].last_step == 4


def test_some_metrics_or_a_stretch_of_steps_can_be_asked_for(store: Store) -> None:
    store.append(batch([step(n, loss=n, lr=1, **({"e": 1} if n == 4100 else {})) for n in range(9000)]))
    (table,) = store.steps(RUN_ID, metrics=["loss", "unknown"], between=(4095, 4098))
    assert list(table.steps) == [4095, 4096, 4097, 4098]
    assert list(table.columns) == ["loss"]
    assert values(table, "loss") == [4095, 4096, 4097, 4098]
    (sparse,) = store.steps(RUN_ID, between=(4099, 4101))
    assert list(sparse.columns["e"].rows or ()) == [1]
    assert store.steps(RUN_ID, between=(9001, 9999)) == []


def test_statistics_say_first_last_least_largest_and_how_many_are_finite(store: Store) -> None:
    losses = [3.0, math.nan, 0.5, math.inf, 7.0, math.nan]
    store.append(batch([step(n, loss=value) for n, value in enumerate(losses)]))
    (found,) = store.step_statistics(RUN_ID)
    loss = found.metrics["loss"]
    assert (found.count, found.last_step) == (6, 5)
    assert (loss.n, loss.finite, loss.low, loss.high, loss.first) == (6, 3, 0.5, 7.0, 3.0)
    assert math.isnan(loss.last)


def test_a_metric_that_was_never_finite_has_no_bounds(store: Store) -> None:
    store.append(batch([step(n, loss=math.nan) for n in range(5000)], final=True))
    found = store.step_statistics(RUN_ID)[0].metrics["loss"]
    assert (found.n, found.finite) == (5000, 0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_the_pace_counts_only_what_went_forward(store: Store) -> None:
    # ten steps in ten seconds, an hour of nothing, five steps again that took five seconds
    first = [Step(timestamp=100.0 + n, step=n, rank=0, source="sdk", metrics={}) for n in range(11)]
    again = [Step(timestamp=3710.0 + n, step=5 + n, rank=0, source="sdk", metrics={}) for n in range(6)]
    store.append(batch([*first, *again]))
    assert store.step_statistics(RUN_ID)[0].pace == Pace(100.0, 0, 3715.0, 10, 15, 15.0)


@pytest.mark.parametrize("piece", [1, 63, 1000, 4096, 5000])
def test_pieces_of_any_size_give_the_answers_of_the_whole(store: Store, tmp_path: Path, piece: int) -> None:
    count = 200 if piece == 1 else 9000
    told = [
        step(n if n < count // 2 else n - 50, at=None if n % 97 == 0 else n / 8, loss=1 / (n + 1), n=n,
             **({"big": 2**60 + n} if n % 10 == 0 else {}))
        for n in range(count)
    ]  # fmt: skip
    for begin in range(0, count, piece):
        store.append(batch(told[begin : begin + piece]))
    store.append(batch([], final=True))
    whole = memory.open_store(tmp_path)
    whole.append(batch(told, final=True))
    ours, theirs = store.steps(RUN_ID)[0], whole.steps(RUN_ID)[0]
    assert [list(ours.rows())] == [list(theirs.rows())]
    assert ours.columns == theirs.columns
    found, expected = store.step_statistics(RUN_ID), whole.step_statistics(RUN_ID)
    assert found[0].metrics == expected[0].metrics
    assert (found[0].count, found[0].last_step) == (expected[0].count, expected[0].last_step)
    assert found[0].pace == pytest.approx(expected[0].pace)


def test_steps_are_added_exactly_once(store: Store) -> None:
    one = batch([step(1, loss=1)], since={FILE: Position(0)}, until={FILE: Position(10, 0, '{"a": 1}')})
    assert store.append(one)
    assert not store.append(one)
    assert store.positions(RUN_ID) == {FILE: Position(10, 0, '{"a": 1}')}
    again = batch([step(2, loss=2)], since={FILE: Position(10, 0, '{"a": 1}')}, until={FILE: Position(20)})
    assert store.append(again)
    assert values(store.steps(RUN_ID)[0], "loss") == [1, 2]


def test_a_forgotten_run_leaves_no_steps(store: Store) -> None:
    told = [step(n, loss=n) for n in range(5000)]
    store.append(batch(told))
    store.append(batch(told[:3], run_id="other"))
    store.forget(RUN_ID)
    assert (store.steps(RUN_ID), store.step_statistics(RUN_ID)) == ([], [])
    assert [len(table) for table in store.steps("other")] == [3]
    store.append(batch(told[:1]))
    assert [len(table) for table in store.steps(RUN_ID)] == [1]


def test_names_that_are_no_unicode_are_kept_readable(store: Store) -> None:
    store.append(batch({"caf\udce9": [step(1, **{"\udcff\x00": 1})]}))
    (table,) = store.steps(RUN_ID)
    assert (table.writer, list(table.columns)) == ("caf\\udce9", ["\\udcff\\x00"])


def test_a_loop_with_thousands_of_metrics_is_kept(store: Store) -> None:
    told = [step(n, **{f"layer{m}": n * m for m in range(3000)}) for n in range(120)]
    store.append(batch(told))
    (table,) = store.steps(RUN_ID, metrics=["layer2999"])
    assert values(table, "layer2999") == [n * 2999 for n in range(120)]


_NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.sampled_from([0.25, 1e-3, 17])
)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), _NUMBERS), max_size=80), st.integers(1, 30))
def test_whatever_is_logged_both_back_ends_agree(
    tmp_path_factory: pytest.TempPathFactory, logged: list[dict[str, Number]], piece: int
) -> None:
    told = [Step(timestamp=None, step=n, rank=0, source="x", metrics=row) for n, row in enumerate(logged)]
    plain, packed = memory.MemoryStore(), sqlite.open_store(tmp_path_factory.mktemp("s") / "index.db")
    for begin in range(0, len(told), piece):
        for one in (plain, packed):
            one.append(batch(told[begin : begin + piece]))
    for one in (plain, packed):
        one.append(batch([], final=True))
    assert packed.steps(RUN_ID) == plain.steps(RUN_ID)
    packed.close()


def test_a_summary_can_be_written_out() -> None:
    plain = memory.MemoryStore()
    plain.append(batch([step(4, loss=2.0)]))
    assert plain.step_statistics(RUN_ID) == [
        StepStatistics(
            writer=FILE, source="sdk", rank=0, count=1, last_step=4,
            pace=Pace(1004.0, 4, 1004.0, 4, 0, 0.0),
            metrics={"loss": MetricStatistics(1, 1, 2.0, 2.0, 2.0, 2.0)},
        )
    ]  # fmt: skip

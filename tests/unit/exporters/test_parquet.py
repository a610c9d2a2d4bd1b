"""A run as Parquet, read back with pyarrow: nothing is lost on the way."""

import io
import json
import math

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobmeter.exporters import parquet
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Run, Status
from jobmeter.model.view import RunView, Step, Window
from support.views import steps

RSS = Measurement(
    "ps_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS, (Reduce.MAX,), (Stat.PEAK,), "resident memory"
)
RUN = Run(run_id="r-1", job_id="j-1", status=Status.COMPLETED, command=("make",), definitions={"ps_rss": RSS})
AT = 1794736201.123456


def window(moment: float, **values: object) -> Window:
    named = {("ps_" + key, "7@1"): value for key, value in values.items()}
    return Window(timestamp=moment, num_samples=1, clock={}, values=named)  # type: ignore[arg-type]


def table(part: str, windows: list[Window], *told: Step) -> pa.Table:
    view = RunView(run=RUN, series={}, steps=steps(*told))
    return pq.read_table(io.BytesIO(b"".join(parquet.render(view, windows, prefix="")[part])))


def test_every_value_of_a_window_comes_back_as_it_was() -> None:
    found = table(
        "usage.parquet",
        [
            window(
                AT, rss=4096, pdcpu=97.5, load=math.nan, top=math.inf, cmd="a \ud800 b", stat={"R": 3, "S": 1}
            ),
            window(AT + 1, huge=2**63 + 1, vast=10**400, exact=2**53),
        ],
    )
    rows = [tuple(row.values()) for row in found.drop(["t", "instance"]).to_pylist()]
    assert str(rows) == str(
        [
            ("ps_rss", None, 4096.0, None),
            ("ps_pdcpu", None, 97.5, None),
            ("ps_load", None, math.nan, None),
            ("ps_top", None, math.inf, None),
            ("ps_cmd", None, None, "a \\ud800 b"),
            ("ps_stat", "R", 3.0, None),
            ("ps_stat", "S", 1.0, None),
            ("ps_huge", None, float(2**63), str(2**63 + 1)),
            ("ps_vast", None, None, str(10**400)),
            ("ps_exact", None, float(2**53), None),
        ]
    )
    assert found["instance"].unique().to_pylist() == ["7@1"]
    assert found["t"][0].value == 1794736201123456
    assert found.schema.field("t").type == pa.timestamp("us", "UTC")


def test_steps_come_back_with_gaps_ranks_and_numbers_that_are_none() -> None:
    found = table(
        "steps.parquet",
        [],
        Step(timestamp=AT, step=1, rank=0, source="sdk", metrics={"loss": 0.5, "tokens": 2**60 + 1}),
        Step(timestamp=None, step=2, rank=0, source="sdk", metrics={"loss": math.nan}),
        Step(timestamp=AT, step=1, rank=3, source="sdk", metrics={"loss": 0.25}),
    )
    rows = [(r["step"], r["rank"], r["metric"], r["value"], r["text"]) for r in found.to_pylist()]
    assert sorted(map(str, rows)) == sorted(
        map(
            str,
            [
                (1, 0, "loss", 0.5, None),
                (2, 0, "loss", math.nan, None),
                (1, 0, "tokens", float(2**60), str(2**60 + 1)),
                (1, 3, "loss", 0.25, None),
            ],
        )
    )
    undated = found.filter(pa.compute.equal(found["step"], 2))
    assert undated["t"].to_pylist() == [None]


def test_a_run_without_steps_has_no_table_of_them() -> None:
    assert list(parquet.render(RunView(run=RUN, series={}), [], prefix="")) == ["usage.parquet"]


def test_the_definitions_of_the_keys_travel_with_the_table() -> None:
    about = json.loads(table("usage.parquet", []).schema.metadata[b"jobmeter"])
    assert about["run_id"] == "r-1"
    assert about["measurements"] == [RSS.as_record()]


def test_a_long_run_is_written_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 100)
    windows = [window(AT + second, rss=second) for second in range(250)]
    view = RunView(run=RUN, series={})
    pieces = list(parquet.render(view, windows, prefix="")["usage.parquet"])
    assert len(pieces) == 4
    file = pq.ParquetFile(io.BytesIO(b"".join(pieces)))
    assert file.num_row_groups == 3
    assert file.read()["value"].to_pylist() == [float(second) for second in range(250)]

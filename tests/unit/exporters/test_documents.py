"""The documents of `export`: a long table that runs no formula, and JSON with only what was measured."""

import csv
import io
import json
import math
from array import array
from dataclasses import replace

import pytest

from jobmeter import exporters
from jobmeter.exporters import csv as csv_exporter
from jobmeter.exporters import json as json_exporter
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Event, RunView, Series, Step, Window
from support.views import steps

RSS = Measurement("ps_rss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK,), "sum")

VIEW = RunView(
    run=Run(
        run_id="20261115T095001Z-7f3a9c",
        job_id="20261115T095001Z-7f3a9c",
        status=Status.FAILED,
        command=("cat", "=1+1"),
        exit_code=1,
        started_at=1.5,
        definitions={"ps_rss_total": RSS},
        summary={"ps_peak_rss_total": 8192},
    ),
    series={
        ("ps_rss_total", ""): Series(key="ps_rss_total", instance="", times=(2.0, 3.0), values=(1.0, 2.0))
    },
    events=(Event(timestamp=2.5, type="oom_kill", details={"pid": 7}),),
    steps=steps(
        Step(timestamp=3.0, step=10, rank=0, source="log", metrics={"loss": 0.25}),
        Step(timestamp=None, step=11, rank=0, source="log", metrics={"loss": math.nan}),
    ),
)

WINDOW = Window(
    timestamp=2.0,
    num_samples=1,
    clock={},
    values={
        ("ps_rss_total", ""): 8192,
        ("ps_cmd", "7"): "=cmd|' /C calc'!A0",
        ("ps_cmd", "8"): "ends, here",
        ("ps_stat", "7"): {"S": 9, "R": 1},
        ("host_swing", ""): -1.5,
    },
)


def table(*windows: Window) -> list[list[str]]:
    text = b"".join(csv_exporter.render(VIEW, windows, prefix="")[""]).decode()
    return list(csv.reader(io.StringIO(text)))


def document() -> dict[str, object]:
    found: dict[str, object] = json.loads(b"".join(json_exporter.render(VIEW, (), prefix="")[""]))
    return found


def test_the_table_is_long_and_begins_with_its_columns() -> None:
    rows = table(WINDOW)
    assert rows[0] == ["timestamp", "key", "instance", "value", "step", "source"]
    assert rows[1] == ["1970-01-01T00:00:02.000Z", "ps_rss_total", "", "8192", "", ""]
    assert rows[4] == ["1970-01-01T00:00:02.000Z", "ps_stat", "7", "S:9 R:1", "", ""]
    assert rows[6] == ["1970-01-01T00:00:03.000Z", "step_loss", "0", "0.25", "10", "log"]
    assert rows[7] == ["", "step_loss", "0", "nan", "11", "log"]
    assert len(rows) == 8


def test_text_that_a_spreadsheet_would_run_is_quoted_and_numbers_are_not() -> None:
    values = [row[3] for row in table(WINDOW)]
    assert "'=cmd|' /C calc'!A0" in values
    assert "ends, here" in values
    assert "-1.5" in values


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_every_way_to_begin_a_formula_is_defused(start: str) -> None:
    assert csv_exporter.safe(f"{start}1") == f"'{start}1"
    assert csv_exporter.safe("a" + start) == "a" + start


def test_a_long_table_comes_in_pieces() -> None:
    pieces = list(csv_exporter.render(VIEW, [WINDOW] * 1000, prefix="")[""])
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 20_000


def test_a_command_of_any_bytes_can_be_tabled() -> None:
    odd = Window(timestamp=2.0, num_samples=1, clock={}, values={("ps_cmd", "7"): "cat \udcff"})
    assert table(odd)[1][3] == "cat \\udcff"


def test_the_document_holds_the_run_its_definitions_and_every_series() -> None:
    found = document()
    assert found["run"] == {
        "run_id": "20261115T095001Z-7f3a9c",
        "job_id": "20261115T095001Z-7f3a9c",
        "status": "failed",
        "command": ["cat", "=1+1"],
        "exit_code": 1,
        "summary": {"ps_peak_rss_total": 8192},
        "provenance": {"origin": "jobmeter"},
        "started_at": "1970-01-01T00:00:01.500Z",
    }
    assert found["measurements"] == [RSS.as_record()]
    assert found["series"] == [
        {"key": "ps_rss_total", "instance": "", "times": [2.0, 3.0], "values": [1.0, 2.0]}
    ]
    assert found["events"] == [
        {"timestamp": "1970-01-01T00:00:02.500Z", "type": "oom_kill", "details": {"pid": 7}}
    ]
    assert found["steps"] == [
        {
            "timestamp": "1970-01-01T00:00:03.000Z",
            "step": 10,
            "rank": 0,
            "source": "log",
            "metrics": {"loss": 0.25},
        },
        {"step": 11, "rank": 0, "source": "log", "metrics": {"loss": "NaN"}},
    ]


def test_series_held_as_machine_words_are_numbers_in_the_document() -> None:
    words = Series(key="k", instance="", times=array("d", (2.0, 3.0)), values=array("q", (1, 2**40)))
    document = json.loads(
        b"".join(json_exporter.render(replace(VIEW, series={("k", ""): words}), (), prefix="x")[""])
    )
    assert document["series"] == [{"key": "k", "instance": "", "times": [2.0, 3.0], "values": [1, 2**40]}]


def test_a_run_of_any_bytes_can_be_written_as_a_document() -> None:
    odd = RunView(run=replace(VIEW.run, command=("cat", "\udcff")), series={})
    text = b"".join(json_exporter.render(odd, (), prefix="")[""])
    assert json.loads(text)["run"]["command"] == ["cat", "\udcff"]


@pytest.mark.parametrize("name", exporters.ALL)
def test_every_registered_exporter_renders_bytes(name: str) -> None:
    parts = exporters.load(name).render(VIEW, [WINDOW], prefix="p_")
    assert parts
    for pieces in parts.values():
        assert b"".join(pieces).endswith(b"PAR1" if name == "parquet" else b"\n")

import math

import pytest

from jobmeter.model.steps import Step
from jobmeter.runfolder import lines


def one(line: bytes) -> dict[tuple[str, str], object] | None:
    reader = lines.WindowReader()
    windows = reader.read([line])
    assert reader.bad == (0 if windows else 1)
    return dict(windows[0].values) if windows else None


def test_a_window_keeps_numbers_instances_labels_and_tallies() -> None:
    text = (
        b'{"timestamp":"2026-11-15T09:50:02.123Z","num_samples":10,"clock":{"proc":[1.5,11.5]},'
        b'"measurements":{"wait_cputime":3.981,"proc_rss":{"7@9":4096,"rest":1},'
        b'"proc_state":{"7@9":{"S":9,"R":1}},"proc_cmd":{"7@9":"make -j4"}}}'
    )
    (window,) = lines.WindowReader().read([text])
    assert window.timestamp == 1794736202.123
    assert window.num_samples == 10
    assert window.clock == {"proc": (1.5, 11.5)}
    assert window.values == {
        ("wait_cputime", ""): 3.981,
        ("proc_rss", "7@9"): 4096,
        ("proc_rss", "rest"): 1,
        ("proc_state", "7@9"): {"S": 9, "R": 1},
        ("proc_cmd", "7@9"): "make -j4",
    }


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"{",
        b"[]",
        b"null",
        b'{"timestamp":1}',
        b'{"measurements":{}}',
        b"\x00" * 40,
        b'{"a":' * 3000,
    ],
)
def test_a_line_that_is_no_window_is_counted(line: bytes) -> None:
    assert one(line) is None


def test_an_empty_line_is_nothing() -> None:
    reader = lines.WindowReader()
    assert reader.read([b"", b"  "]) == []
    assert reader.bad == 0


def test_null_and_true_are_no_measurements() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","measurements":{"a_b":null,"a_c":true,"a_d":1,"a_e":{"x":null,"y":2}}}'
    assert one(line) == {("a_d", ""): 1, ("a_e", "y"): 2}


def test_unknown_fields_of_a_newer_schema_do_no_harm() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","flavour":{"x":[1]},"measurements":{"a_b":1}}'
    assert one(line) == {("a_b", ""): 1}


def test_bytes_that_are_not_utf8_survive() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","measurements":{"proc_cmd":{"7@9":"caf\xe9"}}}'
    values = one(line)
    assert values == {("proc_cmd", "7@9"): "caf\udce9"}
    assert str(values["proc_cmd", "7@9"]).encode("utf-8", "surrogateescape") == b"caf\xe9"


def test_a_lone_surrogate_as_the_recorder_writes_it_survives() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","measurements":{"proc_cmd":{"7@9":"caf\\udce9"}}}'
    assert one(line) == {("proc_cmd", "7@9"): "caf\udce9"}


def test_numbers_json_has_no_word_for_are_kept() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","measurements":{"a_b":NaN,"a_c":Infinity,"a_d":9007199254740993}}'
    values = one(line)
    assert values is not None
    assert math.isnan(float(str(values["a_b", ""])))
    assert values["a_c", ""] == math.inf
    assert values["a_d", ""] == 9007199254740993


def test_a_crooked_clock_costs_the_clock_and_not_the_window() -> None:
    line = b'{"timestamp":"2026-11-15T09:50:02Z","clock":{"proc":[1],"wait":[1,2]},"measurements":{"a_b":1}}'
    (window,) = lines.WindowReader().read([line])
    assert window.clock == {"wait": (1.0, 2.0)}


def test_a_time_without_a_zone_is_utc() -> None:
    assert lines.moment("2026-11-15T09:50:02") == 1794736202.0
    assert lines.moment("yesterday") is None
    assert lines.moment(5) is None


def test_an_event_keeps_its_details() -> None:
    event = lines.event(
        b'{"timestamp":"2026-11-15T09:50:02Z","type":"oom_kill","details":{"n":1},"measurements":{"a_b":2}}'
    )
    assert event is not None
    assert (event.type, event.details, event.measurements) == ("oom_kill", {"n": 1}, {"a_b": 2})
    assert lines.event(b'{"type":"oom_kill"}') is None


def test_a_step_keeps_its_numbers() -> None:
    step = lines.step(
        b'{"timestamp":"2026-11-15T09:50:02Z","step":7,"rank":1,"source":"log","metrics":{"loss":2,"x":"y"}}'
    )
    assert step is not None
    assert (step.step, step.rank, step.source, step.metrics) == (7, 1, "log", {"loss": 2.0})
    assert lines.step(b'{"timestamp":"2026-11-15T09:50:02Z","metrics":{}}') is None


def test_a_step_keeps_whole_numbers_whole_and_what_is_not_finite() -> None:
    step = lines.step(
        b'{"step":1,"metrics":{"a":9007199254740993,"b":18446744073709551617,"c":1e308,'
        b'"d":"NaN","e":"Infinity","f":"-Infinity","g":true,"h":null,"i":[1],"j":"0.5"}}'
    )
    assert step is not None
    assert {name: repr(value) for name, value in step.metrics.items()} == {
        "a": "9007199254740993",
        "b": "18446744073709551617",
        "c": "1e+308",
        "d": "nan",
        "e": "inf",
        "f": "-inf",
    }


def test_a_step_needs_no_time() -> None:
    step = lines.step(b'{"step":1,"metrics":{"loss":0.5}}')
    assert step == Step(timestamp=None, step=1, rank=0, source="", metrics={"loss": 0.5})
    assert lines.step(b'{"step":1,"timestamp":"yesterday","metrics":{"loss":0.5}}') == step


@pytest.mark.parametrize(
    "line",
    [
        b'{"step":99999999999999999999,"metrics":{"loss":1}}',
        b'{"step":1.5,"metrics":{"loss":1}}',
        b'{"step":"7","metrics":{"loss":1}}',
        b'{"step":1,"rank":99999999999999999999,"metrics":{"loss":1}}',
        b"[1]",
        b"garbage",
        b"",
    ],
)
def test_what_is_no_step_is_none(line: bytes) -> None:
    assert lines.step(line) is None


def test_a_whole_number_beyond_every_float_is_refused() -> None:
    step = lines.step(b'{"step":1,"metrics":{"huge":1' + b"0" * 400 + b',"loss":1}}')
    assert step is not None
    assert step.metrics == {"loss": 1}


def test_an_event_may_name_its_rank() -> None:
    event = lines.event(b'{"timestamp":"2026-11-15T09:50:02Z","type":"x","rank":3}')
    assert event is not None
    assert event.rank == 3


def test_whole_numbers_beyond_every_float_are_told_as_text() -> None:
    digits = b"1" + b"0" * 400
    found = lines.record(b'{"n":' + digits + b',"deep":{"list":[-' + digits + b",7,1.5]}}")
    assert found == {"n": digits.decode(), "deep": {"list": ["-" + digits.decode(), 7, 1.5]}}
    assert lines.record(b'{"n":NaN,"huge":' + digits + b"}") is not None

"""Definitions: what is legal, how they travel, what names of statistics they give."""

import pytest

from jobmeter import collectors
from jobmeter.model import measurement
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit

RSS = Measurement(
    "proc_rss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK,), "resident"
)


def changed(**changes: object) -> Measurement:
    parts: dict[str, object] = {
        "key": "proc_rss_total",
        "kind": Kind.GAUGE,
        "unit": Unit.BYTES,
        "scope": Scope.JOB,
        "reduce": (Reduce.MAX,),
        "summary": (Stat.PEAK,),
        "about": "resident",
    }
    return Measurement(**(parts | changes))  # type: ignore[arg-type]


def test_a_definition_travels_and_comes_back() -> None:
    record = {
        "key": "proc_rss_total",
        "kind": "gauge",
        "unit": "bytes",
        "scope": "job",
        "reduce": ["max"],
        "summary": ["peak"],
        "about": "resident",
    }
    assert RSS.as_record() == record
    assert measurement.from_record(record) == RSS
    assert hash(RSS) == hash(measurement.from_record(record))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "quantile"},
        {"unit": "bogomips"},
        {"scope": "galaxy"},
        {"reduce": ["median"]},
        {"summary": ["mode"]},
        {"reduce": "max"},
        {"summary": None},
        {"kind": None},
    ],
)
def test_a_definition_in_words_unknown_here_is_left_to_newer_readers(change: dict[str, object]) -> None:
    assert measurement.from_record(RSS.as_record() | change) is None


def test_a_definition_without_a_part_is_none() -> None:
    record = RSS.as_record()
    del record["key"]
    assert measurement.from_record(record) is None


def test_a_definition_without_its_meaning_is_still_one() -> None:
    record = RSS.as_record()
    del record["about"]
    assert measurement.from_record(record) == changed(about="")


def test_the_statistic_stands_after_the_tool() -> None:
    assert RSS.tool == "proc"
    assert RSS.stat_key("peak") == "proc_peak_rss_total"
    assert repr(RSS) == "Measurement('proc_rss_total', gauge, bytes, job)"


def test_definitions_that_differ_in_anything_are_not_equal() -> None:
    assert changed(about="x") != RSS
    assert changed() == RSS
    assert RSS != "proc_rss_total"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"reduce": (Reduce.DELTA,)}, "proc_rss_total: delta is not legal for a gauge"),
        ({"reduce": (Reduce.TALLY,)}, "proc_rss_total: tally is not legal for a gauge"),
        ({"kind": Kind.COUNTER}, "proc_rss_total: max is not legal for a counter"),
        ({"kind": Kind.LABEL}, "proc_rss_total: max is not legal for a label"),
        ({"kind": Kind.CATEGORICAL}, "proc_rss_total: max is not legal for a categorical"),
        ({"reduce": ()}, "proc_rss_total: no reduce"),
        ({"key": "foo_rss"}, "foo_rss: unknown tool foo"),
        ({"key": "proc_RSS"}, "proc_RSS: not lower-case words joined by _"),
        ({"key": "proc__rss"}, "proc__rss: not lower-case words joined by _"),
        ({"about": ""}, "proc_rss_total: no meaning given"),
    ],
)
def test_what_is_wrong_with_a_definition_is_said(change: dict[str, object], problem: str) -> None:
    assert measurement.problems([changed(**change)]) == [problem]


def test_a_key_is_defined_once() -> None:
    assert measurement.problems([RSS, RSS]) == ["proc_rss_total: defined twice"]


def test_every_definition_of_ours_is_legal() -> None:
    everything = [m for name in collectors.ALL for m in collectors.load(name).MEASUREMENTS]
    assert len(everything) > 50
    assert measurement.problems(everything) == []

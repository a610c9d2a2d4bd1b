"""The filter language: what matches, what is refused and where, and that no text can break it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmeter.errors import UsageError
from jobmeter.model.quantities import Moment
from jobmeter.model.query import All, Compare, Either, Field, Filter, Not, Op, Word
from jobmeter.service import comparisons, fields, filters

pytestmark = pytest.mark.usefixtures("utc")

NOW = 1_793_536_200.0  # 2026-11-01T12:30:00Z

RUN: dict[str, object] = {
    "command": "python train.py --lr 0.1",
    "name": "Nightly",
    "status": "failed",
    "exit_code": 137,
    "signal": "SIGKILL",
    "started": NOW - 3600,
    "wall": 95.0,
    "memory_peak": 6 * 2**30,
    "memory_limit": 8 * 2**30,
    "proc_peak_rss_total": 5 * 2**30,
    "tag.exp": "baseline",
    "tag.batch": "32",
}


def matches(text: str) -> bool:
    return filters.parse(text, now=NOW).matches(RUN)


@pytest.mark.parametrize(
    "text",
    [
        "status=failed",
        "status=FAILED",
        "status==failed",
        "status!=completed",
        "exit_code>100",
        "exit_code=137",
        "signal=SIGKILL",
        "signal=kill",
        "name~night",
        "name!~day",
        'name="Nightly"',
        "name='Nightly'",
        "wall>90s",
        "wall>1m",
        "wall<=2min",
        "wall>90",
        "memory_peak>4GiB",
        "memory_peak>70%",
        "memory_peak<80%",
        "proc_peak_rss_total>=5GiB",
        "started>-7d",
        "started>-2h",
        "started<-30min",
        "started>2026-10-31",
        "tag.exp=baseline",
        "tag.exp~base",
        "tag.batch>=32",
        "train",
        "NIGHTLY",
        '"train.py --lr"',
        "train and wall>90s",
        "train wall>90s",
        "status=completed or wall>90s",
        "not status=completed",
        "NOT status=completed AND (wall>2h or exit_code=137)",
        "(((train)))",
        "not not train",
        "not tag.missing=x",
        'tag.exp~""',
    ],
)
def test_the_run_is_found(text: str) -> None:
    assert matches(text)


@pytest.mark.parametrize(
    "text",
    [
        "status=completed",
        "wall>2min",
        "memory_peak>80%",
        "started>-30min",
        "tag.exp=base",
        "tag.batch>100",
        "tag.exp>1",
        "evaluate",
        "proc_peak_rss_total=lots",
        "train and not nightly",
        "wall>2h or exit_code=1",
    ],
)
def test_the_run_is_not_found(text: str) -> None:
    assert not matches(text)


@pytest.mark.parametrize("op", [op.value for op in Op])
def test_a_missing_field_matches_no_comparison(op: str) -> None:
    assert not matches(f"tag.gone{op}7")
    assert not matches(f"wait_cputime{op}1")


def test_a_share_of_an_unknown_limit_matches_nothing() -> None:
    run = {"memory_peak": 10}
    assert not filters.parse("memory_peak>0%", now=NOW).matches(run)
    assert filters.parse("not memory_peak>0%", now=NOW).matches(run)


def test_a_number_differs_from_a_word() -> None:
    assert matches("proc_peak_rss_total!=lots")
    assert matches("proc_peak_rss_total~5368")


@pytest.mark.parametrize(
    ("text", "hit"),
    [("=", True), ("!=", False), ("<", False), ("<=", True), (">", False), (">=", True)],
)
def test_a_day_is_compared_as_a_whole(text: str, hit: bool) -> None:
    assert filters.parse(f"started{text}2026-11-01", now=NOW).matches({"started": 1793530000.0}) is hit


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "an empty filter"),
        ("   ", 4, "an empty filter"),
        ("wall>", 6, "a value is missing after >"),
        ("wall > and", 8, "wall is a span of time"),
        ("wall>90s and", 13, "a field or a word is missing"),
        ("or x", 1, "a field or a word is missing"),
        ("(wall>90s", 10, "a ( is not closed"),
        ("wall>90s)", 9, "a ) without its ("),
        ("wall>90s > 3", 10, "a comparison without a field"),
        ("colour=red", 1, "unknown field colour"),
        ("x y wal>3", 5, "unknown field wal"),
        ("wall>4GiB", 6, "wall is a span of time, 4GiB is a size"),
        ("wall>long", 6, "wall is a span of time"),
        ("wall>50%", 6, "wall is a span of time, 50% is a percentage"),
        ("wall~3", 6, "wall is a span of time"),
        ("exit_code=zero", 11, "exit_code is a number"),
        ("started>soon", 9, "started is a time"),
        ("started~2026-11-01", 9, "started is a time"),
        ("status=fail", 8, "unknown status fail"),
        ("name<x", 6, "name is text and has no order"),
        ("loss<abc", 6, "loss is a number"),
        ("metric.wombats=abc", 16, "metric.wombats is a number"),
        ("loss>=NaN", 7, "NaN is neither above nor below anything"),
        ("gpu_util>high", 10, "high is no number, and only numbers have an order"),
        ("tag.exp<b", 9, "b is no number, and only numbers have an order"),
        ('name="x', 6, "a quote is not closed"),
        ("name='x", 6, "a quote is not closed"),
        ("a ! b", 3, "a ! stands alone"),
        ("not " * 60 + "x", 205, "nested too deep"),
        ("(" * 60, 52, "nested too deep"),
    ],
)
def test_an_error_points_at_its_place(text: str, column: int, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        filters.parse(text, now=NOW)
    sentence, shown, caret = str(caught.value).split("\n")
    assert sentence == f"cannot read the filter at column {column}: {problem}"
    assert shown == f"  {text}"
    assert caret == f"  {' ' * (column - 1)}^"
    assert caught.value.hint


def test_a_mistyped_field_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        filters.parse("memory_pak>1GiB", now=NOW)
    assert caught.value.hint == "did you mean memory_peak?"


def test_control_characters_in_a_filter_do_not_reach_the_terminal() -> None:
    with pytest.raises(UsageError) as caught:
        filters.parse("\x1b[31m wall>", now=NOW)
    assert "\x1b" not in str(caught.value)


def test_brackets_bind_tighter_than_and_and_and_tighter_than_or() -> None:
    a, b, c = Word("a"), Word("b"), Word("c")
    assert filters.parse("a b or c", now=NOW) == Either((All((a, b)), c))
    assert filters.parse("a and (b or c)", now=NOW) == All((a, Either((b, c))))
    assert filters.parse("not a and b", now=NOW) == All((Not(a), b))


def test_a_percentage_of_memory_is_a_share_of_the_limit() -> None:
    assert filters.parse("memory_peak>90%", now=NOW) == Compare(
        Field("memory_peak"), Op.GT, "90%", Moment(90, 90), "memory_limit"
    )


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        found = filters.parse(text, now=NOW)
    except UsageError:
        return
    found.matches(RUN)


@given(
    st.lists(
        st.sampled_from([*"()=<>!~'\"\\ ", "and", "or", "not ", "wall", "name", "tag.x", "3s", "-7d"]),
        max_size=30,
    )
)
def test_no_order_of_tokens_breaks_the_parser(parts: list[str]) -> None:
    test_no_text_breaks_the_parser.hypothesis.inner_test("".join(parts))  # type: ignore[attr-defined]  # set by @given


texts = st.text(alphabet=st.characters(codec=None), max_size=20)


@st.composite
def compares(draw: st.DrawFn) -> Filter:
    field = draw(st.one_of(st.sampled_from(sorted(fields.FIELDS)), texts.map(lambda key: f"tag.{key}x")))
    values = st.one_of(texts, st.sampled_from(["90s", "4GiB", "-7d", "2026-11-01", "failed", "12", "90%"]))
    try:
        return comparisons.compare(field, draw(st.sampled_from(Op)), draw(values), now=NOW)
    except UsageError:
        return Word(draw(texts))


trees: st.SearchStrategy[Filter] = st.recursive(
    st.one_of(compares(), texts.map(Word)),
    lambda part: st.one_of(
        part.map(Not),
        st.lists(part, min_size=2, max_size=4).map(lambda parts: All(tuple(parts))),
        st.lists(part, min_size=2, max_size=4).map(lambda parts: Either(tuple(parts))),
    ),
    max_leaves=12,
)


@given(trees)
def test_a_filter_written_out_is_read_back_the_same(tree: Filter) -> None:
    assert filters.parse(str(tree), now=NOW) == tree


@pytest.mark.parametrize(
    ("text", "found"),
    [("rank=2", True), ("rank=7", False), ("rank!=7", True), ("rank!=2", False), ("rank>2", True)],
)
def test_one_of_several_ranks_is_enough_and_none_may_be_the_unwanted(text: str, found: bool) -> None:
    assert filters.parse(text, now=0.0).matches({"rank": [0, 2, 3]}) is found

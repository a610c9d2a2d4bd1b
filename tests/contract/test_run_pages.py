"""Which runs a store finds, in what order, and how it counts them; `memory` is the specification."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmeter import stores
from jobmeter.errors import UsageError
from jobmeter.model.query import All, Either, Facet, Field, Filter, Not, Op, Place, RunQuery, Total, Word
from jobmeter.model.run import Run, Status
from jobmeter.service import comparisons, fields, filters
from jobmeter.stores import Batch, Store, StoredReport, memory
from support import stored

NOW = 1_793_536_200.0  # 2026-11-01T12:30:00Z


@pytest.fixture(params=sorted(stores.ALL))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with stored.opened(request.param, tmp_path) as opened:
        yield opened


def add(store: Store, run_id: str, started_at: float | None = None, **known: object) -> None:
    """Add a run with some fields; `a__b` is `a.b`."""
    told = {name.replace("__", "."): value for name, value in known.items()}
    run = Run(run_id=run_id, job_id=run_id, status=Status.COMPLETED, command=("make",), started_at=started_at)
    store.append(Batch(run=run, final=True, fields=told))


def query(text: str | None = None, **changes: object) -> RunQuery:
    where = None if text is None else filters.parse(text, now=NOW)
    return RunQuery(where=where, **changes)  # type: ignore[arg-type]


def found(store: Store, text: str | None = None, **changes: object) -> list[str]:
    return [run.run_id for run in store.page(query(text, **changes)).runs]


def walked(store: Store, asked: RunQuery, size: int) -> list[list[str]]:
    """Read all pages of a query."""
    pages: list[list[str]] = []
    after: Place | None = None
    while True:
        page = store.page(
            RunQuery(where=asked.where, sort=asked.sort, reverse=asked.reverse, limit=size, after=after)
        )
        pages.append([run.run_id for run in page.runs])
        if page.next is None:
            return pages
        after = page.next


def test_an_empty_store_has_one_empty_page(store: Store) -> None:
    page = store.page(query())
    assert (page.runs, page.next, page.total) == ([], None, 0)
    assert store.count(query()) == 0
    assert store.facets(query(), ["project", "tag"]) == {"project": [], "tag": []}
    assert store.totals(query(), ["wall"]) == {"wall": Total(0, 0.0)}
    assert store.values(query(), ["id"]) == []


def test_a_page_shows_briefs_newest_first_and_says_how_many_there_are(store: Store) -> None:
    for number in range(5):
        add(store, f"r{number}", float(number))
    page = store.page(query(limit=2))
    assert page.runs == [store.brief("r4"), store.brief("r3")]
    assert page.total == 5
    assert page.next == Place(value=3.0, started_at=3.0, run_id="r3")


def test_pages_go_on_where_the_last_one_ended_whatever_came_or_went(store: Store) -> None:
    for number in range(6):
        add(store, f"r{number}", float(number))
    first = store.page(query(limit=2))
    assert [run.run_id for run in first.runs] == ["r5", "r4"]
    add(store, "r9", 9.0)
    store.forget("r4")
    second = store.page(query(limit=2, after=first.next))
    assert [run.run_id for run in second.runs] == ["r3", "r2"]
    assert second.total == 6
    last = store.page(query(limit=2, after=second.next))
    assert ([run.run_id for run in last.runs], last.next) == (["r1", "r0"], None)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("sort", ["wall", "name", "started", "config.lr", "id", "cause"])
def test_pages_together_are_the_whole_order(store: Store, sort: str, size: int, reverse: bool) -> None:
    add(store, "a", 5.0, wall=2.0, name="Beta", config__lr=0.1)
    add(store, "b", 5.0, wall=2.0, name="alpha", config__lr="auto")
    add(store, "c", None, wall=7, name="beta")
    add(store, "d", 1.0)
    add(store, "e", None, config__lr=3)
    add(store, "f", 9.0, wall=1.5, name="ALPHA", config__lr=0.1)
    asked = query(sort=Field(sort), reverse=reverse)
    pages = walked(store, asked, size)
    assert [run_id for page in pages for run_id in page] == found(store, sort=Field(sort), reverse=reverse)
    assert all(len(page) == size for page in pages[:-1])


def test_large_comes_first_text_from_a_and_what_has_no_value_last(store: Store) -> None:
    add(store, "a", 1.0, wall=2.0, name="b")
    add(store, "b", 2.0, wall=7, name="A")
    add(store, "c", 3.0)
    add(store, "d", 4.0, wall=2, name="a")
    assert found(store, sort=Field("wall")) == ["b", "d", "a", "c"]
    assert found(store, sort=Field("wall"), reverse=True) == ["d", "a", "b", "c"]
    assert found(store, sort=Field("name")) == ["d", "b", "a", "c"]
    assert found(store, sort=Field("name"), reverse=True) == ["a", "d", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("project=vision", ["a"]),
        ("project!=vision", ["b"]),
        ("not project=vision", ["c", "b"]),
        ("project~IS", ["a"]),
        ("project!~is", ["b"]),
        ("ÄRGER", ["c"]),
        ("wall>2s", ["a"]),
        ("wall=2", ["b"]),
        ("wall!=2", ["a"]),
        ("not wall>2s", ["c", "b"]),
        ("started>2026-10-31", ["a"]),
        ("memory_peak>50%", ["b"]),
        ("tag.team=sound", ["a"]),
        ("tag.team!=sound", ["b"]),
        ("not tag.team=sound", ["c", "b"]),
        ("tag.team~OU", ["a"]),
        ("tag.n>5", ["b"]),
        ("config.lr<0.5", ["a"]),
        ("proc_peak_rss_total>3", ["b"]),
        ("wall>1 and (project=vision or config.lr=1)", ["b", "a"]),
        ("wall>1 and config.lr=1", ["b"]),
        ("cause=oom_cgroup", ["b"]),
        ("id=c", ["c"]),
        ("id~C", ["c"]),
        ("rank=2", ["c"]),
        ("make", ["b"]),
    ],
)
def test_a_filter_finds_what_it_says(store: Store, text: str, expected: list[str]) -> None:
    add(
        store,
        "a",
        NOW - 60,
        project="vision",
        wall=3.5,
        tag__team="sound",
        config__lr=0.1,
        command="x",
    )
    run = Run(
        run_id="b",
        job_id="b",
        status=Status.COMPLETED,
        command=("make",),
        started_at=1.0,
        summary={"proc_peak_rss_total": 4},
    )
    told = {
        "project": "text",
        "wall": 2,
        "memory_peak": 6,
        "memory_limit": 8,
        "tag.team": "text",
        "tag.n": "12",
    }
    store.append(Batch(run=run, final=True, fields=told | {"config.lr": 1, "command": "make"}))
    store.put_report("b", StoredReport(rules="r", inputs="i", document=b"{}", cause="oom_cgroup"))
    add(store, "c", 3.0, name="kein Ärger", rank=[1, 2])
    newest_first = [run_id for run_id in ("a", "c", "b") if run_id in expected]
    assert found(store, text) == newest_first
    assert store.count(query(text)) == len(expected)


def test_facets_count_values_the_frequent_first(store: Store) -> None:
    for number, (project, host) in enumerate([("p", "h1"), ("p", "h2"), ("q", "h2"), (None, "h1")]):
        add(store, f"r{number}", float(number), project=project, host=host, tag__k="v", exit_code=number % 2)
    add(store, "bare", rank=[3, 4], tag__k="w", tag__z="1")
    assert store.facets(query(), ["project", "host", "tag", "exit_code", "rank", "tag.k"]) == {
        "project": [Facet("p", 2), Facet("q", 1)],
        "host": [Facet("h1", 2), Facet("h2", 2)],
        "tag": [Facet("k=v", 4), Facet("k=w", 1), Facet("z=1", 1)],
        "exit_code": [Facet("0", 2), Facet("1", 2)],
        "rank": [Facet("3", 1), Facet("4", 1)],
        "tag.k": [Facet("v", 4), Facet("w", 1)],
    }
    assert store.facets(query("project=p", limit=1), ["host", "tag", "tag.k", "tag.z"]) == {
        "host": [Facet("h1", 1), Facet("h2", 1)],
        "tag": [Facet("k=v", 2)],
        "tag.k": [Facet("v", 2)],
        "tag.z": [],
    }
    assert store.facets(query(), ["project"], least=2) == {"project": [Facet("p", 2)]}
    assert store.facets(query(), ["host"], most=1) == {"host": [Facet("h1", 2)]}


def test_numbers_are_added_up_over_all_pages(store: Store) -> None:
    add(store, "a", 1.0, wall=2.5, config__lr=0.5)
    add(store, "b", 2.0, wall=1, project="p")
    add(store, "c", 3.0, project="p")
    assert store.totals(query(limit=1), ["wall"]) == {"wall": Total(2, 3.5)}
    assert store.totals(query("project=p"), ["wall", "energy"]) == {
        "wall": Total(1, 1.0),
        "energy": Total(0, 0.0),
    }
    assert store.totals(query(), ["config.lr"]) == {"config.lr": Total(1, 0.5)}


def test_fields_are_read_in_the_order_of_the_query(store: Store) -> None:
    add(store, "a", 1.0, wall=2.5, config__lr=0.5)
    add(store, "b", 2.0, wall=9, name="n")
    assert store.values(query(sort=Field("wall")), ["id", "wall", "name"]) == [
        ("b", 9, "n"),
        ("a", 2.5, None),
    ]
    assert store.values(query(limit=1), ["config.lr", "id"]) == [(None, "b")]
    assert store.values(query("wall<5"), ["config.lr"]) == [(0.5,)]


def test_a_cause_lasts_until_the_run_is_forgotten_or_analysed_again(store: Store) -> None:
    add(store, "a", 1.0)
    store.put_report("a", StoredReport(rules="r", inputs="i", document=b"{}", cause="timeout"))
    add(store, "a", 1.0, wall=3.0)
    assert found(store, "cause=timeout") == ["a"]
    assert list(store.fields()) == [("a", {"wall": 3.0, "cause": "timeout"})]
    store.put_report("a", StoredReport(rules="r", inputs="j", document=b"{}"))
    assert found(store, "cause=timeout") == []
    store.put_report("a", StoredReport(rules="r", inputs="k", document=b"{}", cause="hang"))
    assert store.report("a") == StoredReport(rules="r", inputs="k", document=b"{}", cause="hang")
    store.forget("a")
    add(store, "a", 1.0)
    assert found(store, "cause=hang") == []


def test_fields_are_kept_as_every_database_can(store: Store) -> None:
    add(
        store,
        "a",
        1.0,
        name="caf\udce9",
        message="a\0b",
        wall=math.inf,
        energy=math.nan,
        samples=2**80,
        cwd=None,
    )
    assert list(store.fields()) == [
        ("a", {"name": "caf\\udce9", "message": "a\\x00b", "samples": float(2**80)})
    ]
    assert found(store, "name~caf\udce9") == ["a"]
    assert found(store, "caf\udce9") == ["a"]


def test_a_place_of_another_kind_of_value_still_parts_an_order(store: Store) -> None:
    add(store, "a", 1.0, name="x", wall=5.0)
    add(store, "b", 2.0)
    number, text = (Place(value=value, started_at=3.0, run_id="z") for value in (7, "m"))
    assert found(store, sort=Field("name"), after=number) == ["a", "b"]
    assert found(store, sort=Field("wall"), after=text) == ["b"]


texts = st.one_of(
    st.sampled_from(["", "p", "P", "vision", "Straße", "İ", "\u212a", "a\\b", "NaN", "12"]),
    st.text(alphabet="aAbß%_\udce9\0", max_size=3),
)
numbers = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -0.0, 1e300, 2**62, 2**70, math.inf]))
columns = {"project": texts, "name": texts, "command": texts, "status": texts, "wall": numbers}
columns |= {"exit_code": numbers, "memory_peak": numbers, "memory_limit": numbers, "steps.count": numbers}
columns |= {
    "tag.k": texts,
    "tag.K2": texts,
    "config.lr": st.one_of(texts, numbers),
    "rank": st.lists(numbers),
}
columns |= {"loss": st.one_of(numbers, st.just("NaN")), "job_id": texts}
summaries = st.fixed_dictionaries({}, optional={"proc_rss": st.integers(0, 3), "host_kernel": texts})


@st.composite
def runs(draw: st.DrawFn) -> list[Batch]:
    made = []
    for number in range(draw(st.integers(0, 7))):
        known = draw(st.fixed_dictionaries({}, optional=columns))
        run = Run(
            run_id=f"{draw(st.sampled_from('aAbB'))}{number}",
            job_id="j",
            status=Status.COMPLETED,
            command=("x",),
            started_at=draw(st.sampled_from([None, 1.0, 2.0])),
            summary=draw(summaries),
        )
        made.append(Batch(run=run, final=True, fields=known))
    return made


@st.composite
def compares(draw: st.DrawFn) -> Filter:
    field = draw(
        st.sampled_from([*columns, "id", "cause", "proc_rss", "host_kernel", "metric.loss", "started"])
    )
    values = st.one_of(texts, st.sampled_from(["-1", "0", "1", "2.5", "50%", "2026-11-01", "completed"]))
    try:
        return comparisons.compare(field, draw(st.sampled_from(Op)), draw(values), now=NOW)
    except UsageError:
        return Word(draw(texts))


trees: st.SearchStrategy[Filter] = st.recursive(
    st.one_of(compares(), texts.map(Word)),
    lambda part: st.one_of(
        part.map(Not),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: Either(tuple(parts))),
    ),
    max_leaves=6,
)
queries = st.builds(
    RunQuery,
    where=st.one_of(st.none(), trees),
    sort=st.sampled_from([*columns, "id", "started", "proc_rss", "cause"]).map(fields.ref),
    reverse=st.booleans(),
    limit=st.one_of(st.none(), st.integers(1, 3)),
)
FACETS = ["project", "tag", "tag.k", "exit_code", "rank", "cause", "host_kernel"]


def test_every_store_answers_as_memory_does(store: Store) -> None:
    @settings(max_examples=60, deadline=None)
    @given(batches=runs(), asked=st.lists(queries, min_size=1, max_size=4))
    def check(batches: list[Batch], asked: list[RunQuery]) -> None:
        for run_id in store.run_ids():
            store.forget(run_id)
        plain = memory.MemoryStore()
        for batch in batches:
            _add_to_both(plain, store, batch)
        for one in asked:
            _ask_both(plain, store, one)

    check()


def _add_to_both(plain: Store, store: Store, batch: Batch) -> None:
    assert plain.append(batch) == store.append(batch)
    if batch.run.started_at:
        report = StoredReport(rules="", inputs="", document=b"", cause=batch.run.run_id.lower())
        plain.put_report(batch.run.run_id, report)
        store.put_report(batch.run.run_id, report)


def _ask_both(plain: Store, store: Store, one: RunQuery) -> None:
    assert store.page(one) == plain.page(one)
    assert walked(store, one, 2) == walked(plain, one, 2)
    assert store.count(one) == plain.count(one)
    assert store.facets(one, FACETS) == plain.facets(one, FACETS)
    assert store.totals(one, ["wall", "exit_code"]) == plain.totals(one, ["wall", "exit_code"])
    assert store.values(one, ["id", "wall"]) == plain.values(one, ["id", "wall"])
    assert store.values(one, ["config.lr", "tag.k"]) == plain.values(one, ["config.lr", "tag.k"])


def test_a_name_longer_than_an_index_takes_is_cut_and_still_found(store: Store) -> None:
    long = "n" * 3000 + "\u00e9" * 3000
    add(store, "a", name=long, project=long, job_id=long, tag__t=long, command=long)
    assert found(store, f"name={long}") == ["a"]
    assert found(store, f"tag.t={long}") == ["a"]
    assert found(store, f"command={long}") == ["a"]
    cut = "n" * 499 + "\u2026"
    facets = store.facets(query(), ["project", "tag"])
    assert facets == {"project": [Facet(cut, 1)], "tag": [Facet(f"t={long}", 1)]}

"""Series and steps as charts ask for them."""

import json
from pathlib import Path

import pytest

from jobmeter.errors import UnknownError, UsageError
from jobmeter.service import by_id, charts
from jobmeter.service.charts import Wanted
from support import folders, served_homes
from support.served_homes import BUILD, TRAINED


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(served_homes.write(tmp_path_factory.mktemp("charts")))


def series(home: str, run_id: str, wanted: Wanted) -> dict[str, object]:
    return by_id.ask(home, run_id, lambda store, run: charts.series(store, run, wanted))


def steps(home: str, run_id: str, wanted: Wanted) -> dict[str, object]:
    return by_id.ask(home, run_id, lambda store, run: charts.steps(store, run, wanted))


def lines(found: dict[str, object]) -> list[dict[str, list[float]]]:
    return found["series"]  # type: ignore[return-value]


def test_without_keys_come_those_of_the_job_and_its_host(home: str) -> None:
    keys = [line["key"] for line in lines(series(home, BUILD, Wanted(points=2)))]
    assert sorted(keys) == sorted(folders.JOB_KEYS)  # type: ignore[type-var]


def test_least_and_largest_are_those_of_the_file(home: str) -> None:
    usage = (folders.folder_of(Path(home), BUILD) / "usage.jsonl").read_text().splitlines()
    values = [
        value
        for line in usage
        if (value := json.loads(line)["measurements"].get("cgroup_mem_current")) is not None
    ]
    for points in (2, 3, 7, 59, 60, 1000):
        (line,) = lines(series(home, BUILD, Wanted(names=("cgroup_mem_current",), points=points)))
        assert (min(line["min"]), max(line["max"]), sum(line["n"])) == (min(values), max(values), 60)
        assert len(line["t"]) <= points
        assert line["last"][-1] == values[-1]


def test_a_part_has_only_its_points(home: str) -> None:
    wanted = Wanted(names=("cgroup_pids",), begin=folders.STARTED + 30)
    (line,) = lines(series(home, BUILD, wanted))
    assert min(line["begin"]) >= folders.STARTED + 30
    (line,) = lines(series(home, BUILD, Wanted(names=("cgroup_pids",), end=folders.STARTED + 30)))
    assert max(line["t"]) <= folders.STARTED + 30


def test_a_metric_is_found_by_the_quantity_it_is(home: str) -> None:
    found = steps(home, TRAINED, Wanted(names=("learning_rate",), ranks=(0,)))
    assert [line["metric"] for line in lines(found)] == ["lr"]


def test_steps_without_names_are_all(home: str) -> None:
    found = steps(home, TRAINED, Wanted(points=2, begin=5.0))
    assert [(line["metric"], line["rank"]) for line in lines(found)] == [
        ("batch_size", 0), ("loss", 0), ("lr", 0), ("batch_size", 1), ("loss", 1), ("lr", 1),
    ]  # fmt: skip
    assert {line["first_step"][0] for line in lines(found)} == {5}


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(points=1),
        Wanted(points=10_001),
        Wanted(names=tuple(map(str, range(51)))),
        Wanted(begin=2.0, end=1.0),
        Wanted(begin=float("nan")),
    ],
)
def test_what_cannot_be_drawn_is_refused(home: str, wanted: Wanted) -> None:
    with pytest.raises(UsageError):
        series(home, BUILD, wanted)


def test_a_series_that_is_not_there_is_unknown(home: str) -> None:
    with pytest.raises(UnknownError, match="has no series nonsense"):
        series(home, BUILD, Wanted(names=("nonsense",)))
    with pytest.raises(UnknownError, match="has no metric nonsense") as caught:
        steps(home, TRAINED, Wanted(names=("nonsense",)))
    assert caught.value.hint == "it has batch_size, loss, lr"
    with pytest.raises(UnknownError) as caught:
        steps(home, BUILD, Wanted(names=("loss",)))
    assert caught.value.hint == "it has none"


def test_what_is_short_is_not_refused_for_the_points_it_might_have(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MOST_VALUES", 2000)
    # 6 lines of 100 steps
    assert len(lines(steps(home, TRAINED, Wanted(points=500)))) == 6


def test_one_process_of_many_can_be_asked_for(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = lines(series(home, TRAINED, Wanted(names=("proc_rss",))))
    instances = [str(line["instance"]) for line in known]
    assert len(instances) > 1
    monkeypatch.setattr(charts, "MOST_VALUES", max(len(line["t"]) for line in known))
    found = lines(series(home, TRAINED, Wanted(names=("proc_rss",), instances=(instances[0],))))
    assert [line["instance"] for line in found] == [instances[0]]


def test_all_lines_of_a_job_are_no_more_than_an_answer_holds(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MOST_VALUES", 20)
    with pytest.raises(UsageError, match="too much for one answer"):
        series(home, BUILD, Wanted())


def test_more_than_an_answer_holds_is_refused_before_it_is_read(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MOST_VALUES", 20)
    with pytest.raises(UsageError, match="too much for one answer"):
        series(home, TRAINED, Wanted(names=("proc_rss",)))
    with pytest.raises(UsageError, match="too much for one answer"):
        steps(home, TRAINED, Wanted())

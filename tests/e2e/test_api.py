"""Runs read back from a script: what was logged is what comes out."""

import math
import sys
from pathlib import Path

import pandas as pd
import pytest

from jobmeter.errors import UsageError
from jobmeter.hooks.api import Api
from support.recorder import Home, wait_for
from support.training import train

LOGGED = """
run = jobmeter.init(project="p", name="n", config={"lr": 0.1}, tags={"k": "v"}, group="g")
run.log({"loss": 2.5, "tokens": 9007199254740993})
run.log({"loss": float("nan")})
run.log({"loss": 1.5, "tokens": 7, "acc": 0.5})
run.summary["best"] = 0.9
run.finish()
print(run.id)
"""


@pytest.fixture
def api(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Give the runs of a home with one training in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    train(home, LOGGED)
    return Api(home.path)


def test_a_run_tells_what_it_was(api: Api, home: Home) -> None:
    (run,) = api.runs()
    (folder,) = home.folders()
    assert (run.id, run.job_id, run.name, run.project, run.group) == (folder.name, folder.name, "n", "p", "g")
    assert (run.state, run.tags, run.config, run.folder) == ("completed", {"k": "v"}, {"lr": 0.1}, folder)
    assert run.summary == {"loss": 1.5, "tokens": 7, "acc": 0.5, "best": 0.9}
    assert run.created_at is not None
    assert repr(run) == f"<run {folder.name} completed>"


def test_its_history_is_rows_of_what_was_logged(api: Api) -> None:
    rows = api.runs()[0].history(pandas=False)
    assert [row["_step"] for row in rows] == [0, 1, 2]
    assert rows[0]["tokens"] == 9007199254740993
    assert math.isnan(rows[1]["loss"])
    assert "tokens" not in rows[1]
    assert {key: rows[2][key] for key in ("loss", "tokens", "acc", "_rank")} == {
        "loss": 1.5,
        "tokens": 7,
        "acc": 0.5,
        "_rank": 0,
    }
    assert rows == [row for row in api.run("last").scan_history() if row is not None] or math.isnan(
        rows[1]["loss"]
    )


def test_its_history_is_a_pandas_table_where_pandas_is(api: Api) -> None:
    table = api.runs()[0].history(["loss", "acc"])
    assert isinstance(table, pd.DataFrame)
    assert list(table["_step"]) == [0, 1, 2]
    assert list(table["loss"].isna()) == [False, True, False]
    assert list(table["acc"])[2] == 0.5
    assert "tokens" not in table


def test_without_pandas_rows_are_dicts_and_asking_for_a_table_says_so(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas is not installed"):
        api.runs()[0].history(pandas=True)


def test_columns_have_one_length(api: Api) -> None:
    columns = api.runs()[0].columns()
    assert {name: len(column) for name, column in columns.items()} == dict.fromkeys(columns, 3)
    assert columns["tokens"][0] == 9007199254740993
    assert [math.isnan(value) for value in columns["tokens"]] == [False, True, False]


def test_runs_are_found_by_project_and_filter(api: Api) -> None:
    assert len(api.runs("p")) == 1
    assert api.runs("q") == []
    assert len(api.runs("p", "status=completed and loss<2")) == 1
    assert api.runs(filters="loss>2") == []
    with pytest.raises(UsageError):
        api.run("nothing")
    with pytest.raises(UsageError, match="no metric perplexity"):
        api.runs()[0].history(["perplexity"])


def test_a_run_without_steps_has_an_empty_history(home: Home, tmp_path: Path, api: Api) -> None:
    finished = home.run("-q", "true")
    assert finished.code == 0
    plain = wait_for(lambda: next((run for run in api.runs() if run.project is None), None))
    assert plain.history(pandas=False) == []
    assert plain.columns() == {}
    assert plain.history().empty


def test_the_steps_of_forked_workers_stand_below_one_another(api: Api, home: Home) -> None:
    text = """
    import os
    run = jobmeter.init(project="forks")
    run.log({"loss": 1.0})
    if not os.fork():
        run.log({"loss": 2.0, "extra": 1}, step=5)
        os._exit(0)
    os.wait()
    """
    train(home, text)
    run = wait_for(lambda: api.runs("forks", "status=completed"))[0]
    assert [(row["_step"], row["loss"]) for row in run.history(pandas=False)] == [(0, 1.0), (5, 2.0)]
    columns = run.columns()
    assert list(columns["_step"]) == [0, 5]
    assert math.isnan(columns["extra"][0])
    assert list(run.history()["loss"]) == [1.0, 2.0]

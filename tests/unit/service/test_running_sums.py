"""A running run is summed up the same, however often it is looked at and whoever remembers."""

from pathlib import Path

import pytest

from jobmeter import stores
from jobmeter.runfolder import liveness
from jobmeter.service import indexing
from jobmeter.service.output_steps import Patience
from jobmeter.service.running_sums import RunningSums
from jobmeter.stores import Statistics, Store
from support import folders

HERE = liveness.Here("another boot", "another host")
NOW = folders.STARTED + 700


def look(store: Store, folder: Path, sums: RunningSums) -> None:
    with store.writing(5.0):
        indexing.Look(HERE, NOW, Patience(60.0), sums).index(store, folder.name, folder)


def growing(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """Write a run without its end and without its windows, which are given apart."""
    folder = folders.write_run(tmp_path / "home", seconds=650, processes=3, ended=False)
    lines = (folder / "usage.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "usage.jsonl").unlink()
    return folder, lines


@pytest.mark.parametrize("forgetful", [False, True], ids=["remembers", "begins anew each time"])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_many_small_looks_sum_up_to_what_one_look_at_all_says(
    tmp_path: Path, kind: str, forgetful: bool
) -> None:
    folder, lines = growing(tmp_path)
    store = stores.load(kind).open_store(tmp_path / "small.db")
    sums = RunningSums()
    for at in range(0, len(lines), 60):
        with (folder / "usage.jsonl").open("ab") as file:
            file.writelines(lines[at : at + 60])
        sums = RunningSums() if forgetful else sums
        look(store, folder, sums)
    whole = stores.load(kind).open_store(tmp_path / "whole.db")
    look(whole, folder, RunningSums())
    small, large = store.run(folder.name), whole.run(folder.name)
    assert small is not None
    assert large is not None
    assert small.summary.keys() == large.summary.keys()
    assert small.summary == pytest.approx(large.summary, rel=1e-12)
    assert "proc_peak_rss_total" in small.summary
    store.close()
    whole.close()


def test_sums_of_another_offset_are_not_believed() -> None:
    class Asked:
        def statistics(self, run_id: str) -> dict[tuple[str, str], Statistics]:
            return {(run_id, ""): Statistics(1, 1, 1, 1, 1)}

    sums = RunningSums(most_runs=1)
    asked: Store = Asked()  # type: ignore[assignment]  # all that is asked of it
    sums.keep("a", 10, {})
    assert sums.at(asked, "a", 10) == {}
    assert sums.at(asked, "a", 9) == {("a", ""): Statistics(1, 1, 1, 1, 1)}
    assert sums.at(asked, "b", 0) == {}
    sums.keep("b", 3, {})
    assert sums.at(asked, "a", 10) == {("a", ""): Statistics(1, 1, 1, 1, 1)}
    sums.forget("b")
    assert sums.at(asked, "b", 3) == {("b", ""): Statistics(1, 1, 1, 1, 1)}

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.service import filters, runs
from support import folders

OLD, NEW = "20261101T000000Z-00000a", "20261130T000000Z-00000b"


@pytest.fixture
def home(tmp_path: Path) -> str:
    """Three runs: old and failed, the usual one, new and lost."""
    folder = tmp_path / "home"
    old: folders.Record = {"status": "failed", "exit_code": 2, "summary": {"wait_cputime": 99.5}}
    folders.write_run(
        folder, run_id=OLD, seconds=5, started=folders.STARTED - 9e5, end=old, start={"name": "Zebra"}
    )
    folders.write_run(folder, seconds=130)
    lost = folders.dead_recorder() | {"name": "apple"}
    folders.write_run(folder, run_id=NEW, seconds=3, started=folders.STARTED + 9e5, start=lost, ended=False)
    return str(folder)


def ids(found: list[runs.Run]) -> list[str]:
    return [run.run_id for run in found]


def test_runs_are_listed_newest_first(home: str) -> None:
    assert ids(runs.list_runs(home)) == [NEW, folders.RUN_ID, OLD]
    assert ids(runs.list_runs(home, limit=1)) == [NEW]
    assert ids(runs.list_runs(home, reverse=True)) == [OLD, folders.RUN_ID, NEW]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status=failed", [OLD]),
        ("wait_cputime>50", [OLD]),
        ("wait_cputime>40", [folders.RUN_ID, OLD]),
        ("status=lost or exit_code=2", [NEW, OLD]),
        ("cpu_seconds<50", [NEW, folders.RUN_ID]),
        ("zebra", [OLD]),
        ("name=nobody", []),
    ],
)
def test_a_filter_chooses(home: str, text: str, expected: list[str]) -> None:
    assert ids(runs.list_runs(home, where=filters.parse(text, now=0.0))) == expected


def test_numbers_sort_from_the_largest_and_text_from_a(home: str) -> None:
    assert ids(runs.list_runs(home, sort="wall")) == [folders.RUN_ID, OLD, NEW]
    assert ids(runs.list_runs(home, sort="wall", reverse=True)) == [OLD, folders.RUN_ID, NEW]
    assert ids(runs.list_runs(home, sort="name")) == [NEW, folders.RUN_ID, OLD]
    assert ids(runs.list_runs(home, sort="wait_cputime", limit=2)) == [OLD, folders.RUN_ID]


def test_many_runs_are_sorted_like_few(tmp_path: Path) -> None:
    made = folders.write_many(tmp_path / "many", 520)
    assert ids(runs.list_runs(str(tmp_path / "many"), sort="id")) == sorted(made)


@pytest.mark.parametrize("ref", [folders.RUN_ID, "20261115", "20261115T095001Z-7"])
def test_a_run_is_found_by_id_or_unique_prefix(home: str, ref: str) -> None:
    run = runs.find(home, ref)
    assert run.run_id == folders.RUN_ID
    assert len(run.definitions) == 34
    assert run.context["environment"] == {"SLURM_JOB_ID": "17"}


def test_last_is_the_newest(home: str) -> None:
    assert runs.find(home, "last").run_id == NEW


def test_a_folder_of_the_home_is_that_run(home: str) -> None:
    assert runs.find(home, str(folders.folder_of(Path(home), OLD))).run_id == OLD
    assert runs.find(home, f"{folders.folder_of(Path(home), OLD)}/").run_id == OLD


def test_a_folder_anywhere_is_a_run(home: str, tmp_path: Path) -> None:
    moved = tmp_path / "sent by a friend"
    folders.folder_of(Path(home), folders.RUN_ID).rename(moved)
    view = runs.view(home, str(moved))
    assert (view.run.run_id, view.run.folder) == (folders.RUN_ID, str(moved))
    assert view.run.headline["cpu_seconds"].value == 45.678901
    assert len(view.series["wait_cputime", ""].times) == 130


@pytest.mark.parametrize(
    ("ref", "sentence", "hint"),
    [
        ("2026", "several runs begin with 2026", f"say more of the id: {NEW}, {folders.RUN_ID}, {OLD}"),
        (
            "nothing",
            "unknown run: nothing",
            f"the newest are {NEW}, {folders.RUN_ID}, {OLD}; see `jobmeter ls`",
        ),
        ("7f3a9c", "unknown run: 7f3a9c", f"did you mean {folders.RUN_ID}?"),
        ("zebr", "unknown run: zebr", f"did you mean {OLD} (Zebra)?"),
        ("", "unknown run: ", f"the newest are {NEW}, {folders.RUN_ID}, {OLD}; see `jobmeter ls`"),
        ("/nowhere", "there is no file or folder /nowhere", "see `jobmeter ls` for runs"),
        (
            "jobs/nothing.log",
            "unknown run: jobs/nothing.log, and there is no file of that name",
            f"the newest are {NEW}, {folders.RUN_ID}, {OLD}; see `jobmeter ls`",
        ),
        (
            "caf\udce9",
            "unknown run: caf\udce9",
            f"the newest are {NEW}, {folders.RUN_ID}, {OLD}; see `jobmeter ls`",
        ),
    ],
)
def test_what_is_not_one_run_is_said_so(home: str, ref: str, sentence: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        runs.find(home, ref)
    assert (str(raised.value), raised.value.hint) == (sentence, hint)


def test_an_empty_home_says_what_to_do(tmp_path: Path) -> None:
    for ref in ("last", "x"):
        with pytest.raises(UsageError) as raised:
            runs.find(str(tmp_path), ref)
        assert raised.value.hint.endswith("jobmeter run -- COMMAND")


def test_a_view_has_everything(home: str) -> None:
    folder = folders.folder_of(Path(home), folders.RUN_ID)
    folders.append(folder / "events.jsonl", {"timestamp": "2026-11-15T09:50:09Z", "type": "signal"})
    folders.append(
        folder / "steps.jsonl", {"timestamp": "2026-11-15T09:50:09Z", "step": 3, "metrics": {"loss": 1}}
    )
    view = runs.view(home, folders.RUN_ID)
    cpu, memory = view.series["wait_cputime", ""], view.series["proc_rss", "4712@98123"]
    assert (len(cpu.times), len(memory.times)) == (130, 13)
    assert cpu.spans is not None
    assert sum(cpu.spans) == pytest.approx(130, abs=0.01)
    assert memory.spans is None
    assert [event.type for event in view.events] == ["signal"]
    assert [process.command for process in view.processes] == [f"cc1plus part{n}.cc" for n in range(3)]
    assert [step.step for step in view.steps] == [3]


def test_a_view_can_be_of_some_keys_or_none(home: str) -> None:
    assert {key for key, _ in runs.view(home, folders.RUN_ID, ["proc_rss"]).series} == {"proc_rss"}
    assert runs.view(home, folders.RUN_ID, ()).series == {}


def test_a_series_is_thinned_and_keeps_its_peak(home: str) -> None:
    whole = runs.view(home, folders.RUN_ID, ["proc_rss_total"]).series["proc_rss_total", ""]
    few = runs.series(home, folders.RUN_ID, "proc_rss_total", points=20)
    assert len(few.times) <= 20
    assert (max(few.values), min(few.values)) == (max(whole.values), min(whole.values))
    part = runs.series(
        home, folders.RUN_ID, "proc_rss_total", between=(folders.STARTED, folders.STARTED + 10.5)
    )
    assert part.values == whole.values[:10]


def test_a_series_that_is_not_there_is_said_so(home: str) -> None:
    with pytest.raises(UsageError) as raised:
        runs.series(home, folders.RUN_ID, "proc_rss")
    assert str(raised.value) == f"run {folders.RUN_ID} has no series proc_rss"
    assert raised.value.hint == "it has 4712@98123, 4713@98130, 4714@98137, rest"

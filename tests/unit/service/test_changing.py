"""What clients of a server change of a run, found by its very id."""

from pathlib import Path

import pytest

from jobmeter.errors import UnknownError, UsageError
from jobmeter.service import by_id, changing, job_apply, runs
from jobmeter.service.changing import Change
from support import folders, served_homes
from support.served_homes import BUILD, FAILED, LIVE, TRAINED


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(served_homes.write(tmp_path / "home"))


def test_everything_can_be_changed_at_once(home: str) -> None:
    wanted = Change(name="best", project="lab", note="hm", tags={"k": None, "team": "vision"})
    run = changing.change(home, BUILD, wanted)
    assert (run.name, run.project, run.notes, run.tags) == ("best", "lab", ("hm",), {"team": "vision"})
    again = runs.find(home, BUILD)
    assert (again.name, again.project, again.notes, again.tags) == (
        "best",
        "lab",
        ("hm",),
        {"team": "vision"},
    )


def test_a_note_is_written_anew_or_taken_away(home: str) -> None:
    for text in ("lr was 3e-5", "to be looked at", "the one to beat"):
        changing.change(home, BUILD, Change(note=text))
    wanted = Change(notes={"lr was 3e-5": "lr was 3e-4", "to be looked at": None}, note="last")
    assert changing.change(home, BUILD, wanted).notes == ("lr was 3e-4", "the one to beat", "last")
    assert runs.find(home, BUILD).notes == ("lr was 3e-4", "the one to beat", "last")


def test_a_note_that_says_something_else_by_now_is_not_written_over(home: str) -> None:
    changing.change(home, BUILD, Change(note="first"))
    changing.change(home, BUILD, Change(notes={"first": "second"}))
    with pytest.raises(UsageError, match="no note says that"):
        changing.change(home, BUILD, Change(name="other", notes={"first": None}))
    assert (runs.find(home, BUILD).notes, runs.find(home, BUILD).name) == (("second",), "nightly")


def test_what_is_not_said_stays(home: str) -> None:
    run = changing.change(home, BUILD, Change(name="other"))
    assert (run.project, run.tags, run.summary["wait_cputime"]) == ("app", {"k": "v"}, 45.678901)


@pytest.mark.parametrize(
    "wanted",
    [
        Change(),
        Change(name=""),
        Change(project="\x1b[2J"),
        Change(note=""),
        Change(note="x" * 10_001),
        Change(notes={"never said": "hm"}),
        Change(notes={"hm": " "}),
        Change(notes={str(number): None for number in range(101)}),
        Change(tags={"": "v"}),
        Change(tags={"k": "a\nb"}),
        Change(tags={str(number): "v" for number in range(101)}),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_written(home: str, wanted: Change) -> None:
    with pytest.raises(UsageError):
        changing.change(home, BUILD, wanted)
    assert not (folders.folder_of(Path(home), BUILD) / "notes.jsonl").exists()


def test_a_run_goes_to_the_bin_and_back(home: str) -> None:
    changing.remove(home, BUILD)
    with pytest.raises(UnknownError):
        by_id.ask(home, BUILD, lambda _, run: run)
    (binned,) = changing.listed(home)
    assert (binned["run_id"], binned["removed_at"] is None) == (BUILD, False)
    assert changing.restore(home, BUILD) == BUILD
    assert by_id.ask(home, BUILD, lambda _, run: run.run_id) == BUILD
    assert changing.listed(home) == []


def test_the_same_run_twice_in_the_bin_is_restored_from_the_later(home: str) -> None:
    changing.remove(home, BUILD)
    folders.write_run(Path(home), seconds=1)
    changing.remove(home, BUILD)
    changing.restore(home, BUILD)
    assert runs.find(home, BUILD).wall_seconds == 1.0
    assert [one["run_id"] for one in changing.listed(home)] == [BUILD]


def test_purging_takes_a_run_and_what_the_bin_has_of_it(home: str) -> None:
    changing.remove(home, BUILD)
    folders.write_run(Path(home), seconds=1)
    kept = changing.listed(home)[0]["disk_bytes"]
    assert isinstance(kept, int)
    assert changing.purge(home, BUILD) >= kept
    assert (changing.listed(home), list(Path(home).rglob(f"*{BUILD}*"))) == ([], [])


@pytest.mark.parametrize("run_id", ["", "..", "../x", "last", "20261115T09", "/etc", "a/b"])
def test_only_whole_ids_are_found(home: str, run_id: str) -> None:
    for act in (changing.remove, changing.restore, changing.purge):
        with pytest.raises(UnknownError):
            act(home, run_id)


def test_a_run_that_goes_on_stays(home: str) -> None:
    for act in (changing.remove, changing.purge):
        with pytest.raises(UsageError, match="is running"):
            act(home, LIVE)
    assert folders.folder_of(Path(home), LIVE).is_dir()


@pytest.mark.parametrize("name", ["aitk-7", TRAINED, "lora"])
def test_a_job_goes_by_its_id_a_run_and_a_name(home: str, name: str) -> None:
    assert by_id.ask_job(home, name, lambda _, run: run.run_id) == TRAINED


@pytest.mark.parametrize("name", ["", "aitk", "../..", "x" * 1000])
def test_a_job_nobody_knows_is_unknown(home: str, name: str) -> None:
    with pytest.raises(UnknownError):
        by_id.ask_job(home, name, lambda _, run: run.run_id)


def apply(home: str, run_id: str, wish: job_apply.Wish) -> dict[str, object]:
    return by_id.ask(home, run_id, lambda store, run: job_apply.changed(store, run, run.job_id, wish))


def test_a_config_without_advice_comes_back_as_it_is(home: str) -> None:
    found = apply(home, TRAINED, job_apply.Wish(only=["num_workers"]))
    assert found["config"] == {"train": {"num_workers": 2, "batch_size": 8}, "lr": 0.001}
    assert (found["applied"], found["diff"]) == ([], "")


@pytest.mark.parametrize(
    ("run_id", "wish", "sentence"),
    [
        (FAILED, job_apply.Wish(), "no config was recorded with"),
        (TRAINED, job_apply.Wish(format="yaml"), "there is a format without a config"),
        (TRAINED, job_apply.Wish(config=" ", format="yaml"), "the config is empty or too long"),
        (TRAINED, job_apply.Wish(config="a: 1"), "the format of the config is not known"),
        (TRAINED, job_apply.Wish(only=["x"] * 51), "51 rules are too many"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(
    home: str, run_id: str, wish: job_apply.Wish, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        apply(home, run_id, wish)

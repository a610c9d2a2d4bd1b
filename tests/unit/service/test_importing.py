"""Importing: what is found, what is refused and why, and that a folder appears whole or not at all."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.imported import Imported
from jobmeter.model.run import Output, Provenance, Run, Status
from jobmeter.model.view import Event, Step, Window
from jobmeter.runfolder import reader
from jobmeter.service import foreign_runs, importing, index

LINE = {
    "timestamp": "2026-01-02T03:04:05.123456+00:00",
    "num_samples": 1,
    "processes": {"7": {"rss": 4096, "stat": {"Ss": 1}, "cmd": "login --password=hunter2hunter2"}},
    "totals": {"rss": 4096},
    "averages": {"rss": 4096, "num_samples": 1},
}


def usage_file(folder: Path, name: str = "a_usage.jsonl", **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(LINE | changes) + "\n")
    return path


def imported(**changes: object) -> Imported:
    run = Run(
        run_id="20260102T030405Z-abcdef",
        job_id="20260102T030405Z-abcdef",
        status=Status.FAILED,
        command=("make", "all"),
        exit_code=2,
        outputs=(Output(stream="stdout", mode="captured", path="stdout"),),
        provenance=Provenance(origin="other", inexact={"x": "why"}, dropped={"usage": 1}),
    )
    facts: dict[str, object] = {"format": "other", "digest": "abcdef" + "0" * 58, "run": run, "sources": ()}
    return Imported(**(facts | changes))  # type: ignore[arg-type]  # keyword by keyword


def test_a_directory_is_searched_through_hidden_folders_but_not_run_folders(tmp_path: Path) -> None:
    usage_file(tmp_path / "work" / ".duct" / "logs")
    usage_file(tmp_path / "work" / "deep" / "er", timestamp="2026-01-02T03:04:06+00:00")
    usage_file(tmp_path / "work" / "runs" / "one", timestamp="2026-01-02T03:04:07+00:00")
    (tmp_path / "work" / "runs" / "one" / "run.jsonl").touch()
    usage_file(tmp_path / "work" / ".git", timestamp="2026-01-02T03:04:08+00:00")
    harvest = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "work")])
    assert [run.run_id[:16] for run in harvest.runs] == ["20260102T030405Z", "20260102T030406Z"]
    assert harvest.skipped == []


def test_a_home_that_an_import_makes_is_private(tmp_path: Path) -> None:
    (run,) = importing.import_paths(str(tmp_path / "new" / "home"), [str(usage_file(tmp_path / "work"))]).runs
    folder = index.folder_of(tmp_path / "new" / "home", run.run_id)
    assert {made.stat().st_mode & 0o777 for made in (folder, *folder.parents[:4])} == {0o700}


def test_secrets_are_cut_out_of_what_others_wrote_down(tmp_path: Path) -> None:
    path = usage_file(tmp_path / "work")
    (run,) = importing.import_paths(str(tmp_path / "home"), [str(path)]).runs
    folder = index.folder_of(tmp_path / "home", run.run_id)
    for file in folder.iterdir():
        assert "hunter2" not in file.read_text()
    assert "login --password=" in (folder / "usage.jsonl").read_text()


def test_a_file_of_no_known_format_is_skipped_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("hello")
    harvest = importing.import_paths(
        str(tmp_path / "home"), [str(tmp_path / "notes.md"), str(tmp_path / "gone")]
    )
    assert [(Path(s.path).name, s.reason) for s in harvest.skipped] == [
        ("notes.md", "no known format: see docs/formats.md"),
        ("gone", "no such file"),
    ]
    assert harvest.empty_handed


def test_a_damaged_file_is_skipped_and_the_others_are_imported(tmp_path: Path) -> None:
    usage_file(tmp_path / "work", "good_usage.jsonl")
    (tmp_path / "work" / "bad_info.json").write_text('{"command": "x", "duct_version": "0.23.0", ')
    harvest = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "work")])
    assert len(harvest.runs) == 1
    assert [skipped.reason for skipped in harvest.skipped] == ["bad_info.json is damaged"]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format: tarot") as caught:
        importing.import_paths(str(tmp_path), [str(tmp_path)], "tarot")
    assert caught.value.hint.startswith("use one of bundle, ")
    assert {"duct", "hf_trainer", "tensorboard"} <= set(caught.value.hint[11:].split(", "))


def test_a_home_that_cannot_be_written_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    path = usage_file(tmp_path / "work")
    (tmp_path / "home").write_text("a file, not a folder")
    with pytest.raises(UsageError, match="cannot keep runs in"):
        importing.import_paths(str(tmp_path / "home"), [str(path)])
    assert sorted(os.listdir(tmp_path)) == ["home", "work"]


def test_naming_all_files_of_a_run_imports_it_once(tmp_path: Path) -> None:
    path = usage_file(tmp_path / "work")
    (tmp_path / "work" / "a_info.json").touch()
    (tmp_path / "work" / "a_stdout").write_text("out")
    names = [str(path), str(tmp_path / "work" / "a_info.json"), str(tmp_path / "work" / "a_stdout")]
    harvest = importing.import_paths(str(tmp_path / "home"), names)
    assert (len(harvest.runs), harvest.skipped) == (1, [])


def test_two_runs_whose_short_ids_clash_are_both_kept(tmp_path: Path) -> None:
    first = imported(digest="abcdef" + "1" * 58)
    second = imported(digest="abcdef" + "2" * 58)
    harvest = importing.Harvest()
    for one in (first, second, second):
        importing._keep(tmp_path, Path("x"), one, harvest)
    assert [run.run_id for run in harvest.runs] == [
        "20260102T030405Z-abcdef",
        "20260102T030405Z-abcdef222222",
    ]
    assert [skipped.known_run_id for skipped in harvest.skipped] == ["20260102T030405Z-abcdef222222"]


def test_everything_a_format_can_say_reaches_the_folder(tmp_path: Path) -> None:
    (tmp_path / "said").write_bytes(b"\x00bytes\xff")
    one = imported(
        windows=[
            Window(timestamp=1.5, num_samples=2, clock={"ps": (1.0, 2.0)}, values={("ps_rss_total", ""): 1})
        ],
        steps=[Step(timestamp=2.0, step=3, rank=1, source="log", metrics={"loss": 0.5})],
        events=[Event(timestamp=2.5, type="oom_kill", details={"pid": 7})],
        outputs={"stdout": tmp_path / "said"},
    )
    assert foreign_runs.write(tmp_path / "home", "20260102T030405Z-abcdef", one) == (1, 1, 1)
    folder = index.folder_of(tmp_path / "home", "20260102T030405Z-abcdef")
    (window,) = reader.read_windows(folder)
    assert (window.timestamp, window.num_samples, window.clock) == (1.5, 2, {"ps": (1.0, 2.0)})
    assert [event.type for event in reader.read_events(folder)] == ["oom_kill"]
    assert json.loads((folder / "steps.jsonl").read_text())["metrics"] == {"loss": 0.5}
    assert (folder / "stdout").read_bytes() == b"\x00bytes\xff"
    run = reader.read_run(folder)
    assert (run.status, run.exit_code, run.command) == (Status.FAILED, 2, ("make", "all"))
    assert (run.provenance.inexact, run.provenance.dropped) == ({"x": "why"}, {"usage": 1})
    assert run.provenance.origin == "other"


def test_a_run_that_another_process_wrote_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    run_id = "20260102T030405Z-abcdef"
    assert foreign_runs.write(tmp_path, run_id, imported()) is not None
    written = index.folder_of(tmp_path, run_id).stat().st_ino
    assert foreign_runs.write(tmp_path, run_id, imported()) is None
    assert index.folder_of(tmp_path, run_id).stat().st_ino == written
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs"]


def test_one_file_imported_by_many_at_once_is_one_run(tmp_path: Path) -> None:
    path, home = usage_file(tmp_path / "work"), str(tmp_path / "home")
    with ThreadPoolExecutor(8) as pool:
        harvests = list(pool.map(lambda _: importing.import_paths(home, [str(path)]), range(8)))
    assert len(os.listdir(tmp_path / "home" / "runs" / os.listdir(tmp_path / "home" / "runs")[0])) == 1
    assert not any(harvest.empty_handed for harvest in harvests)


def test_an_interrupted_import_leaves_no_half_folder(tmp_path: Path) -> None:
    def broken() -> object:
        yield Window(timestamp=1.5, num_samples=1, clock={}, values={})
        raise OSError(5, "Input/output error")

    with pytest.raises(UsageError, match="input/output error"):
        foreign_runs.write(tmp_path / "home", "20260102T030405Z-abcdef", imported(windows=broken()))
    assert list((tmp_path / "home").iterdir()) == []


def test_a_secret_in_the_config_or_the_command_of_a_foreign_run_is_cut_out(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "metrics.csv").write_text("epoch,step,loss\n0,1,0.5\n")
    (folder / "hparams.yaml").write_text("lr: 0.1\nlogin:\n  password: hunter2\n")
    metadata = '{"program": "t.py", "python": "3", "executable": "python", "args": ["--password", "hunter2"]}'
    (folder / "wandb-metadata.json").write_text(metadata)
    harvest = importing.import_paths(str(tmp_path / "home"), [str(folder)])
    assert [run.format for run in harvest.runs] == ["lightning_csv", "wandb"]
    written = [
        (index.folder_of(tmp_path / "home", run.run_id) / "run.jsonl").read_text() for run in harvest.runs
    ]
    assert "hunter2" not in "".join(written)
    assert '"lr":0.1' in written[0]
    assert '"--password"' in written[1]


def test_the_steps_of_an_imported_log_are_not_read_from_its_text_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "train.log").write_text("step: 1/3 loss: 0.5\nstep: 2/3 loss: 0.4\n")
    (run,) = importing.import_paths(str(home), [str(tmp_path / "train.log")]).runs
    assert (run.format, run.steps) == ("log", 2)
    with index.open_index(home, path=tmp_path / "index.db") as opened:
        opened.refresh()
        tables = opened.ask(lambda store: store.steps(run.run_id))
    assert [list(table.steps) for table in tables] == [[1, 2]]


def test_text_without_steps_is_kept_when_it_is_named_a_log(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("hello\n")
    sniffed = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "job.log")])
    assert [skipped.reason for skipped in sniffed.skipped] == [
        "no steps of a training and no known error in it"
    ]
    named = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "job.log")], "log")
    assert [(run.format, run.steps) for run in named.runs] == [("log", 0)]


def test_a_search_passes_by_what_tells_of_no_job(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "lib" / "site-packages").mkdir(parents=True)
    (work / "lib" / "site-packages" / "x.log").write_text("step: 1/3 loss: 0.5\n")
    (work / "vocab.txt").write_text("step: 1/3 loss: 0.5\n")
    (work / "job.log").write_text("hello\n")
    (work / "crash.log").write_text("Traceback (most recent call last):\nKeyError: 'x'\n")
    seen: list[tuple[str, int]] = []
    harvest = importing.import_paths(
        str(tmp_path / "home"),
        [str(work)],
        watch=lambda path, so_far: seen.append((path.name, so_far.looked_at)),
    )
    assert [run.format for run in harvest.runs] == ["log"]
    assert (harvest.skipped, harvest.passed_by, harvest.looked_at) == ([], 2, 3)
    assert seen == [("crash.log", 0), ("job.log", 1), ("vocab.txt", 2)]


def test_a_huge_text_is_not_read_to_its_end_unless_it_is_named_or_ends_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "QUIET_BYTES", 1 << 20)
    work = tmp_path / "work"
    work.mkdir()
    quiet, late = b"all is well\n" * 180_000, b"step: 1/3 loss: 0.5\n"
    (work / "a.log").write_bytes(quiet + late + quiet)
    (work / "b.log").write_bytes(late + quiet)
    (work / "c.log").write_bytes(quiet + b"CUDA error: out of memory\n")
    harvest = importing.import_paths(str(tmp_path / "home"), [str(work)])
    assert ([run.steps for run in harvest.runs], harvest.passed_by) == ([1, 0], 1)
    named = importing.import_paths(str(tmp_path / "home"), [str(work / "a.log")])
    assert [run.steps for run in named.runs] == [1]


def test_links_that_go_round_are_skipped_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for paths in ([str(tmp_path / "loop")], [str(tmp_path)]):
        harvest = importing.import_paths(str(tmp_path / "home"), paths)
        assert harvest.runs == []
    (skipped,) = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "loop")]).skipped
    assert skipped.reason == "too many levels of symbolic links"


def test_what_may_never_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    named = importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "pipe.log"), "/proc/kmsg"])
    assert [(one.path, one.reason) for one in named.skipped] == [
        (str(tmp_path / "pipe.log"), "a named pipe, which may never end"),
        ("/proc/kmsg", "a file of the kernel, which may never end"),
    ]
    searched = importing.import_paths(str(tmp_path / "home"), [str(tmp_path)])
    assert (searched.runs, searched.skipped, searched.looked_at) == ([], [], 0)

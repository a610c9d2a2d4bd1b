"""What the processes of a job say of themselves."""

import os
from pathlib import Path

import pytest

from jobmeter.model.run import Status
from jobmeter.runfolder import reader, sdkfiles
from support import folders

INIT = {"type": "init", "timestamp": "2026-11-15T09:50:02Z", "pid": 7, "rank": 0, "world_size": 1}


def attached(tmp_path: Path, **end: object) -> Path:
    """Write a run whose recorder only attached and could not tell how the job ended."""
    unknown = {"status": "lost", "exit_code": None, "signal": None}
    return folders.write_run(tmp_path, seconds=3, start={"attached": True}, end=unknown | end)


def tell(folder: Path, *records: dict[str, object], name: str = "sdk.jsonl") -> None:
    folders.append(folder / name, *records)


def test_files_are_found_by_what_they_hold_and_ranks_stand_in_order() -> None:
    listed = ["steps.10.jsonl", "steps.pid7.jsonl", "steps.2.jsonl.gz", "steps.jsonl", "steps.2.pid9.jsonl"]
    listed += ["stepsister.jsonl", "steps.txt", "sdk.jsonl", "stdout"]
    assert sdkfiles.names(listed, "steps") == [
        "steps.jsonl",
        "steps.pid7.jsonl",
        "steps.2.jsonl",
        "steps.2.pid9.jsonl",
        "steps.10.jsonl",
    ]


def test_what_the_sdk_said_is_merged_into_the_run(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3, start={"name": None, "project": None, "tags": {"k": "v"}})
    tell(
        folder,
        INIT
        | {"name": "first", "project": "llm", "group": "sweep", "tags": ["base", "k"], "notes": "why",
           "config": {"lr": 1, "opt": {"name": "adam"}}, "argv": ["train.py"], "packages": {"torch": "2"}},
        {"type": "config", "config": {"lr": 2}},
        {"type": "summary", "summary": {"best": 0.5, "worst": "NaN", "skip": None, "steps": 2**60}},
        {"type": "summary", "summary": {"best": 0.25}},
        {"type": "of the future"},
    )  # fmt: skip
    run = reader.read_run(folder)
    assert (run.name, run.project, run.group, run.message) == ("first", "llm", "sweep", "why")
    assert run.tags == {"base": "true", "k": "v"}
    assert run.results == {"best": 0.25, "worst": "NaN", "steps": 2**60}
    assert run.context["config"] == {"lr": 2, "opt": {"name": "adam"}}
    assert (run.context["argv"], run.context["packages"]) == (["train.py"], {"torch": "2"})
    assert (run.ranks, run.world_size) == ((), 1)
    assert "unreadable_lines" not in run.provenance.dropped


def test_what_was_said_on_the_command_line_counts_more(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3)
    tell(folder, INIT | {"name": "script", "project": "x", "git": {"commit": "b" * 40}})
    run = reader.read_run(folder)
    assert (run.name, run.project, run.context["git"]) == (
        "nightly",
        "app",
        {"commit": "a" * 40, "branch": "main"},
    )


def test_what_people_say_later_counts_most(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3, start={"name": None})
    tell(folder, INIT | {"name": "script"})
    folders.append(folder / "notes.jsonl", {"type": "name", "name": "mine"})
    assert reader.read_run(folder).name == "mine"


def test_the_lowest_rank_speaks_for_the_job(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3, start={"name": None})
    for rank in (2, 10, 1):
        tell(
            folder,
            INIT | {"rank": rank, "world_size": 12, "name": f"rank {rank}", "config": {"rank": rank, f"own{rank}": 1}},
            name=f"sdk.{rank}.jsonl",
        )  # fmt: skip
    run = reader.read_run(folder)
    assert (run.ranks, run.world_size, run.name) == ((1, 2, 10), 12, "rank 1")
    assert run.context["config"] == {"rank": 1, "own1": 1, "own2": 1, "own10": 1}


def test_an_attached_recorder_believes_the_job_how_it_ended(tmp_path: Path) -> None:
    folder = attached(tmp_path)
    assert reader.read_run(folder).status is Status.LOST
    tell(
        folder,
        INIT,
        {"type": "finish", "timestamp": "2026-11-15T09:50:04Z", "exit_code": 3, "status": "failed"},
    )
    run = reader.read_run(folder)
    assert (run.status, run.exit_code) == (Status.FAILED, 3)
    assert run.ended_at == folders.STARTED + 3


def test_a_recorder_that_knows_the_exit_code_is_believed(tmp_path: Path) -> None:
    folder = attached(tmp_path, status="killed", exit_code=137, signal="SIGKILL")
    tell(folder, INIT, {"type": "finish", "exit_code": 0, "status": "completed"})
    run = reader.read_run(folder)
    assert (run.status, run.exit_code, run.signal) == (Status.KILLED, 137, "SIGKILL")


def test_one_rank_that_failed_is_enough(tmp_path: Path) -> None:
    folder = attached(tmp_path)
    for rank, code in ((0, 0), (1, 1)):
        finish = {"type": "finish", "exit_code": code, "status": "failed" if code else "completed"}
        tell(folder, INIT | {"rank": rank, "world_size": 2}, finish, name=f"sdk.{rank}.jsonl")
    run = reader.read_run(folder)
    assert (run.status, run.exit_code) == (Status.FAILED, 1)


def test_a_process_that_began_anew_has_not_finished(tmp_path: Path) -> None:
    folder = attached(tmp_path)
    tell(folder, INIT, {"type": "finish", "exit_code": 0, "status": "completed"}, INIT | {"resumed": True})
    assert reader.read_run(folder).status is Status.LOST


def test_a_run_that_was_begun_again_after_its_end_has_not_ended(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3)
    folders.append(folder / "run.jsonl", folders.start_record(**folders.this_recorder()))
    run = reader.read_run(folder)
    assert (run.status, run.exit_code, run.wall_seconds) == (Status.RUNNING, None, None)
    folders.append(folder / "run.jsonl", folders.end_record(9, exit_code=1, status="failed"))
    run = reader.read_run(folder)
    assert (run.status, run.exit_code, run.wall_seconds) == (Status.FAILED, 1, 9.0)


@pytest.mark.parametrize("tail", [b"", b"\0" * 500, b'{"type":"fin' + b"\0" * 500])
def test_a_file_that_a_kill_left_open_reads_clean(tmp_path: Path, tail: bytes) -> None:
    folder = folders.write_run(tmp_path, seconds=3)
    tell(folder, INIT | {"group": "g"})
    with (folder / "sdk.jsonl").open("ab") as file:
        file.write(tail)
    run = reader.read_run(folder)
    assert (run.group, run.provenance.dropped) == ("g", {"usage": 0})


def test_garbage_is_counted(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3)
    (folder / "sdk.jsonl").write_bytes(b'garbage\n{"no": "type"}\n')
    assert reader.read_run(folder).provenance.dropped["unreadable_lines"] == 2


def test_a_folder_elsewhere_lives_while_its_steps_grow(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3, ended=False)
    for file in folder.iterdir():
        os.utime(file, (1000.0, 1000.0))
    assert reader.read_run(folder, now=2000.0).status is Status.LOST
    (folder / "steps.0.jsonl").write_bytes(b"")
    os.utime(folder / "steps.0.jsonl", (1999.0, 1999.0))
    assert reader.read_run(folder, now=2000.0).status is Status.RUNNING


def test_the_process_of_each_rank_and_the_run_it_goes_on_from_are_known(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=3)
    for rank in (0, 1):
        told = {"type": "init", "pid": 70 + rank, "rank": rank, "world_size": 2, "resumed": "earlier"}
        folders.append(folder / f"sdk.{rank}.jsonl", told)
        folders.append(folder / f"sdk.{rank}.pid99.jsonl", told | {"pid": 99})
    context = reader.read_run(folder).context
    assert (context["rank_pids"], context["resumed"]) == ({"0": 70, "1": 71}, "earlier")

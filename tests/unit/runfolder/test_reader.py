import gzip
import os
from pathlib import Path

import pytest

from jobmeter.model.run import Output, Status
from jobmeter.runfolder import liveness, reader
from support import folders


def test_an_ended_run_is_read_whole(tmp_path: Path) -> None:
    run = reader.read_run(folders.write_run(tmp_path))
    assert run.run_id == "20261115T095001Z-7f3a9c"
    assert run.job_id == "20261115T095001Z-7f3a9c"
    assert run.status is Status.COMPLETED
    assert run.command == ("make", "-j4")
    assert (run.cwd, run.name, run.project, run.host, run.user) == (
        "/home/u/src",
        "nightly",
        "app",
        "node7",
        "u",
    )
    assert run.tags == {"k": "v"}
    assert (run.exit_code, run.signal, run.samples) == (0, None, 60)
    assert (run.started_at, run.ended_at, run.wall_seconds) == (1794736201.123, 1794736261.123, 60.0)
    assert run.summary["wait_cputime"] == 45.678901
    assert run.by_command[0].command == "cc1plus"
    assert run.by_command[0].processes == 118
    assert (run.limits.memory_bytes, run.limits.cpus) == (8589934592, 4.0)
    assert run.outputs == (Output(stream="stdout", mode="captured", path="stdout", offset=0),)
    assert run.provenance.missing == {"nvml": "no NVIDIA driver"}
    assert run.provenance.dropped == {"usage": 0}
    assert run.definitions["wait_cputime"].unit.value == "seconds"
    assert len(run.definitions) == 34


def test_what_has_no_field_of_its_own_is_context(tmp_path: Path) -> None:
    context = folders.context_record(flavour="mint", provenance={"selected": [], "own_cgroup": {"cpu": "/x"}})
    run = reader.read_run(folders.write_run(tmp_path, context=context))
    assert run.context["flavour"] == "mint"
    assert run.context["host"] == {
        "hostname": "node7", "system": "Linux", "release": "6.1.0", "machine": "x86_64", "cpus": 64,
    }  # fmt: skip
    assert run.context["limits"] == {"memory_bytes": 8589934592, "cpus": 4.0, "memory_source": "cgroup"}
    assert run.context["own_cgroup"] == {"cpu": "/x"}
    assert run.context["processes_left"] == []
    assert "summary" not in run.context


def test_the_size_on_disk_is_the_sum_of_its_files(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path)
    assert reader.read_run(folder).disk_bytes == sum(path.stat().st_size for path in folder.iterdir())


def test_a_run_whose_recorder_lives_is_running(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, ended=False, start=folders.this_recorder())
    run, final = reader.read_run_and_finality(folder)
    assert (run.status, final) == (Status.RUNNING, False)
    assert (run.exit_code, run.ended_at, run.wall_seconds) == (None, None, None)


def test_a_run_whose_recorder_is_gone_is_lost(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, ended=False, start=folders.dead_recorder())
    run, final = reader.read_run_and_finality(folder)
    assert (run.status, final) == (Status.LOST, True)


def test_a_run_from_before_the_last_boot_is_lost(tmp_path: Path) -> None:
    start = folders.this_recorder() | {"boot_id": "another"}
    run, final = reader.read_run_and_finality(folders.write_run(tmp_path, ended=False, start=start))
    assert (run.status, final) == (Status.LOST, True)


def test_a_recorder_on_another_host_is_judged_by_its_bytes(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, ended=False)
    written = (folder / "usage.jsonl").stat().st_mtime
    here = liveness.Here("boot", "elsewhere")

    def judged(after: float) -> tuple[Status, bool]:
        run, final = reader.read_run_and_finality(folder, machine=here, now=written + after)
        return run.status, final

    assert judged(5) == (Status.RUNNING, False)
    assert judged(60) == (Status.LOST, False)
    assert judged(2 * 86400) == (Status.LOST, True)


def test_a_recorder_in_a_container_is_not_taken_for_dead(tmp_path: Path) -> None:
    start = folders.dead_recorder() | {"host": "container-17"}
    run, final = reader.read_run_and_finality(folders.write_run(tmp_path, ended=False, start=start))
    assert (run.status, final) == (Status.RUNNING, False)


def test_a_zombie_recorder_is_dead(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    stat = Path(f"/proc/{pid}/stat").read_text()
    ticks = int(stat[stat.rindex(")") + 2 :].split()[19])
    start = folders.this_recorder() | {"recorder": {"pid": pid, "start_ticks": ticks}}
    assert reader.read_run(folders.write_run(tmp_path, ended=False, start=start)).status is Status.LOST
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        (["stopped"], Status.PAUSED),
        (["stopped", "continued"], Status.RUNNING),
        (["stopped", "signal"], Status.PAUSED),
    ],
)
def test_a_stopped_job_is_paused_until_it_goes_on(tmp_path: Path, events: list[str], status: Status) -> None:
    folder = folders.write_run(tmp_path, ended=False, start=folders.this_recorder())
    for kind in events:
        folders.append(folder / "events.jsonl", {"timestamp": "2026-11-15T09:50:09Z", "type": kind})
    assert reader.read_run(folder).status is status


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ({"status": "failed", "exit_code": 3}, Status.FAILED),
        ({"status": "killed", "signal": "SIGKILL", "exit_code": 137}, Status.KILLED),
        ({"status": "vanquished", "exit_code": 0}, Status.COMPLETED),
        ({"status": "vanquished", "exit_code": 4}, Status.FAILED),
    ],
)
def test_the_end_record_says_how_it_ended(tmp_path: Path, end: folders.Record, status: Status) -> None:
    assert reader.read_run(folders.write_run(tmp_path, end=end)).status is status


def test_notes_are_laid_over_what_was_recorded(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, start={"tags": {"k": "v", "old": "x"}})
    folders.append(
        folder / "notes.jsonl",
        {"type": "tag", "tags": {"k": "w", "old": None, "new": "1"}},
        {"type": "note", "text": "first"},
        {"type": "name", "name": "better"},
        {"type": "project", "project": "other"},
        {"type": "note", "text": "second"},
    )
    run = reader.read_run(folder)
    assert run.tags == {"k": "w", "new": "1"}
    assert run.notes == ("first", "second")
    assert (run.name, run.project) == ("better", "other")


def test_a_note_stands_in_the_place_of_the_one_it_replaces(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path)
    folders.append(
        folder / "notes.jsonl",
        {"type": "note", "text": "first"},
        {"type": "note", "text": "second"},
        {"type": "note", "text": "second"},
        {"type": "note", "text": "third"},
        {"type": "note", "replaces": "first", "text": "the first"},
        {"type": "note", "replaces": "second", "text": None},
        {"type": "note", "replaces": "never said", "text": None},
        {"type": "note", "replaces": "not here yet", "text": "kept"},
    )
    assert reader.read_run(folder).notes == ("the first", "second", "third", "kept")


def test_garbage_lines_are_counted_and_reading_goes_on(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path)
    text = (folder / "run.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "run.jsonl").write_bytes(
        b"\x00\x00\n" + text[0] + b"garbage\n" + text[1] + b'[1]\n{"x":1}\n' + text[2]
    )
    run = reader.read_run(folder)
    assert run.status is Status.COMPLETED
    assert run.provenance.dropped["unreadable_lines"] == 4


def test_a_record_of_an_unknown_type_changes_nothing(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path)
    folders.append(folder / "run.jsonl", {"type": "checkpoint", "status": "failed", "command": ["x"]})
    run = reader.read_run(folder)
    assert (run.status, run.command) == (Status.COMPLETED, ("make", "-j4"))
    assert "unreadable_lines" not in run.provenance.dropped


def test_a_newer_schema_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    context = folders.context_record(
        measurements=[
            folders.definition("wait_cputime", "counter", "seconds", "job"),
            folders.definition("wait_flux", "gauge", "bytes", "job") | {"kind": "vector"},
        ]
    )
    run = reader.read_run(folders.write_run(tmp_path, start={"schema": 99}, context=context))
    assert list(run.definitions) == ["wait_cputime"]


@pytest.mark.parametrize("content", [None, b"", b'{"type":"sta'])
def test_without_its_records_a_run_is_lost_but_there(tmp_path: Path, content: bytes | None) -> None:
    folder = folders.write_run(tmp_path)
    (folder / "run.jsonl").unlink()
    if content is not None:
        (folder / "run.jsonl").write_bytes(content)
    run = reader.read_run(folder, now=1e12)
    assert (run.run_id, run.status, run.command) == ("20261115T095001Z-7f3a9c", Status.LOST, ())
    assert run.definitions == {}


def test_fields_of_the_wrong_type_are_absent(tmp_path: Path) -> None:
    start = {"command": "make", "tags": 5, "cwd": 7, "started_at": "noon", "name": None, "host": []}
    end = {
        "exit_code": "0",
        "wall_seconds": True,
        "summary": {"a_b": None, "a_c": 1, "a_d": []},
        "by_command": [{}, 3],
    }
    run = reader.read_run(
        folders.write_run(tmp_path, start=start, end=end, context={"limits": 3, "outputs": [1]})
    )
    assert (run.command, run.tags, run.cwd, run.started_at, run.name) == ((), {}, None, None, None)
    assert (run.exit_code, run.wall_seconds, run.summary, run.by_command) == (None, None, {"a_c": 1}, ())
    assert (run.limits.memory_bytes, run.outputs) == (None, ())


def test_arguments_that_are_not_utf8_survive(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, start={"command": ["cat", "caf\udce9"]})
    assert reader.read_run(folder).command == ("cat", "caf\udce9")


def test_compressed_files_read_alike(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path)
    before = (reader.read_run(folder), list(reader.read_windows(folder)))
    for name in ("run.jsonl", "usage.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    run = reader.read_run(folder)
    assert (run.summary, run.status, run.definitions) == (
        before[0].summary,
        before[0].status,
        before[0].definitions,
    )
    assert list(reader.read_windows(folder)) == before[1]


def test_windows_events_and_steps_are_read_in_order(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=20)
    assert len(list(reader.read_windows(folder))) == 22
    folders.append(
        folder / "events.jsonl", *({"timestamp": "2026-11-15T09:50:09Z", "type": t} for t in ("a", "b"))
    )
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b"garbage")
    assert [event.type for event in reader.read_events(folder)] == ["a", "b"]
    step = {"timestamp": "2026-11-15T09:50:09Z", "step": 1, "metrics": {"loss": 0.5}}
    folders.append(folder / "steps.jsonl", step)
    folders.append(folder / "steps.1.jsonl", step | {"rank": 1})
    assert [(step.rank, step.metrics) for step in reader.read_steps(folder)] == [
        (0, {"loss": 0.5}),
        (1, {"loss": 0.5}),
    ]


def test_any_directory_is_not_a_run(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "f").write_text("")
    assert [reader.is_run(tmp_path / name) for name in ("x", "f", "nowhere")] == [False, False, False]
    assert reader.is_run(folders.write_run(tmp_path))


def test_definitions_hold_text_and_numbers_that_no_recorder_writes(tmp_path: Path) -> None:
    """They are made once for all runs that have the same, unless they cannot be told apart."""
    row = {"key": "proc_rss", "kind": "gauge", "unit": "bytes", "scope": "process"}
    odd = {**row, "reduce": ["max"], "summary": [], "about": "caf\udce9"}
    huge = {**row, "key": "proc_vsz", "reduce": ["max"], "summary": [], "about": 2**70}
    for number, rows in enumerate(([odd], [huge], [odd, huge, 7], "none")):
        folder = folders.write_run(tmp_path / str(number), seconds=1, context={"measurements": rows})
        found = reader.read_run(folder).definitions
        asked = [one for one in rows if isinstance(one, dict)]
        assert {key: one.about for key, one in found.items()} == {
            str(one["key"]): str(one["about"]) for one in asked
        }

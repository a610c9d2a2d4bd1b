"""Reports of runs: made of what the job's recorders saw, kept while they are valid, made again when not."""

import dataclasses
import fcntl
import json
from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.report import Cause, Health, LogError
from jobmeter.model.run import Run, Status
from jobmeter.model.view import Series
from jobmeter.service import analysis, analysis_view, history, index, lifecycle, rules_digest
from jobmeter.stores import Store, StoredReport
from jobmeter.stores import memory as empty_store
from support import folders

RUN_ID = folders.RUN_ID
OOM = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in <module>\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB\n"
)
FAILED: folders.Record = {"status": "failed", "exit_code": 1}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "home"


def write_failed(home: Path, run_id: str = RUN_ID, text: str = OOM, **given: object) -> Path:
    known: dict[str, object] = {"seconds": 20, "end": FAILED}
    folder = folders.write_run(home, run_id=run_id, **(known | given))  # type: ignore[arg-type]
    (folder / "stdout").write_text(text)
    arrived = folders.iso(folders.STARTED + 10.2)
    (folder / "output.index").write_bytes(folders.dump(["stdout", len(text.encode()), arrived]))
    return folder


def kept(home: Path, run_id: str = RUN_ID) -> StoredReport | None:
    with index.open_index(home) as opened:
        return opened.ask(lambda store: store.report(run_id))


def put(home: Path, stored: StoredReport) -> None:
    def keep(store: Store) -> None:
        with store.writing(1.0):
            store.put_report(RUN_ID, stored)

    with index.open_index(home) as opened:
        opened.ask(keep)


def test_a_run_that_failed_is_explained_by_its_output(home: Path) -> None:
    write_failed(home)
    view, report = analysis.analyze(str(home), RUN_ID)
    assert (report.verdict.cause, report.health) == (Cause.OOM_CUDA, Health.CRITICAL)
    assert [error.signature for error in report.log_errors] == ["cuda_oom"]
    assert view.log_errors == report.log_errors


def test_an_error_bears_the_memory_of_its_moment(home: Path) -> None:
    write_failed(home)
    view, report = analysis.analyze(str(home), RUN_ID)
    (error,) = report.log_errors
    memory = view.series["cgroup_mem_unreclaimable", ""]
    assert error.timestamp == pytest.approx(folders.STARTED + 10.2)
    nearest = min(
        range(len(memory.times)), key=lambda place: abs(memory.times[place] - (error.timestamp or 0))
    )
    assert error.memory_at_time_bytes == memory.values[nearest]


def test_series_of_single_processes_are_left_in_the_store(home: Path) -> None:
    write_failed(home, seconds=200)
    view, _ = analysis.analyze(str(home), RUN_ID)
    assert ("wait_cputime", "") in view.series
    assert view.series["wait_cputime", ""].spans is not None
    assert not [instance for _, instance in view.series if "@" in instance]
    assert view.processes


def test_the_report_of_a_run_that_ended_is_kept(home: Path) -> None:
    write_failed(home)
    _, first = analysis.analyze(str(home), RUN_ID)
    stored = kept(home)
    assert stored is not None
    assert stored.rules == rules_digest.digest()
    again, second = analysis.analyze(str(home), RUN_ID)
    assert second == first
    assert again.series == {}
    assert kept(home) == stored


def test_a_kept_report_is_told_without_looking_again(home: Path) -> None:
    write_failed(home)
    analysis.analyze(str(home), RUN_ID)
    stored = kept(home)
    assert stored is not None
    told = json.loads(stored.document)
    told["verdict"]["sentence"] = "as it was kept"
    put(home, dataclasses.replace(stored, document=json.dumps(told).encode()))
    assert analysis.analyze(str(home), RUN_ID)[1].verdict.sentence == "as it was kept"


@pytest.mark.parametrize(
    "spoilt",
    [
        {"rules": "those of yesterday"},
        {"inputs": "what was there yesterday"},
        {"document": b'{"verdict": 1}'},
    ],
)
def test_a_report_that_is_no_longer_valid_is_made_again(home: Path, spoilt: dict[str, object]) -> None:
    write_failed(home)
    _, first = analysis.analyze(str(home), RUN_ID)
    stored = kept(home)
    assert stored is not None
    put(home, dataclasses.replace(stored, **spoilt))  # type: ignore[arg-type]
    assert analysis.analyze(str(home), RUN_ID)[1] == first
    assert kept(home) == stored


def test_a_tag_that_was_added_since_makes_another_report(home: Path) -> None:
    write_failed(home)
    analysis.analyze(str(home), RUN_ID)
    before = kept(home)
    lifecycle.tag(str(home), RUN_ID, {"k": "v"})
    analysis.analyze(str(home), RUN_ID)
    after = kept(home)
    assert before is not None
    assert after is not None
    assert before.inputs != after.inputs


def test_a_live_run_is_looked_at_anew_every_time(home: Path) -> None:
    folders.write_run(home, ended=False, start=folders.this_recorder())
    view, report = analysis.analyze(str(home), RUN_ID)
    assert view.run.status.value == "running"
    assert report.health is Health.GOOD
    assert kept(home) is None


def test_a_report_is_given_though_it_cannot_be_kept(home: Path) -> None:
    write_failed(home)
    with index.open_index(home) as opened:
        opened.refresh()
        assert opened._path is not None
        lock = opened._path.with_suffix(".lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert analysis.analyze(str(home), RUN_ID)[1].verdict.cause is Cause.OOM_CUDA
    lock.close()
    assert kept(home) is None


def write_ranks(home: Path) -> list[str]:
    """Write two recorders of one job: the second rank is killed first."""
    ids = [f"20261115T09500{rank}Z-00000{rank}" for rank in (0, 1)]
    for rank, run_id in enumerate(ids):
        end = {**FAILED, "ended_at": folders.iso(folders.STARTED + 30 - 10 * rank)}
        folder = write_failed(home, run_id=run_id, end=end, start={"job_id": "slurm-17"})
        folders.append(
            folder / f"sdk.{rank}.jsonl",
            {"type": "init", "timestamp": folders.iso(folders.STARTED), "rank": rank, "world_size": 2},
        )
    folders.append(
        folders.folder_of(home, ids[1]) / "events.jsonl",
        {"timestamp": folders.iso(folders.STARTED + 9), "type": "oom_kill", "details": {"count": 1}},
    )
    return ids


def test_ranks_on_other_hosts_are_analysed_as_one_job(home: Path) -> None:
    ids = write_ranks(home)
    view, report = analysis.analyze(str(home), ids[0])
    (error,) = report.log_errors
    assert (error.count, error.ranks) == (2, (0, 1))
    assert [(event.type, event.rank) for event in view.events if event.type == "oom_kill"] == [
        ("oom_kill", 1)
    ]


def test_a_job_asked_for_by_its_name_is_told_by_who_went_wrong_first(home: Path) -> None:
    ids = write_ranks(home)
    assert analysis.analyze(str(home), "slurm-17")[0].run.run_id == ids[1]


def test_a_job_that_went_well_is_told_by_its_lowest_rank(home: Path) -> None:
    ids = write_ranks(home)
    for run_id in ids:
        end = folders.end_record(20, ended_at=folders.iso(folders.STARTED + 20))
        folders.append(folders.folder_of(home, run_id) / "run.jsonl", end)
    assert analysis.analyze(str(home), "slurm-17")[0].run.run_id == ids[0]


def test_an_earlier_life_of_a_job_is_not_beside_it(home: Path) -> None:
    write_failed(
        home, run_id="20261115T090000Z-000001", started=folders.STARTED - 3000, start={"job_id": "j"}
    )
    write_failed(home, run_id=RUN_ID, start={"job_id": "j"})
    view, report = analysis.analyze(str(home), RUN_ID)
    assert [error.count for error in report.log_errors] == [1]
    assert [run.run_id for run in view.siblings] == ["20261115T090000Z-000001"]
    assert [run.run_id for run in view.history] == ["20261115T090000Z-000001"]


def test_earlier_runs_of_the_same_work_are_its_history(home: Path) -> None:
    for hour in range(3):
        start: folders.Record = {"command": ["python", "train.py", "--lr", f"0.{hour}"], "name": None}
        write_failed(
            home, run_id=f"20261115T0{hour}0000Z-000001", started=folders.STARTED + 3600 * hour, start=start
        )
    write_failed(home, run_id="20261115T100000Z-000009", start={"command": ["make"], "name": None})
    view, _ = analysis.analyze(str(home), "20261115T010000Z-000001")
    assert [run.run_id for run in view.history] == ["20261115T000000Z-000001"]


def test_history_has_an_end(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        write_failed(
            home, run_id=f"20261115T0{number}0000Z-000001", seconds=2, started=folders.STARTED + number
        )
    monkeypatch.setattr(history, "MOST_RUNS", 3)
    view, _ = analysis.analyze(str(home), "20261115T050000Z-000001")
    assert [run.run_id[10:11] for run in view.history] == ["4", "3", "2"]


def test_a_glance_shows_a_report_where_it_is_worth_it(home: Path) -> None:
    write_failed(home)
    good = "20261115T110000Z-000002"
    folders.write_run(home, run_id=good, started=folders.STARTED + 9000)
    assert analysis.at_a_glance(str(home), good)[1] is None
    view, report = analysis.at_a_glance(str(home), RUN_ID)
    assert report is not None
    assert (view.run.run_id, report.verdict.cause) == (RUN_ID, Cause.OOM_CUDA)
    analysis.analyze(str(home), good)
    glanced = analysis.at_a_glance(str(home), good)[1]
    assert glanced is not None
    assert glanced.verdict.cause is Cause.COMPLETED


def test_a_log_without_a_run_is_analysed(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 1 loss 0.5\nstep 2 loss 0.4\n" + OOM)
    view, report = analysis.analyze(str(home), str(path))
    assert report.verdict.cause is Cause.OOM_CUDA
    assert (view.run.name, len(view.steps)) == (str(path), 2)


def test_a_file_that_is_no_text_is_refused(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(UsageError, match="not a text"):
        analysis.analyze(str(home), str(path))


def test_an_unknown_run_is_refused(home: Path) -> None:
    write_failed(home)
    with pytest.raises(UsageError, match="unknown run: nobody"):
        analysis.analyze(str(home), "nobody")


def memory(*values: float) -> Series:
    return Series(
        key="k", instance="", times=tuple(100.0 + 10 * n for n in range(len(values))), values=values
    )


@pytest.mark.parametrize(
    ("moment", "held"),
    [(100.0, 1), (104.0, 1), (106.0, 2), (50.0, 1), (170.0, 3), (30.0, None), (181.0, None), (None, None)],
)
def test_memory_is_taken_from_the_nearest_reading_of_that_minute(
    moment: float | None, held: int | None
) -> None:
    error = LogError(level="ERROR", type="t", message="m", timestamp=moment)
    assert analysis_view.with_memory([error], memory(1.0, 2.0, 3.0))[0].memory_at_time_bytes == held


def test_a_reading_that_is_no_number_says_nothing() -> None:
    error = LogError(level="ERROR", type="t", message="m", timestamp=110.0)
    assert analysis_view.with_memory([error], memory(1.0, float("nan")))[0].memory_at_time_bytes == 1
    assert analysis_view.with_memory([error], None)[0].memory_at_time_bytes is None


def test_the_digest_of_rules_follows_their_sources(tmp_path: Path) -> None:
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "leak.py").write_text("A = 1")
    first = rules_digest.digest.__wrapped__(tmp_path)
    assert rules_digest.digest.__wrapped__(tmp_path) == first
    (tmp_path / "analysis" / "leak.py").write_text("A = 2")
    second = rules_digest.digest.__wrapped__(tmp_path)
    (tmp_path / "analysis" / "leak.py").rename(tmp_path / "analysis" / "spikes.py")
    assert len({first, second, rules_digest.digest.__wrapped__(tmp_path)}) == 3


def test_a_run_without_a_start_has_no_history() -> None:
    run = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=("make",))
    assert history.earlier(empty_store.open_store(Path()), run) == ()

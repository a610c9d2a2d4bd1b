"""What the recorders of one job know of its ranks: the last steps of each, the same whoever is asked."""

from pathlib import Path

import pytest

from jobmeter.model.rank import RankFacts
from jobmeter.model.run import Run
from jobmeter.service import analysis, analysis_view, jobs, rank_facts, runs
from jobmeter.stores import Store
from support import folders
from support.folders import MIB, STARTED

JOB = "slurm-17"
IDS = [f"20261115T09500{rank}Z-00000{rank}" for rank in range(4)]
STEP = (
    '{"timestamp":"%s","step":%d,"rank":%d,"source":"sdk","metrics":{"loss":1.0,"data_time":%s,"lr":0.1}}\n'
)


def write(home: Path, run_id: str, *ranks: int, **end: object) -> Path:
    """Write a recorder of some ranks, and what their SDKs say of themselves."""
    folder = folders.write_run(
        home, run_id=run_id, seconds=2, processes=0, start={"job_id": JOB}, end={"status": "completed", **end}
    )
    for rank in ranks:
        init = {"type": "init", "timestamp": folders.iso(STARTED), "pid": 40 + rank, "rank": rank}
        folders.append(folder / f"sdk.{rank}.jsonl", init | {"world_size": 4})
    return folder


def log(folder: Path, rank: int, steps: range, *, seconds: float = 0.001, waits: float = 0.0) -> None:
    """Write the steps of one rank."""
    lines = [
        STEP % (folders.iso(STARTED + seconds * place), step, rank, waits) for place, step in enumerate(steps)
    ]
    (folder / f"steps.{rank}.jsonl").write_text("".join(lines))


def gather(home: Path, ref: str) -> tuple[RankFacts, ...]:
    def look(store: Store, run: Run) -> tuple[RankFacts, ...]:
        return rank_facts.gather(store, run, analysis_view.facts(store, run).beside)

    return runs.ask(str(home), ref, look)


def test_of_every_rank_the_last_steps_are_read_and_what_its_life_comes_to(tmp_path: Path) -> None:
    for rank, count in enumerate((2500, 2500, 40)):
        log(write(tmp_path, IDS[rank], rank), rank, range(count), waits=0.25)
    found = gather(tmp_path, IDS[0])
    assert [(one.rank, one.run.run_id, one.source) for one in found] == [
        (rank, IDS[rank], "sdk") for rank in range(3)
    ]
    assert [(one.count, one.last_step, one.advanced) for one in found] == [
        (2500, 2499, 2499),
        (2500, 2499, 2499),
        (40, 39, 39),
    ]
    assert [[len(table) for table in one.tables] for one in found] == [[2000], [2000], [40]]
    assert (found[0].tables[0].steps[0], found[0].tables[0].steps[-1]) == (500, 2499)
    # of what was logged beside only the time for data is asked for
    assert [list(one.tables[0].columns) for one in found] == [["data_time"]] * 3
    assert found[2].last_at == pytest.approx(STARTED + 0.039, abs=0.001)
    assert found[2].mean_step_seconds == pytest.approx(0.001, rel=0.05)
    assert found[2].ended_at == found[2].run.ended_at
    assert found[2].memory_peak_bytes == found[2].run.headline["memory_peak_bytes"].value


def test_a_job_of_many_ranks_is_read_less_deeply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_facts, "_STEPS_IN_ALL", 700)
    monkeypatch.setattr(rank_facts, "MOST_RANKS", 2)
    for rank in range(3):
        log(write(tmp_path, IDS[rank], rank), rank, range(500))
    assert [[len(table) for table in one.tables] for one in gather(tmp_path, IDS[2])] == [[350], [350]]


def test_a_loop_that_went_back_is_not_read_from_there_on(tmp_path: Path) -> None:
    log(write(tmp_path, IDS[0], 0), 0, range(10))
    folder = write(tmp_path, IDS[1], 1)
    log(folder, 1, range(3000))
    again = [STEP % (folders.iso(STARTED + 9 + step), step, 1, 0.0) for step in range(5, 9)]
    with (folder / "steps.1.jsonl").open("a") as file:
        file.write("".join(again))
    _, second = gather(tmp_path, IDS[0])
    assert (second.last_step, sum(map(len, second.tables))) == (8, 13)


def test_the_same_is_said_whichever_recorder_is_asked(tmp_path: Path) -> None:
    for rank in range(3):
        log(
            write(tmp_path, IDS[rank], rank),
            rank,
            range(50),
            seconds=0.02 if rank == 1 else 0.01,
            waits=0.015 if rank == 1 else 0.001,
        )
    folder = write(tmp_path, IDS[3], 3, status="failed", exit_code=1)
    log(folder, 3, range(12), seconds=0.01)
    told = [
        [
            (one.detector, one.rank, one.sentence)
            for one in analysis.analyze(str(tmp_path), ref)[1].findings
            if one.detector in ("stragglers", "rank_imbalance", "rank_stopped")
        ]
        for ref in (JOB, *IDS)
    ]
    assert [one[:2] for one in told[0]] == [("rank_stopped", 3), ("rank_imbalance", 1), ("stragglers", 1)]
    assert told == [told[0]] * 5


def test_a_recorder_of_several_ranks_tells_them_apart_by_their_processes(tmp_path: Path) -> None:
    for node, ranks in enumerate(((0, 1), (2, 3))):
        folder = write(tmp_path, IDS[node], *ranks)
        measured = {
            "proc_rank": {f"{7 + rank}@1": str(rank) for rank in ranks},
            "proc_rss": {f"{7 + rank}@1": (1 + rank) * MIB for rank in ranks} | {"99@1": 5 * MIB},
        }
        line = {
            "timestamp": folders.iso(STARTED + 2),
            "num_samples": 1,
            "clock": {},
            "measurements": measured,
        }
        folders.append(folder / "usage.jsonl", line)
        for rank in ranks:
            log(folder, rank, range(20))
    found = gather(tmp_path, IDS[0])
    assert [(one.rank, one.run.run_id, one.has_recorder) for one in found] == [
        (0, IDS[0], False),
        (1, IDS[0], False),
        (2, IDS[1], False),
        (3, IDS[1], False),
    ]
    assert [one.memory_peak_bytes for one in found] == [MIB, 2 * MIB, 3 * MIB, 4 * MIB]


def test_steps_in_a_log_that_names_no_rank_are_those_of_the_recorders_own_rank(tmp_path: Path) -> None:
    for rank in (1, 2):
        folder = write(tmp_path, IDS[rank], rank)
        text = "".join(f"step {step} loss {1.0 / (step + 1):.4f}\n" for step in range(20))
        (folder / "stdout").write_text(text)
        (folder / "output.index").write_bytes(folders.dump(["stdout", len(text), folders.iso(STARTED + 1)]))
    found = gather(tmp_path, IDS[1])
    assert [(one.rank, one.source, one.last_step) for one in found] == [
        (1, "log:generic", 19),
        (2, "log:generic", 19),
    ]
    assert [one.run.ranks for one in found] == [(1,), (2,)]
    assert [(one.rank, one.last_step) for one in jobs.job(str(tmp_path), JOB).ranks] == [(1, 19), (2, 19)]


def test_a_rank_without_steps_is_known_by_its_end(tmp_path: Path) -> None:
    log(write(tmp_path, IDS[0], 0), 0, range(20))
    write(tmp_path, IDS[1], 1, status="failed", exit_code=3)
    _, silent = gather(tmp_path, IDS[0])
    assert (silent.last_step, silent.tables, silent.source) == (None, (), "")
    assert silent.ended_at is not None


def test_one_rank_alone_is_compared_with_nobody(tmp_path: Path) -> None:
    log(write(tmp_path, IDS[0], 0), 0, range(20))
    assert gather(tmp_path, IDS[0]) == ()
    write(tmp_path, IDS[1])
    assert gather(tmp_path, IDS[0]) == ()

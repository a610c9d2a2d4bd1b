"""What runs now: how far it is by its steps or its history, and jobs whose ranks are uneven first."""

import json
from pathlib import Path
from typing import Any

import msgspec

from jobmeter.model import live_answers
from jobmeter.model.run import Run, Status
from jobmeter.service import living
from jobmeter.stores import Batch, memory
from support import folders

NOW = folders.STARTED + 7200
EARLIER, LATER, ALIVE, OTHER = (f"20261115T09500{n}Z-00000{n}" for n in range(4))


def alive(home: Path, run_id: str, *, ago: float = 10.0, context: object = None, **start: object) -> Path:
    """Write a run that goes on since a while."""
    return folders.write_run(
        home,
        run_id=run_id,
        seconds=2,
        processes=0,
        started=NOW - ago,
        start=folders.this_recorder() | start,
        context=context or {},  # type: ignore[arg-type]
        ended=False,
    )


def log(folder: Path, rank: int, *, steps: int, seconds: float = 0.5) -> None:
    """Write the steps of one rank."""
    for step in range(steps):
        at = folders.iso(folders.STARTED + seconds * step)
        told = {"timestamp": at, "step": step, "rank": rank, "source": "sdk", "metrics": {"loss": 1.0}}
        folders.append(folder / f"steps.{rank}.jsonl", told)


def told(home: Path) -> list[dict[str, Any]]:
    """Ask what runs."""
    found: Any = living.told(str(home), NOW)
    msgspec.convert(json.loads(json.dumps(found)), live_answers.Living)
    jobs: list[dict[str, Any]] = found["jobs"]
    return jobs


def test_nothing_runs(tmp_path: Path) -> None:
    folders.write_run(tmp_path, run_id=EARLIER, seconds=2)
    assert living.told(str(tmp_path), NOW) == {"jobs": [], "runs": 0, "hosts": []}


def test_steps_say_how_far_and_how_long(tmp_path: Path) -> None:
    log(alive(tmp_path, ALIVE, context={"config": {"max_steps": 200}}), 0, steps=51)
    (job,) = told(tmp_path)
    assert job["progress"] == {"by": "steps", "step": 50, "of": 200, "percent": 25.0, "seconds_left": 75.0}
    assert "ranks" not in job


def test_an_event_says_how_many_steps_there_are(tmp_path: Path) -> None:
    folder = alive(tmp_path, ALIVE)
    log(folder, 0, steps=11)
    start = {
        "timestamp": folders.iso(folders.STARTED),
        "type": "training_start",
        "details": {"max_steps": 20},
    }
    folders.append(folder / "events.jsonl", start)
    (job,) = told(tmp_path)
    assert (job["progress"]["of"], job["progress"]["percent"]) == (20, 50.0)


def test_steps_without_an_end_say_nothing(tmp_path: Path) -> None:
    log(alive(tmp_path, ALIVE), 0, steps=11)
    log(alive(tmp_path, OTHER, context={"config": {"max_steps": 5}}), 0, steps=11)
    assert [job.get("progress") for job in told(tmp_path)] == [None, None]


def earlier(home: Path, seconds: int) -> None:
    """Write two completed runs of the same work."""
    for run_id in (EARLIER, LATER):
        folders.write_run(home, run_id=run_id, seconds=seconds, processes=0)


def test_earlier_runs_say_how_long_it_usually_takes(tmp_path: Path) -> None:
    earlier(tmp_path, 100)
    alive(tmp_path, ALIVE, ago=25.0)
    (job,) = told(tmp_path)
    assert job["progress"] == {
        "by": "history",
        "runs": 2,
        "usual_seconds": 100.0,
        "percent": 25.0,
        "seconds_left": 75.0,
    }


class CountingStore(memory.MemoryStore):
    """A store that notes for which work earlier runs are sought, and how many."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, int | None]] = []

    def of_key(self, job_key: str, limit: int | None = None) -> list[str]:
        """Note it, and answer."""
        self.asked.append((job_key, limit))
        return super().of_key(job_key, limit)

    def put(self, run_id: str, status: Status, started_at: float) -> None:
        """Keep a run of the one work there is."""
        run = Run(
            run_id=run_id,
            job_id=run_id,
            status=status,
            command=("make",),
            started_at=started_at,
            wall_seconds=None if status is Status.RUNNING else 20.0,
        )
        self.append(Batch(run=run, final=False, fields={"status": status.value}, job_key="make"))


def test_the_earlier_runs_of_one_work_are_read_once_however_many_of_it_go_on() -> None:
    store = CountingStore()
    for number in range(60):
        store.put(f"old-{number}", Status.COMPLETED, NOW - 1000 + number)
    for number in range(3):
        store.put(f"new-{number}", Status.RUNNING, NOW - 5)
    found: Any = living.told_by(store, NOW)
    assert [job["progress"]["percent"] for job in found["jobs"]] == [25.0, 25.0, 25.0]
    assert store.asked == [("make", 40)]


def test_one_that_takes_longer_than_usual_has_no_time_left(tmp_path: Path) -> None:
    earlier(tmp_path, 5)
    alive(tmp_path, ALIVE, ago=25.0)
    (job,) = told(tmp_path)
    assert job["progress"]["percent"] == 100.0
    assert "seconds_left" not in job["progress"]


def test_a_job_with_a_straggler_comes_first(tmp_path: Path) -> None:
    alive(tmp_path, OTHER, ago=1.0)
    folder = alive(tmp_path, ALIVE, ago=90.0, host="node7")
    for rank in range(3):
        known = {"type": "init", "timestamp": folders.iso(folders.STARTED), "pid": 4000 + rank, "rank": rank}
        folders.append(folder / f"sdk.{rank}.jsonl", known | {"world_size": 4})
        log(folder, rank, steps=20, seconds=0.8 if rank == 2 else 0.5)
    uneven, plain = told(tmp_path)
    assert (uneven["job_id"], uneven["stragglers"]) == (ALIVE, [2])
    assert uneven["ranks"]["ranks_missing"] == [3]
    assert plain["job_id"] == OTHER


def test_a_job_is_done_when_its_last_rank_is(tmp_path: Path) -> None:
    folder = alive(tmp_path, ALIVE, context={"config": {"max_steps": 114}})
    for rank, steps in ((0, 20), (1, 15)):
        known = {"type": "init", "timestamp": folders.iso(folders.STARTED), "pid": 4000 + rank, "rank": rank}
        folders.append(folder / f"sdk.{rank}.jsonl", known | {"world_size": 2})
        log(folder, rank, steps=steps, seconds=0.8 if rank else 0.5)
    (job,) = told(tmp_path)
    assert (job["progress"]["step"], job["progress"]["seconds_left"]) == (14, 80.0)


def test_recorders_of_one_job_that_told_no_rank_are_one_job(tmp_path: Path) -> None:
    for run_id in (ALIVE, OTHER):
        alive(tmp_path, run_id, job_id="slurm-7")
    (job,) = told(tmp_path)
    assert (job["job_id"], len(job["runs"]), "ranks" in job) == ("slurm-7", 2, False)

"""The ranks of a job out of run folders: one for all, one for each, and those of a run that was resumed."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.run import Status
from jobmeter.service import job_shapes, jobs, runs
from support import folders
from support.folders import MIB, STARTED

JOB = "slurm-17.0"
FIRST, SECOND, THIRD, LATER = (f"20261115T09500{n}Z-00000{n}" for n in range(4))
HOUR = 3600.0


def write(home: Path, run_id: str, job_id: str = JOB, *, late: float = 0.0, **changes: object) -> Path:
    """Write a run folder of a job, without processes."""
    return folders.write_run(
        home,
        run_id=run_id,
        seconds=2,
        processes=0,
        started=STARTED + late,
        start={"job_id": job_id},
        end=dict(changes),
    )


def tell(folder: Path, rank: int, world_size: int = 4, **more: object) -> None:
    """Write what the SDK of one rank says of itself."""
    known = {"type": "init", "timestamp": folders.iso(STARTED), "pid": 4000 + rank, "rank": rank}
    folders.append(folder / f"sdk.{rank}.jsonl", known | {"world_size": world_size} | more)


def log(
    folder: Path, rank: int, *, seconds: float, steps: range = range(20), clock: float = 0.0, **metrics: float
) -> None:
    """Write the steps of one rank, each `seconds` after the last by its own clock."""
    for place, step in enumerate(steps):
        record = {
            "timestamp": folders.iso(STARTED + clock + seconds * place),
            "step": step,
            "rank": rank,
            "source": "sdk",
            "metrics": {"loss": 2.0 / (step + 1), **metrics},
        }
        folders.append(folder / f"steps.{rank}.jsonl", record)


def label(folder: Path, **ranks: tuple[str, int, float]) -> None:
    """Write a report of processes: `p7=("3", bytes, cpu seconds)` is pid 7 of rank 3."""
    measured: dict[str, dict[str, object]] = {
        "proc_rank": {f"{name[1:]}@1": rank for name, (rank, _, _) in ranks.items() if rank},
        "proc_world_size": {f"{name[1:]}@1": "4" for name, (rank, _, _) in ranks.items() if rank},
        "proc_rss": {f"{name[1:]}@1": size for name, (_, size, _) in ranks.items()},
        "proc_cputime": {f"{name[1:]}@1": used for name, (_, _, used) in ranks.items()},
    }
    line = {"timestamp": folders.iso(STARTED + 2), "num_samples": 1, "clock": {}, "measurements": measured}
    folders.append(folder / "usage.jsonl", line)


def test_a_straggler_and_a_missing_rank_are_found_whatever_the_clocks_say(tmp_path: Path) -> None:
    for rank, run_id in enumerate((FIRST, SECOND, THIRD)):
        folder = write(tmp_path, run_id)
        tell(folder, rank)
        # rank 1 lives an hour in the future
        log(folder, rank, seconds=0.16 if rank == 2 else 0.1, clock=HOUR if rank == 1 else 0.0)
    found = jobs.job(str(tmp_path), JOB)
    assert (found.job_id, found.world_size, found.missing) == (JOB, 4, (3,))
    assert [run.run_id for run in found.runs] == [FIRST, SECOND, THIRD]
    assert [(one.rank, one.run_id, one.pid) for one in found.ranks] == [
        (0, FIRST, 4000),
        (1, SECOND, 4001),
        (2, THIRD, 4002),
    ]
    assert [one.is_straggler for one in found.ranks] == [False, False, True]
    assert [round(one.relative or 0, 2) for one in found.ranks] == [1.0, 1.0, 1.6]
    assert [round(one.step_seconds or 0, 3) for one in found.ranks] == [0.1, 0.1, 0.16]
    assert [one.behind for one in found.ranks] == [0, 0, 0]
    assert found.step_imbalance == pytest.approx(0.16 * 3 / 0.36 - 1, rel=1e-3)


def test_a_job_is_found_by_any_of_its_runs(tmp_path: Path) -> None:
    for rank, run_id in enumerate((FIRST, SECOND)):
        folder = write(tmp_path, run_id)
        tell(folder, rank, 2)
        log(folder, rank, seconds=0.1)
    assert jobs.job(str(tmp_path), FIRST).job_id == JOB
    assert [one.rank for one in jobs.job(str(tmp_path), "last").ranks] == [0, 1]
    assert [other.run_id for other in runs.view(str(tmp_path), FIRST).siblings] == [SECOND]


def test_one_folder_may_hold_all_ranks(tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST)
    for rank in range(2):
        log(folder, rank, seconds=0.1, steps=range(20 - 5 * rank), tokens_per_second=100.0 * (rank + 1))
    # two processes of rank 1 at once, one of nobody's, and a rank that never logged
    label(
        folder,
        p10=("0", 300 * MIB, 1.5),
        p11=("1", 200 * MIB, 1.0),
        p12=("1", 100 * MIB, 0.5),
        p13=("", 900 * MIB, 9.0),
        p14=("2", 600 * MIB, 0.25),
    )
    found = jobs.job(str(tmp_path), "last")
    assert (found.world_size, found.missing) == (4, (3,))
    assert [one.memory_peak_bytes for one in found.ranks] == [300 * MIB, 300 * MIB, 600 * MIB]
    assert [(one.cpu_seconds, one.processes, one.pid) for one in found.ranks] == [
        (1.5, 1, 10),
        (1.5, 2, 11),
        (0.25, 1, 14),
    ]
    assert [(one.last_step, one.behind, one.steps) for one in found.ranks] == [
        (19, 0, 20),
        (14, 5, 15),
        (None, None, None),
    ]
    assert found.memory_imbalance == 0.5
    added = found.throughput["tokens_per_second"]
    assert (added.value, added.ranks) == (300.0, 2)
    assert found.loss is not None
    assert (found.loss.first, found.loss.last) == (2.0, 0.1)


def test_all_processes_of_a_run_with_one_rank_are_that_ranks(tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST)
    tell(folder, 2)
    label(folder, p10=("2", 300 * MIB, 1.5), p11=("", 100 * MIB, 1.0))
    (rank,) = jobs.job(str(tmp_path), FIRST).ranks
    assert (rank.rank, rank.memory_peak_bytes, rank.cpu_seconds) == (2, 400 * MIB, 2.5)


def test_a_resumed_job_is_told_by_its_newest_run(tmp_path: Path) -> None:
    for rank in range(2):
        folder = write(tmp_path, (FIRST, SECOND)[rank], status="killed", signal="SIGKILL")
        tell(folder, rank, 2)
        log(folder, rank, seconds=0.1, steps=range(10))
    later = write(tmp_path, LATER, late=HOUR)
    for rank in range(2):
        tell(later, rank, 2, resumed=FIRST)
        log(later, rank, seconds=0.1, steps=range(8, 20), clock=HOUR)
    found = jobs.job(str(tmp_path), JOB)
    assert [run.run_id for run in found.runs] == [FIRST, SECOND, LATER]
    assert found.resumed == {LATER: FIRST}
    assert [(one.run_id, one.status, one.steps, one.last_step) for one in found.ranks] == [
        (LATER, Status.COMPLETED, 22, 19),
        (LATER, Status.COMPLETED, 22, 19),
    ]
    # the hour in between is no step
    assert [round(one.step_seconds or 0, 3) for one in found.ranks] == [0.1, 0.1]


def test_a_job_of_one_process_is_rank_0(tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST, FIRST)
    log(folder, 0, seconds=0.1)
    found = jobs.job(str(tmp_path), FIRST)
    assert ([one.rank for one in found.ranks], found.missing, found.step_imbalance) == ([0], (), None)


def test_a_build_has_no_ranks_to_compare(tmp_path: Path) -> None:
    write(tmp_path, FIRST, FIRST)
    with pytest.raises(UsageError, match=f"job {FIRST} has no ranks and no steps") as raised:
        jobs.job(str(tmp_path), "last")
    assert raised.value.hint == f"see `jobmeter show {FIRST}`"


def test_a_job_nobody_knows_is_an_unknown_run(tmp_path: Path) -> None:
    write(tmp_path, FIRST)
    with pytest.raises(UsageError, match="unknown run: slurm-99"):
        jobs.job(str(tmp_path), "slurm-99")


def test_a_folder_outside_the_home_is_a_job_of_its_own(tmp_path: Path) -> None:
    folder = write(tmp_path / "there", FIRST)
    tell(folder, 1)
    log(folder, 1, seconds=0.1)
    found = jobs.job(str(tmp_path / "here"), str(folder))
    assert ([one.rank for one in found.ranks], found.missing) == ([1], (0, 2, 3))


def gpu(key: str, scope: str) -> dict[str, object]:
    return folders.definition(key, "gauge", "percent" if key.endswith("util") else "bytes", scope)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (
            {"nvml_proc_util": {"10@1": 60.0, "11@1": 30.0}, "nvml_proc_mem": {"10@1": 500, "11@1": 700}},
            [(60.0, 500), (30.0, 700)],
        ),
        (
            {"fleet_util": {"0": 90.0, "1": 70.0}, "fleet_mem_used": {"0": 100, "1": 200}},
            [(90.0, 100), (70.0, 200)],
        ),
        ({"nvml_util": {"GPU-1": 80.0}}, [(None, None), (None, None)]),
    ],
)
def test_a_gpu_is_a_ranks_where_somebody_says_so(
    tmp_path: Path, measured: dict[str, dict[str, float]], expected: list[tuple[float | None, int | None]]
) -> None:
    context = {"measurements": folders.definitions() + [gpu(key, "device") for key in measured]}
    folder = folders.write_run(tmp_path, run_id=FIRST, seconds=2, processes=0, context=context)
    # a process is a series from its tenth report on
    for second in range(12):
        line = {"timestamp": folders.iso(STARTED + second), "num_samples": 1, "clock": {}}
        folders.append(folder / "usage.jsonl", line | {"measurements": measured})
    label(folder, p10=("0", MIB, 1.0), p11=("1", MIB, 1.0))
    found = jobs.job(str(tmp_path), FIRST)
    assert [(one.gpu_util_percent, one.gpu_memory_peak_bytes) for one in found.ranks] == expected


def test_the_gpus_of_a_recorder_with_one_rank_are_that_ranks(tmp_path: Path) -> None:
    context = {"measurements": [gpu("nvml_util", "device"), gpu("nvml_mem_used", "device")]}
    folder = folders.write_run(tmp_path, run_id=FIRST, seconds=0, processes=0, context=context)
    tell(folder, 1)
    measured = {"nvml_util": {"GPU-1": 80.0, "GPU-2": 40.0}, "nvml_mem_used": {"GPU-1": 500, "GPU-2": 100}}
    line = {"timestamp": folders.iso(STARTED), "num_samples": 1, "clock": {}, "measurements": measured}
    folders.append(folder / "usage.jsonl", line)
    (rank,) = jobs.job(str(tmp_path), FIRST).ranks
    assert (rank.gpu_util_percent, rank.gpu_memory_peak_bytes) == (60.0, 600)


def test_json_has_only_what_was_measured(tmp_path: Path) -> None:
    folder = write(tmp_path, FIRST)
    tell(folder, 0, 2)
    assert job_shapes.shown(jobs.job(str(tmp_path), JOB)) == {
        "job_id": JOB,
        "world_size": 2,
        "ranks_seen": [0],
        "ranks_missing": [1],
        "stragglers": [],
        "ranks": [
            {
                "rank": 0,
                "run_id": FIRST,
                "status": "completed",
                "host": "node7",
                "pid": 4000,
                "straggler": False,
            }
        ],
        "runs": [
            {
                "run_id": FIRST,
                "status": "completed",
                "exit_code": 0,
                "host": "node7",
                "started_at": "2026-11-15T09:50:01.123Z",
                "ended_at": "2026-11-15T09:50:03.123Z",
                "ranks": [0],
            }
        ],
    }

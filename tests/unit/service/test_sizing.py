"""Advice out of run folders: which runs are a job's, and what each of them tells."""

from pathlib import Path

import pytest

from jobmeter.errors import UsageError
from jobmeter.model.sizing import Advice, JobSizing, Resource
from jobmeter.service import importing, sizing
from support import folders
from support.folders import MIB, STARTED

GIB = 1 << 30
HOUR = 3600.0
SUMMARY: dict[str, object] = {"cgroup_mem_peak": 700 * MIB, "wait_cputime": 90.0, "wait_rchar": 5000}


def write(
    home: Path, place: int, *, name: str | None = "train", summary: object = SUMMARY, **end: object
) -> Path:
    """Write a short run; `start_*` and `context_*` go into those records, the rest into the end."""
    start = {key.removeprefix("start_"): end.pop(key) for key in list(end) if key.startswith("start_")}
    context = {key.removeprefix("context_"): end.pop(key) for key in list(end) if key.startswith("context_")}
    return folders.write_run(
        home,
        run_id=f"20261115T0950{place:02d}Z-{place:06x}",
        seconds=3,
        processes=0,
        started=STARTED + place * HOUR,
        start={"name": name, "project": None} | start,
        context=context,
        end={"summary": summary, "wall_seconds": 60.0} | end,
    )


def only(home: Path, *wanted: str, **options: object) -> JobSizing:
    (found,) = sizing.size(str(home), wanted, **options)  # type: ignore[arg-type]  # options of a test
    return found


def memory(home: Path) -> Advice:
    return only(home, "train").advice[Resource.MEMORY]


def test_runs_of_one_name_are_one_job(tmp_path: Path) -> None:
    for place in range(3):
        write(tmp_path, place)
    found = only(tmp_path, "train")
    assert (found.job, found.runs) == ("train", 3)
    one = found.advice[Resource.MEMORY]
    assert (one.asked, one.largest, one.runs) == (8 * GIB, 700 * MIB, 3)
    assert 700 * MIB <= one.advised <= 1400 * MIB
    cpus = found.advice[Resource.CPUS]
    # the folder's windows hold about 3.6 busy cores of 4
    assert (cpus.advised, cpus.asked, cpus.method) == (4, 4, "cores used over time")


def test_what_the_machine_has_is_nobodys_request(tmp_path: Path) -> None:
    machine = {"memory_bytes": 8 * GIB, "cpus": 64.0, "memory_source": "host", "cpus_source": "affinity"}
    for place in range(2):
        write(tmp_path, place, context_limits=machine)
    found = only(tmp_path, "train")
    assert {resource: one.asked for resource, one in found.advice.items()} == {
        Resource.MEMORY: None,
        Resource.CPUS: None,
        Resource.TIME: None,
    }


def test_without_a_job_all_are_sized_the_largest_saving_first(tmp_path: Path) -> None:
    for place in range(2):
        write(tmp_path, place)
        write(tmp_path, 10 + place, name="small", summary={"cgroup_mem_peak": 100 * MIB})
    write(tmp_path, 20, name="once")
    assert [one.job for one in sizing.size(str(tmp_path))] == ["small", "train", "once"]


@pytest.mark.parametrize(
    "wanted",
    [
        "vision/train",
        "train",
        "vision",
        "20261115T095000Z",
        "last",
        "command~make and wall>10s",
        "cgroup_mem_peak>1",
    ],
)
def test_a_job_is_found_by_key_name_project_run_or_filter(tmp_path: Path, wanted: str) -> None:
    for place in range(2):
        write(tmp_path, place, start_project="vision")
    assert only(tmp_path, wanted).job == "vision/train"


def test_several_words_for_one_job_count_its_runs_once(tmp_path: Path) -> None:
    for place in range(2):
        write(tmp_path, place)
    assert only(tmp_path, "train", "last", "train").runs == 2


def test_an_unknown_job_is_answered_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path, 0)
    with pytest.raises(UsageError, match="no job matches trane") as error:
        sizing.size(str(tmp_path), ["trane"])
    assert "train" in error.value.hint


def test_an_empty_home_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run to learn from"):
        sizing.size(str(tmp_path))


def test_only_runs_since_a_moment_count(tmp_path: Path) -> None:
    for place in range(4):
        write(tmp_path, place)
    since = folders.iso(STARTED + 1.5 * HOUR)
    assert only(tmp_path, since=since).runs == 2
    with pytest.raises(UsageError, match="soon is no time"):
        sizing.size(str(tmp_path), since="soon")
    with pytest.raises(UsageError, match="no run to learn from"):
        sizing.size(str(tmp_path), since="2099-01-01")


def test_live_and_failed_runs_teach_nothing(tmp_path: Path) -> None:
    write(tmp_path, 0)
    write(tmp_path, 1, status="failed", exit_code=1)
    found = only(tmp_path, "train")
    assert found.advice == {}
    assert (
        found.missing[Resource.MEMORY] == "not enough data: 1 of at least 2 runs that ended well tell of it"
    )


@pytest.mark.parametrize(
    "evidence",
    [
        {"summary": SUMMARY | {"cgroup_oom_kill": 1}},
        {"context_slurm": {"state": "OUT_OF_MEMORY"}},
    ],
)
def test_a_run_killed_for_memory_raises_the_advice(tmp_path: Path, evidence: dict[str, object]) -> None:
    for place in range(2):
        write(tmp_path, place, summary={"cgroup_mem_peak": 100 * MIB})
    write(tmp_path, 5, status="killed", signal="SIGKILL", exit_code=137, **evidence)
    assert memory(tmp_path).largest == 840 * MIB


@pytest.mark.parametrize(
    ("context", "asked"),
    [
        ({"context_options": {"timeout": 1800.0}}, 1800),
        ({"context_slurm": {"time_limit_seconds": 7200}}, 7200),
        ({"context_environment": {"SLURM_JOB_START_TIME": "1000", "SLURM_JOB_END_TIME": "4600"}}, 3600),
        ({}, None),
    ],
)
def test_the_time_limit_is_that_of_the_scheduler_or_of_the_recorder(
    tmp_path: Path, context: dict[str, object], asked: float | None
) -> None:
    for place in range(2):
        write(tmp_path, place, **context)
    assert only(tmp_path, "train").advice[Resource.TIME].asked == asked


def test_a_run_that_hit_its_time_limit_needed_more(tmp_path: Path) -> None:
    for place in range(2):
        write(tmp_path, place)
    write(tmp_path, 5, status="cancelled", exit_code=124, wall_seconds=1000.0)
    assert only(tmp_path, "train").advice[Resource.TIME].largest == 1200


def test_recorders_of_one_job_are_one_run_of_the_largest(tmp_path: Path) -> None:
    for place in range(4):
        summary = SUMMARY | {"cgroup_mem_peak": (500 + 100 * (place % 2)) * MIB}
        write(tmp_path, place, summary=summary, start_job_id=f"slurm-{place // 2}")
    found = only(tmp_path, "train")
    assert found.runs == 2
    assert found.advice[Resource.MEMORY].typical == 600 * MIB


def test_gpus_that_did_nothing_are_counted_out(tmp_path: Path) -> None:
    for place in range(2):
        folder = write(tmp_path, place, summary=SUMMARY | {"nvml_mean_util": 40.0})
        used = {"nvml_util": {"GPU-a": 80, "GPU-b": 0}}
        line = {"timestamp": folders.iso(STARTED + place * HOUR + 4), "num_samples": 1, "clock": {}}
        folders.append(folder / "usage.jsonl", *[line | {"measurements": used}] * 12)
    one = only(tmp_path, "train").advice[Resource.GPUS]
    assert (one.asked, one.advised, one.saving) == (2, 1, 0.5)


def test_gpus_of_which_no_series_tells_are_not_advised_on(tmp_path: Path) -> None:
    for place in range(2):
        write(tmp_path, place, summary=SUMMARY | {"nvml_mean_util": 40.0}, context_slurm={"gpus": "4"})
    assert only(tmp_path, "train").missing[Resource.GPUS] == "no GPU was seen"


def test_the_size_of_inputs_is_tagged_or_what_was_read(tmp_path: Path) -> None:
    for place in range(12):
        summary = {"cgroup_mem_peak": (100 + 10 * place) * MIB, "wait_rchar": 1}
        write(tmp_path, place, summary=summary, start_tags={"input_bytes": str(1000 * place)})
    small, large = (only(tmp_path, "train", input_bytes=size) for size in (1000.0, 11000.0))
    assert small.advice[Resource.MEMORY].advised < 0.75 * large.advice[Resource.MEMORY].advised


def test_sizes_are_read_as_people_write_them() -> None:
    assert sizing.parse_size("12GiB") == 12 * GIB
    assert sizing.parse_size("4096") == 4096
    for wrong in ("3s", "-1", "much"):
        with pytest.raises(UsageError, match="is no size"):
            sizing.parse_size(wrong)


TRACE = f"""task_id,hash,name,process,status,exit,cpus,memory,start,complete,realtime,%cpu,peak_rss,rchar
1,aa/1,NF:SORT (a),NF:SORT,COMPLETED,0,4,8589934592,1000000,1060000,60000,150.0,{GIB},100
2,aa/2,NF:SORT (b),NF:SORT,COMPLETED,0,4,8589934592,1100000,1160000,60000,150.0,{GIB},100
3,aa/3,NF:SORT (c),NF:SORT,FAILED,137,4,8589934592,1200000,1260000,60000,150.0,{8 * GIB},100
"""


def test_a_workflow_that_was_imported_is_sized_process_by_process(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text(TRACE)
    importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "trace.csv")])
    found = only(tmp_path / "home", "SORT")
    assert (found.job, found.runs) == ("NF:SORT", 3)
    assert found.advice[Resource.MEMORY].largest == pytest.approx(9.6 * GIB)
    assert found.advice[Resource.CPUS].advised == 2
    assert sizing.lines("nextflow", [found])[1] == "    withName: 'NF:SORT' {"


TIMED = f"""task_id,hash,name,process,status,exit,cpus,time,memory,start,complete,realtime,%cpu,peak_rss
1,aa/1,NF:SORT (a),NF:SORT,COMPLETED,0,4,4h,8589934592,1000000,1600000,600000,150.0,{GIB}
2,aa/2,NF:SORT (b),NF:SORT,COMPLETED,0,4,14400000,8589934592,2000000,2660000,660000,150.0,{GIB}
{{more}}"""


def sized_sort(tmp_path: Path, more: str = "") -> JobSizing:
    (tmp_path / "trace.csv").write_text(TIMED.format(more=more))
    importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "trace.csv")])
    return only(tmp_path / "home", "SORT")


def test_the_time_a_workflow_asked_for_is_sized_too(tmp_path: Path) -> None:
    found = sized_sort(tmp_path)
    one = found.advice[Resource.TIME]
    assert (one.asked, one.largest) == (4 * HOUR, 660)
    assert one.advised < 1 * HOUR
    minutes = int(one.advised / 60)
    assert f"        time = {{ task.attempt == 1 ? {minutes}.min : 240.min }}" in sizing.lines(
        "nextflow", [found]
    )


@pytest.mark.parametrize("code", [137, 140, 143])
def test_a_task_that_was_stopped_at_its_time_limit_needed_more_time_and_no_memory(
    tmp_path: Path, code: int
) -> None:
    row = f"3,aa/3,NF:SORT (c),NF:SORT,FAILED,{code},4,20m,8589934592,3000000,4201000,1201000,150.0,{GIB}\n"
    found = sized_sort(tmp_path, row)
    assert found.advice[Resource.TIME].largest == pytest.approx(1441.2)
    assert found.advice[Resource.MEMORY].largest == GIB


SACCT = """JobID|JobName|State|ExitCode|Elapsed|TotalCPU|MaxRSS|ReqMem|AllocCPUS|Timelimit|Start|End
{rows}"""
ROW = """{id}|align|COMPLETED|0:0|00:10:00|00:19:00||16G|8|04:00:00|2026-11-1{day}T08:00:00|2026-11-1{day}T08:10:00
{id}.batch|batch|COMPLETED|0:0|00:10:00|00:19:00|{kib}K|16G|8||2026-11-1{day}T08:00:00|2026-11-1{day}T08:10:00
"""


def test_jobs_of_sacct_are_sized_against_what_they_asked_slurm_for(tmp_path: Path) -> None:
    rows = "".join(ROW.format(id=100 + day, day=day, kib=3 * MIB + day) for day in range(3))
    (tmp_path / "sacct.txt").write_text(SACCT.format(rows=rows))
    importing.import_paths(str(tmp_path / "home"), [str(tmp_path / "sacct.txt")])
    found = only(tmp_path / "home", "align")
    asked = {resource: one.asked for resource, one in found.advice.items()}
    assert asked == {Resource.MEMORY: 16 * GIB, Resource.CPUS: 8, Resource.TIME: 4 * HOUR}
    assert found.advice[Resource.CPUS].advised == 3
    assert found.advice[Resource.MEMORY].largest == 3 * GIB + 2048
    assert [line.partition("=")[0] for line in sizing.lines("slurm", [found])] == [
        "#SBATCH --mem",
        "#SBATCH --cpus-per-task",
        "#SBATCH --time",
    ]

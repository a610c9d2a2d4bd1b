"""One run on one screen."""

import io
from dataclasses import replace

import pytest

from jobmeter.cli.render import page
from jobmeter.cli.render.screen import Screen
from jobmeter.model import text
from jobmeter.model.run import CommandShare, Headline, Limits, Output, Provenance, Run, Status
from jobmeter.model.view import Event, Process, RunView

pytestmark = pytest.mark.usefixtures("utc")

GIB = 2**30
NOW = 1794736261.0
RUN = Run(
    run_id="20261115T095001Z-7f3a9c",
    job_id="20261115T095001Z-7f3a9c",
    status=Status.KILLED,
    command=("make", "-j4", "all things"),
    cwd="/home/u/src",
    name="nightly",
    project="app",
    message="again",
    tags={"exp": "base"},
    notes=("look here",),
    host="node7",
    user="u",
    exit_code=137,
    signal="SIGKILL",
    started_at=1794736201.123,
    ended_at=1794736261.123,
    wall_seconds=60.0,
    headline={
        "cpu_seconds": Headline(value=45.0, low=45.0, high=45.0, keys=("wait_cputime",), exact=True),
        "memory_peak_bytes": Headline(
            value=4.0 * GIB,
            low=4.0 * GIB,
            high=5.0 * GIB,
            keys=("cgroup_mem_peak", "cgroup_peak_mem_file"),
            exact=False,
        ),
        "io_read_bytes": Headline(value=4096, low=4096, high=4096, keys=("wait_read_bytes",), exact=True),
        "gpu_util_percent": Headline(value=81.0, low=81.0, high=81.0, keys=("nvml_util",), exact=True),
    },
    summary={"cgroup_mem_peak": 5 * GIB},
    by_command=(
        CommandShare(command="sh", cpu_seconds=0.5, processes=1),
        CommandShare(command="cc1plus", cpu_seconds=36.0, peak_rss_bytes=402653184, processes=118),
    ),
    limits=Limits(memory_bytes=8 * GIB, cpus=4.0),
    provenance=Provenance(
        missing={"nvml": "no NVIDIA driver"},
        inexact={"wait_cputime": "SIGCHLD ignored"},
        dropped={"usage": 3, "run": 0},
    ),
    outputs=(Output(stream="stderr", mode="inherited", path="/home/u/slurm-17.out", offset=812),),
    context={
        "git": {"commit": "a" * 40, "branch": "main"},
        "limits": {"memory_source": "cgroup"},
        "processes_left": [{"pid": 99, "command": "sleep"}],
    },
)
VIEW = RunView(
    run=RUN, series={}, events=(Event(timestamp=1794736230.0, type="oom_kill", details={"count": 1}),)
)


def render(view: RunView, width: int = 0) -> list[str]:
    return page.render(view, Screen(io.StringIO(), width=width, colour=False), NOW)


def test_all_that_is_known_stands_on_one_page() -> None:
    assert render(VIEW) == [
        "nightly: make -j4 'all things'",
        "20261115T095001Z-7f3a9c  app  u@node7  /home/u/src",
        "",
        "status    killed by SIGKILL, exit code 137",
        "time      1 min 00 s, 2026-11-15 09:50:01 to 09:51:01",
        "CPU       45 s = 0.75 cores of 4, 19 %                    wait_cputime",
        "memory    ~4 GiB peak, 50 % of the cgroup limit of 8 GiB  cgroup_mem_peak - cgroup_peak_mem_file",
        "          between 4 GiB and 5 GiB",
        "          5 GiB charged, page cache included              cgroup_mem_peak",
        "IO        4 KiB read                                      wait_read_bytes",
        "GPU       81 % busy                                       nvml_util",
        "who       cc1plus    80 % of CPU, 36 s, 118 processes, largest 384 MiB",
        "          sh        1.1 % of CPU, 500 ms, 1 process",
        "          8.5 s of CPU (19 %) not seen by sampling",
        "events    09:50:30 oom_kill: count=1",
        "tags      exp=base",
        "message   again",
        "notes     look here",
        "git       aaaaaaaaaaaa main",
        "stderr    /home/u/slurm-17.out",
        "missing   nvml: no NVIDIA driver",
        "inexact   wait_cputime: SIGCHLD ignored",
        "dropped   3 of usage",
        "left      still running when the command ended: sleep (99)",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_every_line_fits_the_screen(width: int) -> None:
    assert max(text.width(line) for line in render(VIEW, width)) <= width


def test_a_run_of_which_nothing_is_known_says_only_that() -> None:
    bare = Run(run_id="r", job_id="r", status=Status.LOST, command=())
    assert render(RunView(run=bare, series={})) == [
        "(no command recorded)",
        "r",
        "",
        "status    lost: the recorder vanished, what follows stops where it did",
    ]


def test_a_live_run_says_how_long_it_has_been_going() -> None:
    live = replace(RUN, status=Status.RUNNING, wall_seconds=None, ended_at=None, exit_code=None, signal=None)
    lines = render(RunView(run=live, series={}))
    assert lines[3:5] == ["status    running", "time      59.9 s so far, since 2026-11-15 09:50:01"]


def test_what_others_named_cannot_act_on_the_terminal() -> None:
    evil = "x\x1b]0;owned\x07\n\u202e"
    run = replace(
        RUN,
        command=(evil,),
        name=evil,
        project=evil,
        cwd=evil,
        host=evil,
        user=evil,
        signal=evil,
        message=evil,
        tags={evil: evil},
        notes=(evil,),
        by_command=(CommandShare(command=evil, cpu_seconds=1.0),),
        provenance=Provenance(missing={evil: evil}, inexact={evil: evil}, dropped={evil: 1}, origin=evil),
        outputs=(Output(stream=evil, mode="inherited", path=evil),),
        context={
            "git": {"commit": evil, "branch": evil},
            "processes_left": [{"pid": 1, "command": evil}],
            "limits": {"memory_source": evil},
        },
        headline={"cpu_seconds": Headline(value=1.0, low=1.0, high=1.0, keys=(evil,), exact=True)},
    )
    view = RunView(run=run, series={}, events=(Event(timestamp=1e300, type=evil, details={evil: evil}),))
    assert all(line.isprintable() for line in render(view, 80))


def test_a_long_command_takes_three_lines_at_most() -> None:
    run = replace(RUN, command=tuple(f"argument{number}" for number in range(100)))
    lines = render(RunView(run=run, series={}), 80)
    assert lines[2].endswith("…")
    assert lines[3].startswith("20261115T095001Z")


def test_many_commands_are_counted_not_listed() -> None:
    shares = tuple(CommandShare(command=f"c{number}", cpu_seconds=4.5) for number in range(10))
    lines = render(RunView(run=replace(RUN, by_command=shares), series={}))
    assert "          and 4 more, see --json" in lines


def test_gpus_are_named_with_the_fullest_and_energy_with_its_cost() -> None:
    run = replace(
        RUN,
        headline={
            "gpu_util_percent": Headline(
                value=93.0, low=93.0, high=93.0, keys=("nvml_mean_util",), exact=False
            ),
            "energy_joules": Headline(
                value=5400.0, low=5400.0, high=5400.0, keys=("nvml_energy",), exact=True
            ),
        },
        summary={
            "nvml_energy": 5400.0,
            "nvml_name": "NVIDIA H200",
            "nvml_peak_count": 8,
            "nvml_peak_mem_used": 70 * GIB,
            "nvml_peak_mem_total": 140 * GIB,
        },
        context={"options": {"energy_price": "0.31 EUR"}},
    )
    shown = "\n".join(render(RunView(run=run, series={}), 100))
    assert "8 x NVIDIA H200, fullest 70 GiB of 140 GiB in use (50 %)" in shown
    assert "5.40 kJ = 0.0015 kWh, 0.00047 EUR" in shown


def test_a_source_that_failed_is_named_with_how_it_stands() -> None:
    failed = {"state": "unusable", "failures": 0, "error": "NVML: Driver Not Loaded", "devices": []}
    healed = {"state": "closed", "failures": 1, "error": "the GPU helper ended", "devices": []}
    run = replace(RUN, context={"sources": {"nvml": failed, "rocm": healed, "rapl": {"counters": []}}})
    lines = render(RunView(run=run, series={}), 100)
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("failed")] == [
        "nvml: NVML: Driver Not Loaded (unusable)",
        "rocm: the GPU helper ended (works again)",
    ]


def test_an_event_names_its_rank_where_there_are_several() -> None:
    told = (Event(timestamp=1794736230.0, type="milestone", rank=3),)
    alone, several = RunView(run=RUN, series={}, events=told), replace(RUN, ranks=(0, 3))
    assert "events    09:50:30 milestone" in render(alone)
    assert "events    09:50:30 rank 3 milestone" in render(RunView(run=several, series={}, events=told))


def test_a_training_has_its_loop_and_its_workers_apart() -> None:
    cast = [(10, "main", 4.0, GIB), (11, "worker", 1.0, GIB // 4), (12, "worker", 2.0, GIB // 4)]
    processes = tuple(
        Process(
            instance=f"{pid}@1",
            pid=pid,
            role=role,
            cpu_seconds=cpu,
            peak_rss_bytes=size,
            first_seen=1.0,
            last_seen=9.0,
        )
        for pid, role, cpu, size in cast
    )
    shown = render(replace(VIEW, processes=processes))
    assert [line for line in shown if "resident at once" in line] == [
        "roles     main     1 process, 1 GiB resident at once, 4 s of CPU",
        "          workers  2 processes, 512 MiB resident at once, 3 s of CPU",
    ]


def test_a_part_of_a_job_points_to_the_whole() -> None:
    other = replace(RUN, run_id="20261115T095002Z-000000")
    shown = render(replace(VIEW, siblings=(other,)))
    assert f"job       2 runs; `jobmeter ranks {RUN.run_id}` compares its ranks" in shown


def test_a_run_of_which_only_the_duration_is_known_says_it() -> None:
    run = Run(run_id="r", job_id="r", status=Status.COMPLETED, command=(), wall_seconds=63_600.0)
    assert "time      17 h 40 min" in render(RunView(run=run, series={}))


def test_an_imported_file_without_a_command_is_called_by_its_name() -> None:
    run = Run(
        run_id="r",
        job_id="r",
        status=Status.LOST,
        command=(),
        name="train.log",
        provenance=Provenance(origin="log"),
    )
    lines = render(RunView(run=run, series={}))
    assert lines[0] == "train.log"
    assert "status    not known: nothing says how it ended" in lines

"""The columns of `ls`: what is written, and that no two methods are merged silently."""

import io
from dataclasses import replace

import pytest

from jobmeter.cli import columns, ls
from jobmeter.cli.render.screen import Screen
from jobmeter.errors import UsageError
from jobmeter.model.measurement import Kind, Measurement, Reduce, Scope, Stat, Unit
from jobmeter.model.run import Headline, Limits, Run, Status
from jobmeter.model.steps import MetricSummary, StepSummary

pytestmark = pytest.mark.usefixtures("utc")

MIB = 2**20
NOW = 1794739801.0
"""2026-11-15T10:50:01Z, an hour after the runs began."""


def memory(value: float, *keys: str, exact: bool = True) -> dict[str, Headline]:
    return {"memory_peak_bytes": Headline(value=value, low=value, high=value, keys=keys, exact=exact)}


DONE = Run(
    run_id="20261115T095001Z-7f3a9c",
    job_id="20261115T095001Z-7f3a9c",
    status=Status.COMPLETED,
    command=("make", "-j4"),
    started_at=1794736201.0,
    wall_seconds=75.0,
    exit_code=0,
    headline=memory(700 * MIB, "cgroup_mem_peak"),
)
LIVE = Run(
    run_id="20261115T095002Z-000002",
    job_id="20261115T095002Z-000002",
    status=Status.RUNNING,
    command=("sleep", "9"),
    started_at=1794736201.0,
    headline=memory(20 * MIB, "proc_peak_pss_total", exact=False),
)


def lines(*runs: Run, chosen: str | None = None, width: int = 0) -> list[str]:
    out = Screen(io.StringIO(), width=width, colour=False)
    return ls.lines(runs, ls.chosen_fields(chosen), out, NOW, usual=chosen is None)


def test_one_method_is_named_once() -> None:
    assert lines(DONE) == [
        "RUN                      STATUS     STARTED       WALL   MEMORY  COMMAND",
        "20261115T095001Z-7f3a9c  completed  11-15 09:50  1m15s  700 MiB  make -j4",
        "MEMORY by cgroup_mem_peak",
    ]


def test_two_methods_are_told_apart_in_every_cell() -> None:
    assert lines(DONE, LIVE) == [
        "RUN                      STATUS     STARTED        WALL       MEMORY  COMMAND",
        "20261115T095001Z-7f3a9c  completed  11-15 09:50   1m15s  700 MiB cg   make -j4",
        "20261115T095002Z-000002  running    11-15 09:50  1h00m+  ~20 MiB pss  sleep 9",
        "MEMORY by cg = cgroup_mem_peak, pss = proc_peak_pss_total",
    ]


def test_two_keys_of_one_tool_have_two_names() -> None:
    other = replace(DONE, headline=memory(1, "cgroup_peak_mem_unreclaimable"))
    shown = lines(DONE, other, chosen="memory_peak")
    assert shown == [
        "     MEMORY",
        "700 MiB cg",
        "    1 B cg2",
        "MEMORY by cg = cgroup_mem_peak, cg2 = cgroup_peak_mem_unreclaimable",
    ]


def test_the_legend_speaks_only_of_columns_that_are_shown() -> None:
    assert lines(DONE, chosen="id,status") == [
        "RUN                      STATUS",
        "20261115T095001Z-7f3a9c  completed",
    ]


@pytest.mark.parametrize(
    ("run", "shown"),
    [
        (replace(DONE, status=Status.FAILED, exit_code=2), "failed 2"),
        (replace(DONE, status=Status.KILLED, exit_code=137, signal="SIGKILL"), "killed KILL"),
        (replace(DONE, status=Status.CANCELLED, exit_code=143, signal="SIGTERM"), "cancelled TERM"),
        (replace(DONE, status=Status.LOST, exit_code=None), "lost"),
    ],
)
def test_a_status_says_why(run: Run, shown: str) -> None:
    assert lines(run, chosen="status")[1] == shown


def test_a_summary_key_has_its_unit() -> None:
    definition = Measurement(
        "proc_rss_total", Kind.GAUGE, Unit.BYTES, Scope.JOB, (Reduce.MAX,), (Stat.PEAK,), "resident"
    )
    run = replace(DONE, summary={"proc_peak_rss_total": 5 * MIB}, definitions={"proc_rss_total": definition})
    assert lines(run, DONE, chosen="proc_peak_rss_total") == [
        "proc_peak_rss_total",
        "              5 MiB",
        "",
    ]


def test_every_field_can_be_a_column() -> None:
    run = replace(
        DONE,
        tags={"exp": "a\x1bb"},
        name="n",
        samples=1234,
        limits=Limits(memory_bytes=2**30),
        disk_bytes=4096,
        headline={
            "cpu_seconds": Headline(value=150.0, low=150.0, high=150.0, keys=("wait_cputime",), exact=True)
        },
    )
    shown = lines(run, chosen="tag.exp,name,samples,memory_limit,disk,cpu_seconds,cores,exit_code")
    assert shown == [
        "tag.exp  NAME  SAMPLES  LIMIT   DISK    CPU  CORES  EXIT",
        "a\\x1bb   n       1,234  1 GiB  4 KiB  2m30s   2.00     0",
        "CPU by wait_cputime",
    ]


def test_a_run_of_another_year_shows_the_year() -> None:
    assert lines(replace(DONE, started_at=1763200201.0), chosen="started")[1] == "2025-11-15"
    assert lines(replace(DONE, started_at=1e300), chosen="started")[1] == "?"


def test_a_plus_adds_to_the_usual_columns() -> None:
    assert ls.chosen_fields("+host,wall") == (*columns.DEFAULT, "host")


@pytest.mark.parametrize("given", ["", ",", "colour", "id,tag."])
def test_an_unknown_column_is_refused(given: str) -> None:
    with pytest.raises(UsageError):
        ls.chosen_fields(given)


def test_the_list_fits_eighty_columns() -> None:
    long = replace(
        DONE, command=tuple(f"argument{number}" for number in range(20)), name="a very long name indeed"
    )
    shown = lines(long, LIVE, width=80)
    assert max(map(len, shown)) <= 80
    assert shown[0].split() == ["RUN", "STATUS", "WALL", "MEMORY", "NAME", "COMMAND"]


TRAINED = replace(
    DONE,
    command=("/bin/python", "train.py"),
    headline={
        "gpu_util_percent": Headline(value=95.2, low=95.2, high=95.2, keys=("nvml_mean_util",), exact=False),
        "gpu_memory_peak_bytes": Headline(
            value=12 * 2**30, low=1, high=2, keys=("nvml_peak_mem_used_total",), exact=False
        ),
        "energy_joules": Headline(value=5400.0, low=5400.0, high=5400.0, keys=("nvml_energy",), exact=True),
    },
    steps=StepSummary(
        count=600, last_step=599, metrics={"loss": MetricSummary(first=2.9, last=0.4509, low=0.36, high=2.9)}
    ),
)


def test_a_training_shows_its_gpu_its_step_and_its_loss_without_being_asked() -> None:
    assert lines(TRAINED) == [
        "RUN                      STATUS     STARTED       WALL    GPU  GPU MEM  STEP    LOSS  COMMAND",
        "20261115T095001Z-7f3a9c  completed  11-15 09:50  1m15s  ~95 %  ~12 GiB   599  0.4509  /bin/python train.py",
        "GPU by nvml_mean_util; GPU MEM by nvml_peak_mem_used_total",
    ]


def test_energy_can_be_a_column() -> None:
    assert lines(TRAINED, chosen="energy")[1] == "5.40 kJ"


def test_memory_less_its_cache_is_named_as_a_difference() -> None:
    run = replace(DONE, headline=memory(700 * MIB, "cgroup_mem_peak", "cgroup_peak_mem_file"))
    assert lines(run)[-1] == "MEMORY by cgroup_mem_peak - cgroup_peak_mem_file"


def test_where_a_program_lies_gives_way_before_its_arguments_do() -> None:
    assert lines(TRAINED, width=104)[1].endswith("  python train.py")
    assert lines(replace(TRAINED, command=("/",)), width=60)[1].endswith("  /")

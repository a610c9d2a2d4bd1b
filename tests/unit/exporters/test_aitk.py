"""A run as the rows of ai-toolkit's tables, built by hand and without files."""

import json
import math

import pytest

from jobmeter.exporters import aitk
from jobmeter.model.aitk import Sample
from jobmeter.model.measurement import Kind, Unit
from jobmeter.model.run import Status
from jobmeter.model.steps import Step, Steps, StepSummary
from jobmeter.model.view import RunView, Window
from support import views
from support.views import GIB, MIB, STARTED

CONFIG = {"config": {"process": [{"train": {"batch_size": 4}}]}}
HOST = {"memory_bytes": 16 * GIB, "cpus": 4}
MAIN, FIRST, SECOND = "10@1", "11@2", "12@2"


def sample(second: float, *, count: int = 1, available: int = 12 * GIB, **more: object) -> Window:
    """Build what one sample of the whole job and its machine says."""
    values: dict[tuple[str, str], object] = {
        ("host_mem_available", ""): available,
        ("host_swap_used", ""): GIB,
        ("host_cputime", ""): 2.0,
        ("proc_count", ""): count,
    }
    values |= {(name, "GPU-1"): value for name, value in more.items()}
    clock = {"host": (second - 1.0, second)}
    return Window(timestamp=STARTED + second, num_samples=1, clock=clock, values=values)  # type: ignore[arg-type]


def processes(second: float, key: str = "proc_last_rss", **sizes: object) -> Window:
    """Build a report of single processes: `p10=(size, role)` or `p10=size`."""
    names = {"p10": MAIN, "p11": FIRST, "p12": SECOND, "rest": "rest"}
    values: dict[tuple[str, str], object] = {}
    for name, told in sizes.items():
        size, role = told if isinstance(told, tuple) else (told, None)
        values[key, names[name]] = size
        if role:
            values["proc_role", names[name]] = role
    return Window(timestamp=STARTED + second, num_samples=1, clock={}, values=values)  # type: ignore[arg-type]


def view(*rows: Step, config: object = CONFIG, **facts: object) -> RunView:
    steps = views.steps(*rows) if rows else Steps()
    summary = StepSummary(count=len(rows), last_step=0, source="log:tqdm") if rows else None
    known: dict[str, object] = {"context": {"host": HOST, "config": config}, "steps": summary}
    made = views.view((), **(known | facts))  # type: ignore[arg-type]  # facts are a run's
    return RunView(run=made.run, series={}, steps=steps)


def step(number: int, second: float | None, **metrics: float) -> Step:
    moment = None if second is None else STARTED + second
    return Step(timestamp=moment, step=number, rank=0, source="log:tqdm", metrics=metrics)


def test_a_sample_has_every_figure_in_gib() -> None:
    windows = [
        sample(1, count=3, nvml_mem_used=3 * GIB, nvml_util=80),
        processes(
            1, p10=(2 * GIB, "main"), p11=(512 * MIB, "worker"), p12=(256 * MIB, "worker"), rest=9 * GIB
        ),
    ]
    assert aitk.tables(view(), windows).samples == [
        Sample(
            timestamp=STARTED + 1,
            total_memory_gb=16.0,
            used_memory_gb=4.0,
            available_memory_gb=12.0,
            swap_used_gb=1.0,
            main_process_memory_gb=2.0,
            worker_memory_gb=0.75,
            worker_count=2,
            gpu_memory_used_gb=3.0,
            gpu_utilization_percent=80.0,
            cpu_utilization_percent=50.0,
        )
    ]


def test_what_was_not_measured_is_null() -> None:
    bare = Window(timestamp=STARTED, num_samples=1, clock={}, values={("proc_count", ""): 1})
    (row,) = aitk.tables(view(context={}), [bare]).samples
    assert row == Sample(timestamp=STARTED)


def test_a_sample_knows_the_processes_reported_after_it() -> None:
    windows = [sample(1), processes(1, p10=(GIB, "main")), sample(2), processes(2, p10=2 * GIB), sample(3)]
    found = [row.main_process_memory_gb for row in aitk.tables(view(), windows).samples]
    assert found == [1.0, 2.0, 2.0]


def test_a_last_look_at_counters_is_no_sample() -> None:
    known = view(definitions=(views.define("host_mem_available", Kind.GAUGE, Unit.BYTES),))
    last = Window(timestamp=STARTED + 2, num_samples=1, clock={}, values={("proc_count", ""): 1})
    assert [row.timestamp for row in aitk.tables(known, [sample(1), last]).samples] == [STARTED + 1]


def test_shared_pages_count_for_the_loop_that_made_them() -> None:
    # both forks see the gigabyte of their parent; only the proportional sizes tell
    forked = processes(1, p10=(GIB, "main"), p11=(GIB + 64 * MIB, "worker"), p12=(GIB + 64 * MIB, "worker"))
    told = processes(2, p10=GIB, p11=GIB + 64 * MIB, p12=GIB + 64 * MIB)
    values = told.values | processes(2, "proc_last_pss", p11=128 * MIB, p12=128 * MIB).values
    read = Window(timestamp=told.timestamp, num_samples=1, clock={}, values=values)
    grown = processes(3, p11=GIB + 192 * MIB)
    rows = aitk.tables(
        view(), [sample(1, count=3), forked, sample(2, count=3), read, sample(3, count=3), grown]
    )
    assert [row.worker_memory_gb for row in rows.samples] == [0.25, 0.25, 0.375]


def test_workers_that_ended_are_not_counted() -> None:
    alive = processes(1, p10=(GIB, "main"), p11=(GIB, "worker"), p12=(GIB, "worker"))
    windows = [
        sample(1, count=3),
        alive,
        sample(2, count=3),
        processes(2, p12=GIB),
        sample(3, count=2),
        sample(4),
    ]
    assert [row.worker_count for row in aitk.tables(view(), windows).samples] == [2, 2, 1, 0]
    assert [row.main_process_memory_gb for row in aitk.tables(view(), windows).samples] == [1.0] * 4


def test_a_worker_that_waits_for_its_parent_is_not_counted() -> None:
    windows = [sample(1, count=2), processes(1, p10=(GIB, "main"), p11=(0, "worker"))]
    assert aitk.tables(view(), windows).samples[0].worker_count == 0


def test_a_machine_is_never_busier_than_all_of_it() -> None:
    window = sample(1)
    busy = Window(
        timestamp=window.timestamp,
        num_samples=1,
        clock=window.clock,
        values=window.values | {("host_cputime", ""): 4.2},
    )
    assert aitk.tables(view(), [busy]).samples[0].cpu_utilization_percent == 100.0


def test_steps_carry_what_the_bar_said() -> None:
    rows = [
        step(1, 1.0, **{"lr": 1e-4, "loss": 0.5, "s/it": 2.5}),
        step(2, 4.0, **{"lr": 1e-4, "loss": 0.25, "it/s": 0.5, "grad_norm": 1.5, "batch_size": 8}),
        step(4, 10.0, loss=math.nan),
        step(5, None, loss=0.1),
    ]
    found = aitk.tables(view(*rows), []).steps
    assert [(row.step, row.batch_size, row.learning_rate) for row in found] == [
        (1, 4, 1e-4),
        (2, 8, 1e-4),
        (4, 4, None),
    ]
    assert [row.step_time_seconds for row in found] == [2.5, 2.0, 3.0]
    assert (found[0].loss, found[1].loss, found[1].gradient_norm) == (0.5, 0.25, 1.5)
    assert math.isnan(found[2].loss or 0.0)


def test_what_a_resumed_loop_replaced_is_left_out() -> None:
    rows = [step(1, 1.0, loss=3.0), step(2, 2.0, loss=2.0), step(2, 9.0, loss=1.0)]
    assert [(row.step, row.loss) for row in aitk.tables(view(*rows), []).steps] == [(1, 3.0), (2, 1.0)]


def test_a_first_step_without_a_speed_took_nobody_knows_how_long() -> None:
    (row,) = aitk.tables(view(step(1, 1.0, accuracy=0.5)), []).steps
    assert (row.step_time_seconds, row.loss) == (None, None)


@pytest.mark.parametrize(
    "config", [None, {"config": {"process": []}}, {"config": {"process": [{"train": {}}]}}]
)
def test_a_config_without_a_batch_size_says_none(config: object) -> None:
    (row,) = aitk.tables(view(step(1, 1.0, loss=0.5), config=config), []).steps
    assert row.batch_size is None


def test_a_changed_batch_size_holds_from_then_on() -> None:
    made = view(step(1, 1.0, loss=1.0), step(2, 5.0, loss=1.0), step(3, 9.0, loss=1.0))
    events = (
        views.event(4, "batch_size_changed", batch_size=2),
        views.event(8, "batch_size_changed", to=1),
        views.event(8.5, "batch_size_changed", to="auto"),
    )
    changed = RunView(run=made.run, series={}, events=events, steps=made.steps)
    assert [row.batch_size for row in aitk.tables(changed, []).steps] == [4, 2, 1]


def test_events_name_the_sample_before_them_and_the_config() -> None:
    made = view(ended_at=STARTED + 9)
    found = RunView(run=made.run, series={}, events=(views.event(2.5, "oom_kill", victim="python"),))
    rows = aitk.tables(found, [sample(1), sample(2), sample(3)]).events
    assert [(row.event_type, row.sample) for row in rows] == [
        ("training_start", 0),
        ("oom_kill", 1),
        ("training_end", 2),
    ]
    assert json.loads(rows[1].details) == {"victim": "python", "config": CONFIG}
    assert json.loads(rows[2].details) == {"status": "completed", "exit_code": 0, "config": CONFIG}


@pytest.mark.parametrize("status", [Status.FAILED, Status.KILLED])
def test_a_crash_is_an_error_not_an_end(status: Status) -> None:
    made = aitk.tables(
        view(status=status, exit_code=None, signal="SIGKILL", ended_at=STARTED + 9, config={}), []
    )
    assert (made.events[-1].event_type, made.events[-1].sample) == ("training_error", None)
    assert json.loads(made.events[-1].details) == {"status": status.value, "signal": "SIGKILL"}
    assert made.report.health_score == "warning"
    assert json.loads(made.report.summary)["training_completed"] is False


def test_a_run_whose_recorder_vanished_ended_where_it_was_last_seen() -> None:
    made = aitk.tables(view(status=Status.LOST, exit_code=None), [sample(1), sample(7)])
    assert (made.events[-1].event_type, made.events[-1].timestamp) == ("training_error", STARTED + 7)
    assert (made.begin, made.end) == (STARTED, STARTED + 7)


def test_a_training_that_was_stopped_did_not_crash() -> None:
    made = aitk.tables(view(status=Status.CANCELLED, ended_at=STARTED + 9), [])
    assert made.events[-1].event_type == "training_end"


def test_a_training_that_goes_on_has_no_end() -> None:
    made = aitk.tables(view(status=Status.RUNNING), [sample(1)])
    assert [row.event_type for row in made.events] == ["training_start"]


def test_nothing_known_gives_no_rows_but_a_report() -> None:
    made = aitk.tables(view(status=Status.LOST, started_at=None, wall_seconds=None, exit_code=None), [])
    assert (made.samples, made.events, made.steps, made.begin, made.end) == ([], [], [], 0.0, 0.0)
    assert json.loads(made.report.summary) == {"health_score": "warning", "training_completed": False}


@pytest.mark.parametrize(
    ("available", "health"), [(4 * GIB, "good"), (2 * GIB, "warning"), (GIB // 2, "critical")]
)
def test_health_follows_the_thresholds(available: int, health: str) -> None:
    made = aitk.tables(view(), [sample(1, available=available)])
    assert made.report.health_score == health


def test_health_follows_the_thresholds_of_the_config() -> None:
    context = {"host": HOST, "monitoring": {"memory_critical_threshold": 0.2}}
    assert aitk.tables(view(context=context), [sample(1)]).report.health_score == "critical"


def test_running_out_of_memory_is_critical() -> None:
    made = RunView(run=view().run, series={}, events=(views.event(1, "oom"),))
    assert aitk.tables(made, []).report.health_score == "critical"


def test_the_report_sums_up() -> None:
    made = aitk.tables(view(step(7, 1.0, loss=0.5), wall_seconds=90.0, ended_at=STARTED + 90), [sample(1)])
    assert json.loads(made.report.summary) == {
        "health_score": "good",
        "peak_memory_gb": 4.0,
        "total_memory_gb": 16.0,
        "training_completed": True,
        "steps_completed": 7,
        "duration_minutes": 1.5,
    }
    assert (made.report.created_at, made.report.peak_memory_gb) == (STARTED + 90, 4.0)

"""A run becomes the description of its plot: which panels, which lines, which words."""

import pytest
from tests.support import views
from tests.support.views import MIB, counter, define, event, gauge

from jobmeter.model.measurement import Kind, Scope, Unit
from jobmeter.model.panel import Panel, Quantity, Role
from jobmeter.model.run import CommandShare, Headline, Provenance, Status
from jobmeter.model.view import RunView
from jobmeter.service import plotting


def panels(run_view: RunView) -> dict[str, Panel]:
    return {made.name: made for made in plotting.describe(run_view).panels}


def headline(value: float, *keys: str) -> Headline:
    return Headline(value=value, low=value, high=value, keys=keys, exact=True)


def test_cpu_is_cores_used_from_deltas_and_their_spans() -> None:
    series = [counter("cgroup_cputime", [(2, 1.0), (4, 6.0)], span=2.0)]
    cpu = panels(views.view(series, (views.CPU,)))["cpu"]
    assert cpu.quantity is Quantity.CORES
    assert cpu.lines[0].times == (0.0, 2.0, 4.0)
    assert cpu.lines[0].values == (None, 0.5, 3.0)
    assert cpu.lines[0].step is True


def test_cpu_comes_from_the_job_s_own_cgroup_before_the_sum_of_waits() -> None:
    series = [counter("wait_cputime", [(1, 1.0), (2, 1.0)]), counter("cgroup_cputime", [(1, 1.1), (2, 1.1)])]
    cpu = panels(views.view(series, (views.CPU, views.WAIT_CPU)))["cpu"]
    assert [line.key for line in cpu.lines] == ["cgroup_cputime"]


def test_cpu_comes_from_the_key_of_record_where_the_run_names_one() -> None:
    series = [counter("wait_cputime", [(1, 1.0), (2, 1.0)]), counter("cgroup_cputime", [(1, 1.1), (2, 1.1)])]
    run_view = views.view(
        series, (views.CPU, views.WAIT_CPU), headline={"cpu_seconds": headline(2.0, "wait_cputime")}
    )
    assert panels(run_view)["cpu"].lines[0].key == "wait_cputime"


def test_a_percent_of_one_core_is_shown_in_cores() -> None:
    percent = define("ps_pdcpu_total", Kind.GAUGE, Unit.PERCENT)
    cpu = panels(views.view([gauge("ps_pdcpu_total", [(1, 150.0), (2, 50.0)])], (percent,)))["cpu"]
    assert cpu.lines[0].values == (1.5, 0.5)
    assert cpu.lines[0].label == "seen by sampling"


def test_the_lifetime_average_of_ps_is_not_called_a_rate() -> None:
    percent = define("ps_pcpu_total", Kind.GAUGE, Unit.PERCENT)
    cpu = panels(views.view([gauge("ps_pcpu_total", [(1, 300.0), (2, 50.0)])], (percent,)))["cpu"]
    assert cpu.lines[0].label == "lifetime average, not a rate"


def test_cpu_of_the_enclosing_cgroup_says_whose_it_is() -> None:
    outer = define("cgroup_outer_cputime", Kind.COUNTER, Unit.SECONDS)
    run_view = views.view(
        [counter("cgroup_outer_cputime", [(1, 1.0), (2, 1.0)])],
        (outer,),
        headline={"cpu_seconds": headline(2.0, "cgroup_outer_cputime")},
    )
    assert panels(run_view)["cpu"].lines[0].label == "used by the enclosing cgroup"


def test_an_inexact_number_says_why_beneath_its_panel() -> None:
    run_view = views.view(
        [counter("wait_cputime", [(1, 1.0), (2, 1.0)])],
        (views.WAIT_CPU,),
        provenance=Provenance(inexact={"wait_cputime": "the job ignores SIGCHLD"}),
    )
    assert panels(run_view)["cpu"].note == "wait_cputime is inexact: the job ignores SIGCHLD"


def test_io_is_bytes_per_second_read_and_written() -> None:
    io = panels(views.build_run())["io"]
    assert [(line.label, line.key) for line in io.lines] == [
        ("read", "wait_read_bytes"),
        ("write", "wait_write_bytes"),
    ]
    assert io.quantity is Quantity.BYTES_PER_SECOND
    assert io.lines[1].values == (None, 0.0, 0.0, 64.0 * MIB, 128.0 * MIB)


def test_io_that_was_measured_as_nothing_is_a_note_not_an_empty_panel() -> None:
    series = [
        counter("cgroup_cputime", [(1, 1.0), (2, 1.0)]),
        counter("wait_read_bytes", [(1, 0), (2, 0)]),
        counter("wait_write_bytes", [(1, 0), (2, 0)]),
    ]
    chart = plotting.describe(views.view(series, (views.CPU, views.READ, views.WRITE)))
    assert [made.name for made in chart.panels] == ["cpu"]
    assert "no IO panel: 0 bytes throughout (wait_read_bytes, wait_write_bytes)" in chart.notes


def test_processes_are_counted_by_the_run() -> None:
    count = panels(views.build_run())["processes"]
    assert count.lines[0].key == "proc_count"
    assert count.lines[0].values == (1.0, 5.0, 5.0, 2.0)


def test_processes_of_an_imported_run_are_counted_from_its_reports() -> None:
    rss = define("ps_rss", Kind.GAUGE, Unit.BYTES, Scope.PROCESS)
    series = [
        gauge("ps_rss", [(1, 5.0), (2, 5.0)], "7"),
        gauge("ps_rss", [(2, 5.0)], "8"),
        gauge("ps_rss_total", [(1, 5.0), (2, 10.0)]),
    ]
    run_view = views.view(series, (rss,), provenance=Provenance(origin="con-duct 0.23.0"))
    assert panels(run_view)["processes"].lines[0].values == (1.0, 2.0)


def test_processes_of_our_own_runs_are_not_guessed_from_reports_that_skip_idle_ones() -> None:
    series = [gauge("proc_rss", [(1, 5.0), (2, 5.0)], "7@1")]
    chart = plotting.describe(views.view(series, (views.PROCESS_RSS,)))
    assert "no processes panel: no processes were counted" in chart.notes


def test_pressure_of_the_job_is_preferred_to_that_of_the_machine() -> None:
    machine = define("psi_cpu_some", Kind.COUNTER, Unit.SECONDS, Scope.HOST)
    job = define("cgroup_cpu_pressure", Kind.COUNTER, Unit.SECONDS)
    series = [counter("psi_cpu_some", [(1, 0.5), (2, 0.5)]), counter(job.key, [(1, 0.25), (2, 0.0)])]
    pressure = panels(views.view(series, (machine, job)))["pressure"]
    assert [(line.label, line.key) for line in pressure.lines] == [("cpu", "cgroup_cpu_pressure")]
    assert pressure.lines[0].values == (None, 25.0, 0.0)
    assert pressure.title == "pressure"


def test_pressure_of_the_machine_says_so() -> None:
    machine = define("psi_cpu_some", Kind.COUNTER, Unit.SECONDS, Scope.HOST)
    pressure = panels(views.view([counter("psi_cpu_some", [(1, 0.5), (2, 0.5)])], (machine,)))["pressure"]
    assert pressure.title == "pressure on the machine"
    assert pressure.lines[0].label == "cpu some"


def test_a_panel_without_data_is_left_out_with_the_recorder_s_own_reason() -> None:
    run_view = views.build_run(provenance=Provenance(missing={"psi": "no /proc/pressure"}))
    assert "no pressure panel: no /proc/pressure" in plotting.describe(run_view).notes


def test_pressure_that_stayed_at_zero_is_a_note() -> None:
    machine = define("psi_io_some", Kind.COUNTER, Unit.SECONDS, Scope.HOST)
    series = [counter("psi_io_some", [(1, 0.0), (2, 0.0)]), counter("cgroup_cputime", [(1, 1.0), (2, 1.0)])]
    chart = plotting.describe(views.view(series, (machine, views.CPU)))
    assert "no pressure panel: 0 throughout (psi_io_some)" in chart.notes


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([], "no sample was taken in 40 ms, which is too little to plot"),
        ([(0.02, 0.01)], "only 1 sample was taken in 40 ms, which is too little to plot"),
    ],
)
def test_a_run_with_fewer_than_two_samples_says_so_in_one_sentence(
    points: list[tuple[float, float]], sentence: str
) -> None:
    series = [counter("wait_cputime", points)] if points else []
    chart = plotting.describe(views.view(series, (views.WAIT_CPU,), wall_seconds=0.04))
    assert chart.panels == ()
    assert chart.notes == (f"{sentence}; `jobmeter show 20261115T095001Z-7f3a9c` has the totals",)


def test_the_facts_name_the_end_the_length_the_start_and_the_host() -> None:
    chart = plotting.describe(views.build_run(host="node7"))
    assert chart.title == "make -j4"
    assert chart.facts == (
        "completed, exit 0",
        "4 s",
        "started 2026-11-15 09:50:01 UTC",
        "node7",
        "4 samples",
    )


def test_a_command_that_was_recorded_as_one_text_is_not_quoted() -> None:
    assert plotting.describe(views.build_run(command=("make -j4 all",))).title == "make -j4 all"
    assert plotting.describe(views.build_run(command=("echo", "a b"))).title == "echo 'a b'"
    assert plotting.describe(views.build_run(command=())).title == "20261115T095001Z-7f3a9c"


def test_a_live_run_is_shown_so_far() -> None:
    chart = plotting.describe(views.build_run(status=Status.RUNNING, exit_code=None, wall_seconds=None))
    assert chart.facts[0] == "running, so far"
    assert chart.seconds == 4.0


def test_a_lost_run_is_shown_up_to_its_last_sample() -> None:
    chart = plotting.describe(views.build_run(status=Status.LOST, exit_code=None, wall_seconds=None))
    assert chart.facts[:2] == ("lost, shown up to the last sample", "4 s")


def test_an_imported_run_names_the_tool_that_measured() -> None:
    chart = plotting.describe(views.build_run(provenance=Provenance(origin="con-duct 0.23.0")))
    assert chart.facts[-1] == "measured by con-duct 0.23.0"


def test_a_run_without_a_start_begins_with_its_first_span() -> None:
    chart = plotting.describe(views.build_run(started_at=None, wall_seconds=None))
    assert chart.seconds == 4.0
    assert chart.panels[0].lines[0].times[0] == 0.0


def test_events_are_marked_with_what_they_were_about() -> None:
    run_view = views.view(
        views.build_run().series.values(),  # type: ignore[arg-type]  # a sequence to the builder
        events=[
            event(1, "memory_threshold", threshold="95%"),
            event(2, "signal", signal="SIGTERM"),
            event(3, "oom_kill", count=True),
            event(3.5, "children_left", command="/usr/bin/sleep 60"),
        ],
    )
    marks = plotting.describe(run_view).marks
    assert [(mark.seconds, mark.label, mark.severe) for mark in marks] == [
        (1.0, "memory threshold 95%", True),
        (2.0, "signal SIGTERM", False),
        (3.0, "OOM kill", True),
        (3.5, "children left sleep", False),
    ]


def test_the_signal_that_ended_a_run_is_marked_at_its_end() -> None:
    marks = plotting.describe(views.build_run(status=Status.KILLED, signal="SIGKILL", exit_code=137)).marks
    assert [(mark.seconds, mark.label) for mark in marks] == [(4.0, "ended by SIGKILL")]


def test_events_that_repeat_at_once_are_one_mark_with_a_count() -> None:
    run_view = views.view(
        list(views.build_run().series.values()), events=[event(1 + 0.001 * n, "oom_kill") for n in range(3)]
    )
    assert [mark.label for mark in plotting.describe(run_view).marks] == ["OOM kill (3 times)"]


def test_more_events_than_can_be_marked_are_counted() -> None:
    run_view = views.view(
        list(views.build_run().series.values()),
        events=[event(n, f"alert {n}") for n in range(60)],
        wall_seconds=60.0,
    )
    chart = plotting.describe(run_view)
    assert len(chart.marks) == 40
    assert "20 further events are not marked" in chart.notes


def test_a_stopped_job_has_a_phase() -> None:
    run_view = views.view(
        list(views.build_run().series.values()), events=[event(1, "stopped"), event(3, "continued")]
    )
    chart = plotting.describe(run_view)
    assert [(phase.start, phase.end, phase.label) for phase in chart.phases] == [(1.0, 3.0, "stopped")]


def test_a_job_that_is_still_stopped_has_a_phase_to_the_end() -> None:
    run_view = views.view(list(views.build_run().series.values()), events=[event(1, "stopped")])
    assert [(phase.start, phase.end) for phase in plotting.describe(run_view).phases] == [(1.0, 4.0)]


def test_who_used_the_cpu_is_said_with_what_sampling_missed() -> None:
    series = [
        counter("cgroup_cputime", [(10, 20.0), (20, 20.0)], span=10.0),
        counter("proc_cputime", [(10, 15.0), (20, 15.0)], "7@1", span=10.0),
    ]
    run_view = views.view(
        series,
        (views.CPU, views.PROCESS_CPU),
        processes=[views.process("7@1", "/usr/lib/gcc/cc1plus a.cc")],
        headline={"cpu_seconds": headline(40.0, "cgroup_cputime")},
        by_command=(CommandShare(command="cc1plus", cpu_seconds=30.0),),
        wall_seconds=20.0,
    )
    who = panels(run_view)["cpu_by_command"]
    assert who.note == "cc1plus 75 % · not seen by sampling 25 %"
    assert [(line.label, line.role, line.values) for line in who.lines] == [
        ("cc1plus", Role.STACKED, (None, 1.5, 1.5)),
        ("all", Role.MAIN, (None, 2.0, 2.0)),
    ]


def test_who_used_the_cpu_is_said_where_no_process_lived_long_enough_to_be_drawn() -> None:
    run_view = views.build_run(by_command=(CommandShare(command="cc1plus", cpu_seconds=3.0),))
    notes = plotting.describe(run_view).notes
    assert notes[0] == "CPU by command: cc1plus 100 %"
    assert not any(note.startswith("no CPU by command") for note in notes)


def test_lines_carry_the_meaning_of_their_key() -> None:
    cpu = panels(views.build_run())["cpu"]
    assert cpu.lines[0].about == "what cgroup_cputime means"


def test_the_shape_for_programs_is_plain_values() -> None:
    shape = plotting.shape(plotting.describe(views.build_run()))
    assert isinstance(shape, dict)
    assert shape["run_id"] == "20261115T095001Z-7f3a9c"
    assert shape["panels"][0]["quantity"] == "cores"
    assert shape["panels"][0]["lines"][0]["role"] == "main"


def test_a_stack_without_a_total_of_record_stands_alone() -> None:
    series = [
        counter("proc_cputime", [(10, 15.0), (20, 15.0)], "7@1", span=10.0),
        gauge("proc_count", [(10, 1.0), (20, 1.0)]),
    ]
    run_view = views.view(
        series, (views.PROCESS_CPU, views.COUNT), processes=[views.process("7@1", "make")], wall_seconds=20.0
    )
    assert [line.label for line in panels(run_view)["cpu_by_command"].lines] == ["make"]

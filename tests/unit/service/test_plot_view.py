"""Every process of a run has a series in its plots, also one the store keeps as a single row."""

from pathlib import Path

from tests.support import folders, views
from tests.support.views import STARTED, counter

from jobmeter.model.view import Window
from jobmeter.service import plot_view, plotting


def window(seconds: float, values: dict[tuple[str, str], object], span: float = 10.0) -> Window:
    return Window(
        timestamp=STARTED + seconds,
        num_samples=10,
        clock={"proc": (100.0 + seconds - span, 100.0 + seconds)},
        values=values,  # type: ignore[arg-type]  # cells of a window
    )


def test_a_process_without_a_series_gets_one_from_the_windows() -> None:
    found = views.view([], (views.PROCESS_CPU, views.PROCESS_RSS))
    windows = [
        window(10, {("proc_cputime", "7@1"): 5.0, ("proc_rss", "7@1"): 4096, ("proc_count", ""): 3}),
        window(20, {("proc_cputime", "7@1"): 2.0}, span=8.0),
    ]
    series = plot_view.with_every_process(found, windows).series
    assert set(series) == {("proc_cputime", "7@1"), ("proc_rss", "7@1")}
    cpu = series["proc_cputime", "7@1"]
    assert cpu.times == (STARTED + 10, STARTED + 20)
    assert cpu.values == (5.0, 2.0)
    assert cpu.spans == (10.0, 8.0)
    assert series["proc_rss", "7@1"].spans is None


def test_a_series_the_store_has_is_left_as_it_is() -> None:
    stored = counter("proc_cputime", [(10, 1.0)], "7@1", span=10.0)
    found = views.view([stored], (views.PROCESS_CPU,))
    windows = [window(10, {("proc_cputime", "7@1"): 99.0})]
    assert plot_view.with_every_process(found, windows).series["proc_cputime", "7@1"] is stored


def test_words_and_unknown_keys_are_not_taken_for_numbers() -> None:
    found = views.view([], (views.PROCESS_RSS,))
    windows = [
        window(10, {("proc_rss", "7@1"): "odd", ("proc_other", "7@1"): 1.0, ("proc_cputime", "7@1"): 1.0})
    ]
    assert plot_view.with_every_process(found, windows).series == {}


def test_commands_of_processes_without_a_row_are_learnt_from_the_windows() -> None:
    found = views.view([], (views.PROCESS_RSS,), processes=[views.process("7@1", "known")])
    windows = [
        window(10, {("proc_cmd", "7@1"): "other", ("ps_cmd", "8"): "make all", ("ps_cmd", "rest"): "x"})
    ]
    processes = plot_view.with_every_process(found, windows).processes
    assert [(process.pid, process.command) for process in processes] == [(7, "known"), (8, "make all")]


def test_only_lines_about_processes_are_read_from_the_folder(tmp_path: Path) -> None:
    folder = folders.write_run(tmp_path, seconds=25, processes=2)
    windows = list(plot_view.process_windows(folder))
    assert len(windows) == 2
    assert all(("proc_rss", "4712@98123") in one.values for one in windows)


def test_a_run_drawn_from_the_keys_it_needs_looks_as_from_all_of_them(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=130, processes=3)
    needed = plot_view.view(str(tmp_path), "last")
    everything = plot_view.view(str(tmp_path), str(folders.folder_of(tmp_path, folders.RUN_ID)))
    assert len(needed.series) < len(everything.series)
    assert plotting.describe(needed).panels == plotting.describe(everything).panels


def test_only_the_keys_asked_for_are_read(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=5)
    assert set(plot_view.view(str(tmp_path), "last", ("cgroup_pids",)).series) == {("cgroup_pids", "")}


def test_the_view_of_a_home_has_every_process(tmp_path: Path) -> None:
    folders.write_run(tmp_path, seconds=25, processes=2)
    found = plot_view.view(str(tmp_path), "last")
    assert len(found.series["proc_cputime", "4712@98123"].times) == 2


def late_report(found_at: float, **context: object) -> float:
    """Give when a report is placed that covers 10 s to 20 s by its clock but was written later."""
    found = views.view([], (views.PROCESS_CPU,), context=dict(context))
    late = Window(
        timestamp=STARTED + found_at,
        num_samples=10,
        clock={"proc": (1010.0, 1020.0)},
        values={("proc_cputime", "7@1"): 5.0},
    )
    series = plot_view.with_every_process(found, [late]).series["proc_cputime", "7@1"]
    return series.times[0] - STARTED


def test_a_report_that_was_written_late_stands_where_its_clock_says() -> None:
    assert late_report(20.75, clock=1000.0) == 20.0


def test_a_wall_clock_that_was_set_is_no_late_report() -> None:
    assert late_report(3620.0, clock=1000.0) == 3620.0
    assert late_report(15.0, clock=1000.0) == 15.0


def test_without_the_clock_of_the_start_a_report_stays_where_it_was_written() -> None:
    assert late_report(20.75) == 20.75


def test_a_series_of_the_store_and_the_end_of_its_process_move_along() -> None:
    stored = counter("proc_cputime", [(20.75, 1.0)], "7@1", span=10.0)
    found = views.view(
        [stored, counter("cgroup_cputime", [(20.75, 1.0)])],
        (views.PROCESS_CPU, views.CPU),
        processes=[views.process("7@1", "make", last=20.75)],
        context={"clock": 1000.0},
    )
    late = window(20.75, {("proc_cputime", "7@1"): 99.0})
    late = Window(
        timestamp=late.timestamp, num_samples=1, clock={"proc": (1010.0, 1020.0)}, values=late.values
    )
    shown = plot_view.with_every_process(found, [late])
    assert shown.series["proc_cputime", "7@1"].times == (STARTED + 20.0,)
    assert shown.series["cgroup_cputime", ""].times == (STARTED + 20.75,)
    assert shown.processes[0].last_seen == STARTED + 20.0

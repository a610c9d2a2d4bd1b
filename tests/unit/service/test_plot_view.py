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
